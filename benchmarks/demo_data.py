"""Write the made-up people and models of the bundled demo: `python -m benchmarks.demo_data`.

The questions (pool.csv) and anchors (anchors.csv) of kina_build/data are written by hand.
Their reviewers, reviews and model replies are drawn here from one seed, so that they can
be drawn again when a question changes.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np

import kina_build
from kina_build.items.importing.files import read_items
from kina_build.rows.jsonl import write_records
from kina_build.rows.tables import Row, read_table, write_csv
from kina_build.scoring.prompts import build_prompt, prompt_digest
from kina_build.scoring.questions import from_item
from kina_review.desk.assignment import assign_reviewers
from kina_review.intake import read_reviewers

FOLDER = Path(kina_build.__file__).parent / "data"
SEED = 20260605
START = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
WRONG_KEY = "Which volcano type has broad, gentle slopes?"
DISPUTED = "A fuse is rated 5 A at 230 V. Which heater may it safely feed?"
CRITERIA = (
    "representativeness",
    "factuality",
    "source_reliability",
    "logical_rigor",
    "distractor_plausibility",
    "combinatorial_validity",
)
MODELS = {"cedar-70b": 0.92, "birch-32b": 0.80, "maple-30b": 0.79, "aspen-8b": 0.62, "willow-1b": 0.35}
"""Made-up models and the share of sound questions each one knows."""
FIELDS = ("Physics", "Life science", "Earth science")
RATIONALES = (
    ("I solved it blind and got the key.", "Checked against my textbook.", "Worked the numbers twice.",
     "The key holds.", "Derived it from first principles.", "Compared with lecture notes."),
    ("A fair test of", "Central to", "Typical of a first course in", "A small but real point of",
     "Goes a little beyond recall in", "Well placed in"),
    ("and the distractors are believable.", "though one option gives itself away.", "with a clear stem.",
     "and nothing is left hidden.", "but two options are close.", "and short enough to read once."),
)  # fmt: skip
WRONG_KEY_REASONS = (
    "The keyed option is wrong: gentle slopes mean a shield volcano.",
    "Key does not hold; runny lava builds a shield, not what is keyed here.",
)
PHRASES = ("Let me compare the options.", "I recall the definition.", "Working it out step by step.", "")


def draw_reviewers(rng: np.random.Generator) -> list[dict[str, Any]]:
    schools = ("North", "South", "East")
    return [
        {
            "reviewer_id": f"r{number:02d}",
            "payee_id": f"p{number:02d}",
            "affiliation": schools[int(rng.integers(3))],
            "fields": FIELDS[number % 3],
            "skill": float(rng.normal(15, 1.5)),
        }
        for number in range(1, 13)
    ]


def draw_reviews(
    rng: np.random.Generator, pool: list[Row], people: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Follow the plan that `kina review assign pool.jsonl --open-cap 0` makes of the same files."""
    skill = {person["reviewer_id"]: person["skill"] for person in people}
    rows = {row.values["id"]: row for row in pool}
    quality = {item_id: float(rng.normal(3.3, 0.5)) for item_id in rows}
    plan = assign_reviewers(
        read_items(FOLDER / "pool.csv").items, read_reviewers(FOLDER / "reviewers.csv").records, seed=0
    )
    reviews = []
    for number, slot in enumerate(plan.assignments):
        row = rows[slot.item_id]
        review = draw_review(rng, row, quality[slot.item_id], skill[slot.reviewer_id])
        moment = START + dt.timedelta(minutes=7 * number)
        head = {
            "item_id": slot.item_id,
            "reviewer_id": slot.reviewer_id,
            "payee_id": slot.reviewer_id.replace("r", "p"),
            "assignment_id": slot.assignment_id,
            "status": "submitted",
            "submitted_at": moment.isoformat().replace("+00:00", "Z"),
        }
        reviews.append(head | review)
    return reviews[:-1]  # the last reviewer never handed in: one contest stays open


def draw_review(rng: np.random.Generator, row: Row, quality: float, skill: float) -> dict[str, Any]:
    seen = row.values["question"] == WRONG_KEY
    ratings = {name: int(np.clip(np.rint(rng.normal(quality, 0.35)), 0, 4)) for name in CRITERIA}
    if seen:
        ratings["factuality"] = 0
    middling = quality < 2.7
    flaws = [{"kind": "bad_options_clarity", "severity": "minor"}] if middling and rng.random() < 0.7 else []
    if seen:
        flaw = {"kind": "wrong_groundtruth", "severity": "critical", "option": row.values["answer"]}
        flaws.append(flaw)
    return {
        "ratings": ratings,
        "verdict": "reject" if seen else "revise" if flaws else "accept",
        "flaws": flaws,
        "rationale": draw_rationale(rng, row, seen=seen),
        "lead_time_s": float(np.rint(rng.gamma(4, 60))),
        "review_score": float(np.clip(np.rint(2 * rng.normal(skill, 2)) / 2, 0, 20)),
    }


def draw_rationale(rng: np.random.Generator, row: Row, *, seen: bool) -> str:
    if seen:
        return str(rng.choice(WRONG_KEY_REASONS))
    start, middle, end = (str(rng.choice(part)) for part in RATIONALES)
    return f"{start} {middle} {row.values['subfield'].lower()} {end}"


def draw_responses(rng: np.random.Generator, pool: list[Row]) -> list[dict[str, Any]]:
    prompts = {one.item_id: build_prompt(from_item(one)) for one in read_items(FOLDER / "pool.csv").items}
    truth = {row.values["question"]: right_letter(row) for row in pool}
    hardness = {question: float(rng.normal(0, 0.12)) for question in truth}
    responses: list[dict[str, Any]] = []
    for model, ability in MODELS.items():
        for row in pool:
            question = row.values["question"]
            knows = rng.random() < np.clip(ability - hardness[question], 0.02, 0.99)
            letter = truth[question] if knows else str(rng.choice(list("ABCD")))
            phrase = str(rng.choice(PHRASES))
            reply = f"{phrase}\nAnswer: {letter}".strip()
            text = reply if rng.random() > 0.01 else "I cannot tell from this."
            item_id = str(row.values["id"])
            asked = {"item_id": item_id, "prompt_sha": prompt_digest(prompts[item_id])}
            responses.append(asked | {"model": model, "sample": 0, "response": text})
    return responses


def right_letter(row: Row) -> str:
    """Return what is true, also where the pool's key is planted wrong."""
    planted = {WRONG_KEY: "a shield volcano", DISPUTED: "a 1000 W heater"}
    answer = planted.get(row.values["question"])
    return next((k for k in "ABCD" if row.values[k] == answer), row.values["answer"])


def main() -> None:
    rng = np.random.default_rng(SEED)
    pool = sorted(read_table(FOLDER / "pool.csv"), key=lambda row: str(row.values["id"]))
    people = draw_reviewers(rng)
    write_csv(FOLDER / "reviewers.csv", ["reviewer_id", "payee_id", "affiliation", "fields"], people)
    write_records(FOLDER / "reviews.jsonl", draw_reviews(rng, pool, people))
    write_records(FOLDER / "responses.jsonl", draw_responses(rng, pool))


if __name__ == "__main__":
    main()
