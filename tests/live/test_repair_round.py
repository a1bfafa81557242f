"""A fault in an item, all the way: diagnosed, patched, reviewed blind by others, paid, released, compared.

Every command is a process of its own, judges stand behind a socket on loopback, and who made the fault,
who judges and who reviews know nothing of each other.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kina_review.rubric import CRITERION_NAMES
from tests.servers import ScriptedEndpoint, said, scripted

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

RAW = """\
id,discipline,question,A,B,C,D,answer,explanation,license,source
q1,chemistry,Which gas do plants give off?,oxygen,argon,neon,radon,A,A: photosynthesis frees it.,MIT,a book
q2,chemistry,Which metal is liquid?,iron,mercury,zinc,lead,B,B: it melts at -39 °C.,MIT,a book
q3,chemistry,What has the symbol Na?,nickel,sodium,neon,argon,A,The correct answer is B: Natrium.,MIT,a book
q4,chemistry,Which acid is in vinegar?,citric,lactic,acetic,boric,C,C: it is dilute.,MIT,a book
"""
TRUTH = {"Na": "B", "plants": "A", "liquid": "B", "vinegar": "C"}
"""Word of a question to its right letter: what the judges know."""
RULE = ("--base", "2.00", "--bonus", "5.00", "--bar", "14", "--currency", "USD", "--tie", "split")

Run = Callable[..., str]


@pytest.fixture(scope="module")
def judges() -> Iterator[ScriptedEndpoint]:
    def answer(prompt: str, _times: int) -> Any:
        letter = next(letter for word, letter in TRUTH.items() if word in prompt)
        return said(json.dumps({"right": [letter], "issue": "none", "why": "so it is"}))

    with scripted(answer) as server:
        yield server


@pytest.fixture
def kina(tmp_path: Path) -> Run:
    """Return a way to run a command in a process; it fails on another exit code than the one wanted."""
    (tmp_path / "raw.csv").write_text(RAW)
    (tmp_path / "reviewers.csv").write_text("reviewer_id,payee_id\nann,p1\nbo,p2\ncy,p3\ndee,p4\n")

    def run(*line: str, wanted: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "kina_build", *line],
            cwd=tmp_path, env=os.environ | {"NO_COLOR": "1"}, check=False,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == wanted, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


def fill(folder: Path, verdict_of: Callable[[dict[str, str]], str]) -> list[dict[str, str]]:
    """Fill in all worksheets of a folder, and return the rows as their reviewers saw them."""
    seen = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8-sig") as sheet:
            rows = list(csv.DictReader(sheet))
        for row in rows:
            seen.append(dict(row))
            said_of = verdict_of(row)
            row.update(
                {f"mark_{name}": "3" for name in CRITERION_NAMES}, verdict=said_of, rationale="checked"
            )
            row["handed_in_at"] = "2026-03-01T12:00:00Z"
            if said_of != "accept":
                row["flaws"] = "wrong_groundtruth/major/A"
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return seen


def review(kina: Run, folder: Path, pool: str, assignments: str, name: str) -> list[dict[str, str]]:
    """Send a round out, have it filled in, and fetch and score what comes back."""
    line = ("--reviewers", "reviewers.csv", "--folder", f"sheets-{name}")
    kina("review", "push", pool, assignments, *line, "-o", f"desk-{name}.json")
    seen = fill(folder / f"sheets-{name}", verdict)
    kina("review", "pull", f"desk-{name}.json", *line, "-o", f"reviews-{name}.jsonl",
         "--quarantine", f"quarantine-{name}.jsonl")  # fmt: skip
    assert [row["reason"] for row in read(folder / f"quarantine-{name}.jsonl")] == []
    rows = read(folder / f"reviews-{name}.jsonl")
    scores = [
        {name: row[name] for name in ("item_id", "reviewer_id", "round")} | {"review_score": 15 + n % 2 * 3}
        for n, row in enumerate(sorted(rows, key=lambda row: (row["item_id"], row["reviewer_id"])))
    ]
    (folder / f"scores-{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scores))
    return seen


def verdict(row: dict[str, str]) -> str:
    right = next(letter for word, letter in TRUTH.items() if word in row["question"])
    return "accept" if row["key"] == right else "revise"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_diagnose_patch_blind_review_pay_release_diff(
    kina: Run, judges: ScriptedEndpoint, tmp_path: Path
) -> None:
    kina("import", "raw.csv", "-o", "pool.jsonl")
    kina("review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv", "--open-cap", "0")
    review(kina, tmp_path, "pool.jsonl", "assignments.jsonl", "1")
    settle = ("review", "settle", *RULE, "--ledger", "pay.db", "--seed", "7")
    kina(
        *settle,
        "--reviews",
        "reviews-1.jsonl",
        "--scores",
        "scores-1.jsonl",
        "--decisions",
        "decisions-1.jsonl",
    )
    decided = {row["item_id"]: row["decision"] for row in read(tmp_path / "decisions-1.jsonl")}
    assert decided == {"q1": "accept", "q2": "accept", "q3": "revise", "q4": "accept"}
    kina("export", "pool.jsonl", "--decisions", "decisions-1.jsonl", "-o", "v1", "--name", "elements")

    # judges who do not see the key, and a person who takes their proposal over
    three = [part for name in ("j1", "j2", "j3") for part in ("--judge", name)]
    kina("repair", "pool.jsonl", *three, "--judge-all", "--base-url", judges.url)
    assert len(judges.asked) == 12
    assert not any(
        re.search("(?i)key|correct answer", body["messages"][-1]["content"]) for body in judges.asked
    )
    (found,) = [row for row in read(tmp_path / "diagnoses.jsonl") if row.get("proposal")]
    assert (found["item_id"], found["issues"][0]["kind"]) == ("q3", "wrong_key")
    assert (tmp_path / "pool.jsonl").read_text().count('"correct_answer":"A"') == 2, "nothing is changed yet"
    kina("fix", "pool.jsonl", "--accept", "diagnoses.jsonl", "--item", "q3", "--by", "eva")
    kina("import", "raw.csv", "--patch", "patches.jsonl", "-o", "mended.jsonl")

    # others review it, by the same bar, and do not learn that it is a repair
    kina("review", "reopen", "decisions-1.jsonl", "--pool", "mended.jsonl", "--reviewers", "reviewers.csv",
         "--earlier", "assignments.jsonl")  # fmt: skip
    first = {row["reviewer_id"] for row in read(tmp_path / "assignments.jsonl") if row["item_id"] == "q3"}
    again = {row["reviewer_id"] for row in read(tmp_path / "reopened.jsonl")}
    assert (len(again), first & again) == (2, set())
    seen = review(kina, tmp_path, "mended.jsonl", "reopened.jsonl", "2")
    assert [row["key"] for row in seen] == ["B", "B"]
    shown = json.dumps(seen)
    assert not any(word in shown for word in ("eva", "patch", "repair", "judge", *first))

    both = [
        part for n in "12" for part in ("--reviews", f"reviews-{n}.jsonl", "--scores", f"scores-{n}.jsonl")
    ]
    kina(*settle, *both, "--decisions", "decisions-2.jsonl")
    assert {row["decision"] for row in read(tmp_path / "decisions-2.jsonl")} == {"accept"}
    (tmp_path / "payees.csv").write_text(
        "payee_id,account\n" + "".join(f"p{n},acct{n}\n" for n in range(1, 5))
    )
    kina("review", "pay", "plan", "--ledger", "pay.db", "--payees", "payees.csv", "-o", "payments.csv")
    with (tmp_path / "payments.csv").open() as file:
        paid = sum(float(row["amount"]) for row in csv.DictReader(file))
    assert paid == 5 * (2 * 2 + 5), "two bases and a bonus for each of four items and one second round"
    before = (tmp_path / "payments.csv").read_bytes()
    kina(*settle, *both, "--decisions", "decisions-2.jsonl")
    kina("review", "pay", "plan", "--ledger", "pay.db", "--payees", "payees.csv", "-o", "payments.csv")
    assert (tmp_path / "payments.csv").read_bytes() == before, "a second run pays nobody twice"
    kina("review", "ledger", "verify", "--ledger", "pay.db")

    kina("export", "mended.jsonl", "--decisions", "decisions-2.jsonl", "-o", "v2", "--name", "elements",
         "--previous", "v1")  # fmt: skip
    for release in ("v1", "v2"):
        kina("verify", release)
    change = kina("diff", "v1", "v2")
    assert "q3" in change
