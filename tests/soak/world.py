"""A small world: one valid example of every file that kina reads, made by running kina's own flow."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from kina_build.cli.main import app
from kina_build.dedup import embedding
from tests.dedup.conftest import WordEncoder

ITEMS = ("q016", "q054", "q028", "q086")
"""Planted copies of the demo's pool that the small pool holds, whatever else it takes."""
PER_SUBFIELD = 3

FLOW = """
import pool.csv -o pool.jsonl
import pool.csv -o second.jsonl --set field=law
check pool.jsonl -o findings.jsonl
dedup pool.jsonl --no-cache -o duplicates.json
contamination pool.jsonl --against second.jsonl --no-near -o contamination.json
triage responses.jsonl --pool pool.jsonl -o triage.jsonl
anchors anchors.csv -o anchors.jsonl
support pool.jsonl --anchors anchors.jsonl --cache vectors.db -o support.npz
support pool.jsonl --anchors anchors.jsonl --method ratings --ratings levels.csv -o parts
support pool.jsonl --anchors anchors.jsonl --method bank --draw sheets --cache vectors.db
budget pool.jsonl --total 12 -o budget.jsonl
select --support support.npz --anchors anchors.jsonl -k 12 --strata pool.jsonl --quota budget.jsonl \
 --conflicts duplicates.json --exclude duplicates.json -o selection.json
certify selection.json --support support.npz --anchors anchors.jsonl --strata pool.jsonl --quota budget.jsonl \
 --conflicts duplicates.json --exclude duplicates.json -o certificate.json
review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o assignments.jsonl
review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder worksheets -o desk.json
review graders reviews.jsonl --graders graders.csv -o grading.jsonl
review settle --reviews reviews.jsonl --base 2.00 --bonus 5.00 --currency USD --bar 14 --tie split --seed 42 \
 --ledger ledger.db --decisions decisions.jsonl --contests contests.jsonl --awards awards.csv
review agreement reviews.jsonl -o agreement.json
review audit draw --decisions decisions.jsonl --seed-file seed.txt --commitment COMMITMENT -o audit.json \
 --rate 0.3
review pay plan --ledger ledger.db -o payments.csv
review statement --ledger ledger.db -o statements
export pool.jsonl --selection selection.json --decisions decisions.jsonl --duplicates duplicates.json \
 -o release
export pool.jsonl --duplicates duplicates.json -o two
export pool.jsonl --selection selection.json --private test --previous release -o private
score --task multiple-choice --items pool.jsonl --responses responses.jsonl -o scores.jsonl
rank --scores scores.jsonl --only selection.json --samples 100 --item-analysis item_analysis.jsonl \
 -o leaderboard.json
select --support levels.csv --anchors anchors.jsonl -k 6 -o small.json
score --task universe --questions universe.jsonl --replies universe_replies.jsonl -o universe_scores.jsonl
"""
"""Command lines that make the files kina writes; those that end with 1 find what was planted."""

SETTINGS = """
[dedup]
threshold = 0.8
[ranking]
samples = 200
[review]
currency = "USD"
base = "2.00"
"""


COMMAND = get_command(app)


def invoke(words: Sequence[str], stdin: bytes | None = None) -> Result:
    """Run kina in this process, its encoder one that needs no weights."""
    words_alone = patch.object(embedding, "load_encoder", lambda name, rules=None: WordEncoder())
    once = patch.object(testing, "_get_command", lambda _: COMMAND)  # making it anew takes longer than most cases
    with words_alone, once:
        return CliRunner().invoke(app, list(words), input=stdin)


def build(folder: Path) -> None:
    """Make the small world in an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _take_from_demo(folder)
    _write_by_hand(folder)
    with contextlib.chdir(folder):
        for line in FLOW.replace("COMMITMENT", _commit()).strip().replace("\\\n", "").split("\n"):
            done = invoke(shlex.split(line))
            if done.exit_code not in (0, 1):
                raise RuntimeError(f"`kina {line}` ended with {done.exit_code}: {done.output}")
        _write_from_made(folder)


def _take_from_demo(folder: Path) -> None:
    pool = list(csv.DictReader(io.StringIO(_bundled("pool.csv"))))
    chosen = [
        row
        for row in pool
        if row["id"] in ITEMS
        or [other["id"] for other in pool if other["subfield"] == row["subfield"]].index(row["id"])
        < PER_SUBFIELD
    ]
    ids = {row["id"] for row in chosen}
    _csv(folder / "pool.csv", chosen)
    anchors = list(csv.DictReader(io.StringIO(_bundled("anchors.csv"))))
    _csv(folder / "anchors.csv", anchors[::4])
    (folder / "reviewers.csv").write_text(_bundled("reviewers.csv"), encoding="utf-8")
    for name in ("reviews.jsonl", "responses.jsonl"):
        rows = [json.loads(line) for line in _bundled(name).splitlines()]
        _jsonl(folder / name, [row for row in rows if row["item_id"] in ids])


def _write_by_hand(folder: Path) -> None:
    rows = list(csv.DictReader((folder / "pool.csv").read_text(encoding="utf-8").splitlines()))
    anchors = list(csv.DictReader((folder / "anchors.csv").read_text(encoding="utf-8").splitlines()))
    raw = [
        {"id": r["id"], "question": r["question"], "options": [r[k] for k in "ABCD"], "answer": r["answer"]}
        for r in rows
    ]
    pairs = [(r["id"], a["anchor_id"]) for r in rows for a in anchors if a["domain"] == r["field"]]
    _jsonl(folder / "raw.jsonl", raw)
    (folder / "raw.json").write_text(json.dumps(raw, ensure_ascii=False), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(raw), folder / "raw.parquet")
    _csv(folder / "levels.csv", [_level(i, a, n) for n, (i, a) in enumerate(pairs)])
    judged = [
        {"item_id": i, "anchor_id": a, "judge": judge, "rating": (n * 7 + len(judge)) % 5, "evidence": "words"}
        for n, (i, a) in enumerate(pairs)
        for judge in ("one", "three")
    ]
    _jsonl(folder / "ratings.jsonl", judged)
    _jsonl(folder / "labels.jsonl", [row | {"judge": "ann"} for row in judged if row["judge"] == "one"])
    _csv(folder / "item_labels.csv", [{"item_id": r["id"], "aligned": int(n % 3 > 0)}
                                      for n, r in enumerate(rows)])  # fmt: skip
    _csv(folder / "pair_labels.csv", [
        {"item_id": r["id"], "other_id": other["id"], "support": int(n % 2), "duplicate": int(n % 4 == 3)}
        for n, (r, other) in enumerate(zip(rows, rows[1:], strict=False))
    ])  # fmt: skip
    _jsonl(folder / "signatures.jsonl", [
        {"item_id": r["id"], "method_family": "recall", "core_principle": r["subfield"], "answer_type": "word",
         "constraints": ["negated"], "alignment": 0.9 if n % 3 else 0.1} for n, r in enumerate(rows)
    ])  # fmt: skip
    _csv(folder / "strata.csv", [{"item_id": r["id"], "stratum": r["subfield"]} for r in rows])
    strata = sorted({r["subfield"] for r in rows})
    _csv(folder / "quota.csv", [{"stratum": name, "lower": 1, "upper": 3} for name in strata])
    ids = [r["id"] for r in rows]
    _csv(folder / "conflicts.csv", [{"item_id": ids[0], "other_id": ids[1]}])
    _csv(folder / "must.csv", [{"item_id": ids[2]}])
    _csv(folder / "exclude.csv", [{"item_id": ids[3]}, {"item_id": ids[4]}])
    _csv(folder / "seeded.csv", [{"item_id": ids[5]}])
    _csv(folder / "clusters.csv", [{"item_id": i, "cluster": f"c{n // 2}"} for n, i in enumerate(ids)])
    pairs_of = [("q016", "q054", 1), ("q028", "q086", 1), *((ids[n], ids[n + 1], 0) for n in range(3))]
    _csv(folder / "pairs.csv", [{"item_id": i, "other_id": o, "duplicate": d} for i, o, d in pairs_of])
    _jsonl(
        folder / "overrides.jsonl",
        [
            {"decision": "keep", "item_id": ids[0]},
            {"decision": "different", "item_id": ids[0], "other_id": ids[1], "note": "looked at"},
        ],
    )
    letters = [{"item_id": i, "model": f"m{m}", "letter": "ABCD"[(n + m) % 4]} for m in range(3)
               for n, i in enumerate(ids)]  # fmt: skip
    _jsonl(folder / "letters.jsonl", letters)
    _jsonl(
        folder / "answers.jsonl",
        [{"model": f"m{m}", "answers": "ABCD" * (len(ids) // 4) + "ABCD"[: len(ids) % 4]} for m in range(3)],
    )
    _by_hand_review(folder, rows)
    _by_hand_scoring(folder, ids)


def _by_hand_review(folder: Path, rows: Sequence[Mapping[str, str]]) -> None:
    ids = [row["id"] for row in rows]
    _csv(folder / "graders.csv", [{"reviewer_id": f"g{n}", "payee_id": f"pg{n}"} for n in range(3)])
    reviews = [json.loads(line) for line in (folder / "reviews.jsonl").read_text().splitlines()]
    flat = ("item_id", "reviewer_id", "payee_id", "status", "submitted_at", "verdict", "review_score")
    _csv(folder / "reviews.csv", [{key: row.get(key, "") for key in flat} for row in reviews])
    who = [(row["item_id"], row["reviewer_id"]) for row in reviews]
    _csv(folder / "grades.csv", [{"item_id": i, "reviewer_id": r, "review_score": n % 20}
                                 for n, (i, r) in enumerate(who)])  # fmt: skip
    _csv(folder / "audited.csv", [{"item_id": i, "flawed": "no", "flaw": "", "failed": ""} for i in ids])
    _csv(folder / "payees.csv", [{"payee_id": f"p{n:02}", "account": f"acc{n}", "assignment_id": f"as{n}"}
                                 for n in range(1, 13)])  # fmt: skip
    _csv(folder / "paid_before.csv", [{"payee_id": "p01", "amount": "3.00"}])
    _csv(folder / "provider.csv", [{"payee_id": f"p{n:02}", "amount": "4.00", "status": "paid"}
                                   for n in range(1, 5)])  # fmt: skip
    rule = {"version": "1", "currency": "USD", "base": "2.00", "bonus": "5.00", "bar": "14", "tie": "split"}
    _csv(folder / "rules.csv", [rule, rule | {"version": "2", "valid_from": "2026-04-01T00:00:00Z"}])
    pilot = [
        {"item_id": f"i{n}", "reviewer_id": f"r{n % 6 + k}", "effort": effort,
         "review_score": (17 if effort == "H" else 9) + (n * 3 + k) % 5, "cost": 3 if effort == "H" else 1}
        for n in range(40) for k, effort in enumerate(("HH", "HL", "LH", "LL")[n % 4])
    ]  # fmt: skip
    _csv(folder / "pilot.csv", pilot)
    (folder / "corpus.txt").write_text(
        "\n\n".join(f"Somebody asked: {row['question']}" for row in rows), encoding="utf-8"
    )
    (folder / "kina.toml").write_text(SETTINGS, encoding="utf-8")


def _by_hand_scoring(folder: Path, ids: Sequence[str]) -> None:
    gold = [{"SubjectEntity": s, "Relation": "borders", "ObjectEntities": [o], "ObjectEntitiesID": [q]}
            for s, o, q in (("France", "Spain", "Q29"), ("Chile", "Peru", "Q419"))]  # fmt: skip
    _jsonl(folder / "gold.jsonl", gold)
    _jsonl(folder / "predictions.jsonl", gold[::-1])
    names = [{"name": n, "qid": q, "description": d} for n, q, d in
             (("Spain", "Q29", "country"), ("Peru", "Q419", "country"), ("Peru", "Q2", "town"))]  # fmt: skip
    _csv(folder / "names.csv", names)
    _csv(folder / "fixed.csv", [{"name": "Peru", "qid": "Q419"}])
    _csv(folder / "prompts.csv", [{"relation": "borders", "prompt": "Which countries border {subject}?"}])
    _csv(folder / "keywords.csv", [{"relation": "borders", "keyword": "country"}])
    universe = [{"id": f"u{n}", "question": "Name the primes below ten.", "gold": ["2", "3", "5", "7"],
                 "language": "en", "domain": "number theory"} for n in range(3)]  # fmt: skip
    _jsonl(folder / "universe.jsonl", universe)
    replies = ("2, 3, 5 and 7", '["2", "3", "9"]', "1. two\n2. three\n")
    _jsonl(folder / "universe_replies.jsonl", [{"id": f"u{n}", "response": t} for n, t in enumerate(replies)])
    _jsonl(folder / "replies.jsonl", [{"id": f"r{n}", "response": t, "n_options": 4}
                                      for n, t in enumerate(("Answer: B", "(C)", "I do not know"))])  # fmt: skip
    table = [{"item_id": i, "discipline": "law"} | {m: (n + len(m)) % 2 for m in ("aspen", "cedar9", "oak")}
             for n, i in enumerate(ids)]  # fmt: skip
    _csv(folder / "matrix.csv", table)
    _csv(folder / "published.csv", [{"model": f"m{n}", "ALL": 50 + n, "law": 40 + n, "art": 60 + n}
                                    for n in range(4)])  # fmt: skip
    conditions = ("question", "universe", "operations", "both")
    stages = [{"item_id": i, "model": "m", "score": (n + c) % 2, "condition": name}
              for n, i in enumerate(ids) for c, name in enumerate(conditions)]  # fmt: skip
    _jsonl(folder / "stages.jsonl", stages)


def _commit() -> str:
    """Write the secret seed of the audit, and return what commits to it."""
    Path("seed.txt").write_text("a long and secret sentence\n", encoding="utf-8")
    said = invoke(["review", "audit", "commit", "--seed-file", "seed.txt", "--json"])
    commitment = str(json.loads(said.stdout)["commitment"])
    Path("commitment.txt").write_text(commitment, encoding="utf-8")
    return commitment


def _write_from_made(folder: Path) -> None:
    pool = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
    pq.write_table(
        pa.Table.from_pylist([{"item_id": row["item_id"], "stratum": row["subfield"]} for row in pool]),
        folder / "strata.parquet",
    )
    # its own name holds a number drawn by the ledger
    shutil.copy(sorted((folder / "statements").iterdir())[0], folder / "statement.md")
    drawn = json.loads((folder / "audit.json").read_text())["item_ids"]
    _csv(folder / "drawn.csv", [{"item_id": i, "flawed": "yes" if n == 0 else "no", "flaw": "", "failed": ""}
                                for n, i in enumerate(drawn)])  # fmt: skip
    kept = {json.loads(line)["id"] for line in (folder / "release/test.jsonl").read_text().splitlines()}
    scores = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    _jsonl(folder / "released.jsonl", [row for row in scores if row["item_id"] in kept])
    (folder / "dataset" / "data").mkdir(parents=True)
    shutil.copy(folder / "raw.parquet", folder / "dataset" / "data" / "test-00000-of-00001.parquet")
    shutil.copy(folder / "ledger.db", folder / "flying.db")
    shutil.copy(folder / "ledger.db.payees.json", folder / "flying.db.payees.json")
    invoke(["review", "pay", "mark", "--ledger", "flying.db", "--batch", "b0001", "--state", "in_flight"])


def _bundled(name: str) -> str:
    return (files("kina_build") / "data" / name).read_text(encoding="utf-8")


def _level(item_id: str, anchor_id: str, number: int) -> Mapping[str, Any]:
    return {"item_id": item_id, "anchor_id": anchor_id, "score": round(number * 0.37 % 1, 2)}


def _csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
