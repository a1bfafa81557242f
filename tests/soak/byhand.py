"""The files of the small world that people write: rows by the name of their file."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

Rows = Sequence[Mapping[str, Any]]

BATCH = """
reviews = "reviews.csv"
scores = "grades.csv"
bar = 14
tie = "split"
"""
SETTINGS = """
[dedup]
threshold = 0.8
[ranking]
samples = 200
[review]
currency = "USD"
base = "2.00"
"""
PROJECT = """
[project]
name = "atlas"
size = 6
[[project.source]]
files = ["pool.csv"]
[project.anchors]
files = ["anchors.csv"]
[project.quota]
by = "subfield"
[project.release]
version = "auto"
"""
MODELS = ("m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "aspen", "cedar9", "oak")
RULINGS = (
    ("item", ["q001"], "keep", None, "5238926d08583f63"),
    ("key", ["q016"], "wrong", "D", "b464c0da92cd5ad4"),
    ("pair", ["q016", "q054"], "same", None, "bf7b1e2634c6c88f"),
)
"""What a person decided on the texts of the demo's pool, as `kina decide` records it."""
CONDITIONS = ("question", "universe", "operations", "both")


def questions(pool: Rows) -> list[dict[str, Any]]:
    """Return the pool's rows as other tools write them."""
    return [
        {"id": r["id"], "question": r["question"], "options": [r[k] for k in "ABCD"], "answer": r["answer"]}
        for r in pool
    ]


def for_support(pool: Rows, anchors: Rows) -> dict[str, Rows]:
    """Return scores, ratings, labels and signatures."""
    pairs = [(r["id"], a["anchor_id"]) for r in pool for a in anchors if a["domain"] == r["field"]]
    ids = [row["id"] for row in pool]
    ratings = [
        {"item_id": item, "anchor_id": anchor, "judge": judge, "rating": (n * 7 + len(judge)) % 5}
        for n, (item, anchor) in enumerate(pairs)
        for judge in ("one", "three")
    ]
    signature = {"method_family": "recall", "answer_type": "word", "constraints": ["negated"]}
    return {
        "levels.csv": [
            {"item_id": item, "anchor_id": anchor, "score": round(n * 0.37 % 1, 2)}
            for n, (item, anchor) in enumerate(pairs)
        ],
        "ratings.jsonl": [row | {"evidence": "words"} for row in ratings],
        "labels.jsonl": [row | {"judge": "ann"} for row in ratings if row["judge"] == "one"],
        "item_labels.csv": [{"item_id": item, "aligned": int(n % 3 > 0)} for n, item in enumerate(ids)],
        "pair_labels.csv": [
            {"item_id": item, "other_id": other, "support": n % 2, "duplicate": int(n % 4 == 3)}
            for n, (item, other) in enumerate(pairwise(ids))
        ],
        "signatures.jsonl": [
            signature
            | {"item_id": r["id"], "core_principle": r["subfield"], "alignment": (0.1, 0.9)[n % 3 > 0]}
            for n, r in enumerate(pool)
        ],
    }


def for_selection(pool: Rows) -> dict[str, Rows]:
    """Return strata, quotas, conflicts, overrides and lists of items."""
    ids = [row["id"] for row in pool]
    leaves = sorted({(r["discipline"], r["field"], r["subfield"]) for r in pool})
    copies = [
        ("q016", "q054", 1),
        ("q028", "q086", 1),
        *((one, other, 0) for one, other in pairwise(ids[:4])),
    ]
    return {
        "strata.csv": [{"item_id": r["id"], "stratum": r["subfield"]} for r in pool],
        "quota.csv": [
            {"stratum": name, "lower": 1, "upper": 3} for name in sorted({r["subfield"] for r in pool})
        ],
        "conflicts.csv": [{"item_id": ids[0], "other_id": ids[1]}],
        "must.csv": [{"item_id": ids[2]}],
        "exclude.csv": [{"item_id": ids[3]}, {"item_id": ids[4]}],
        "clusters.csv": [{"item_id": item, "cluster": f"c{n // 2}"} for n, item in enumerate(ids)],
        "pairs.csv": [{"item_id": i, "other_id": o, "duplicate": d} for i, o, d in copies],
        "taxonomy.csv": [
            {"code": f"{n}", "discipline": d, "field": f, "subfield": s, "items": 1}
            for n, (d, f, s) in enumerate(leaves, start=1)
        ],
        "overrides.jsonl": [
            {"decision": "keep", "item_id": ids[0]},
            {"decision": "different", "item_id": ids[0], "other_id": ids[1], "note": "looked at"},
        ],
    }


def for_review(pool: Rows, reviews: Rows) -> dict[str, Rows]:
    """Return graders, grades, appeals, an export, findings, accounts, rules and a pilot."""
    flat = ("item_id", "reviewer_id", "payee_id", "status", "submitted_at", "verdict", "review_score")
    rule = {"version": "1", "currency": "USD", "base": "2.00", "bonus": "5.00", "bar": "14", "tie": "split"}
    efforts = [(n, k, effort) for n in range(40) for k, effort in enumerate(("HH", "HL", "LH", "LL")[n % 4])]
    payees = [f"p{n:02}" for n in range(1, 13)]
    sent = [row for row in reviews if row.get("status", "submitted") == "submitted" and row.get("verdict")]
    return {
        "appeals.csv": [
            {"item_id": row["item_id"], "reviewer_id": row["reviewer_id"], "made_at": "2026-04-01T00:00:00Z"}
            for row in sent[:1]
        ],
        "prodigy.jsonl": [
            {
                "item_id": row["item_id"], "_input_hash": n, "_task_hash": n, "accept": [row["verdict"]],
                "answer": "accept", "_timestamp": 1_772_442_012 + n,
                "_annotator_id": f"set-{row['reviewer_id']}",
            }
            for n, row in enumerate(sent)
        ],
        "rulings.jsonl": [
            {"kind": kind, "subject": subject, "verdict": verdict, "letter": letter, "reason": "looked at",
             "texts": texts, "at": "2026-03-01T00:00:00Z", "who": "ann"}
            for kind, subject, verdict, letter, texts in RULINGS
        ],
        "graders.csv": [{"reviewer_id": f"g{n}", "payee_id": f"pg{n}"} for n in range(3)],
        "reviews.csv": [{key: row.get(key, "") for key in flat} for row in reviews],
        "grades.csv": [
            {"item_id": r["item_id"], "reviewer_id": r["reviewer_id"], "review_score": n % 20}
            for n, r in enumerate(reviews)
        ],
        "audited.csv": [{"item_id": r["id"], "flawed": "no", "flaw": "", "failed": ""} for r in pool],
        "seeded.csv": [{"item_id": pool[5]["id"]}],
        "payees.csv": [{"payee_id": p, "account": f"acc-{p}", "assignment_id": f"as-{p}"} for p in payees],
        "paid_before.csv": [{"payee_id": "p01", "amount": "3.00"}],
        "provider.csv": [{"payee_id": f"acc-{p}", "amount": "4.00", "status": "paid"} for p in payees[:4]],
        "rules.csv": [rule, rule | {"version": "2", "valid_from": "2026-04-01T00:00:00Z"}],
        "pilot.csv": [
            {
                "item_id": f"i{n}", "reviewer_id": f"r{n % 6 + k}", "effort": effort,
                "review_score": (17 if effort == "H" else 9) + (n * 3 + k) % 5,
                "cost": 1 + 2 * (effort == "H"),
            }
            for n, k, effort in efforts
        ],
    }  # fmt: skip


def for_scoring(pool: Rows) -> dict[str, Rows]:
    """Return replies, letters, triples, universes and tables of scores."""
    ids = [row["id"] for row in pool]
    facts = (("France", "Spain", "Q29"), ("Chile", "Peru", "Q419"))
    gold = [
        {"SubjectEntity": s, "Relation": "borders", "ObjectEntities": [o], "ObjectEntitiesID": [q]}
        for s, o, q in facts
    ]
    names = (("Spain", "Q29", "country"), ("Peru", "Q419", "country"), ("Peru", "Q2", "town"))
    universe = {"question": "Name the primes below ten.", "gold": ["2", "3", "5", "7"], "language": "en"}
    enumerated = ("2, 3, 5 and 7", '["2", "3", "9"]', "1. two\n2. three\n")
    return {
        "letters.jsonl": [
            {"item_id": item, "model": f"m{m}", "letter": "ABCD"[(n + m) % 4]}
            for m in range(3)
            for n, item in enumerate(ids)
        ],
        "bare.jsonl": [{"item_id": item, "model": "m", "response": "Answer: B"} for item in ids],
        "answers.jsonl": [
            {"model": f"m{m}", "answers": ("ABCD" * len(ids))[m : m + len(ids)]} for m in range(3)
        ],
        "gold.jsonl": gold,
        "predictions.jsonl": gold[::-1],
        "names.csv": [{"name": n, "qid": q, "description": d} for n, q, d in names],
        "fixed.csv": [{"name": "Peru", "qid": "Q419"}],
        "keywords.csv": [{"relation": "borders", "keyword": "country"}],
        "prompts.csv": [{"relation": "borders", "prompt": "Which countries border {subject}?"}],
        "universe.jsonl": [{"id": f"u{n}", "domain": "number theory"} | universe for n in range(3)],
        "universe_replies.jsonl": [{"id": f"u{n}", "response": text} for n, text in enumerate(enumerated)],
        "replies.jsonl": [
            {"id": text, "response": text, "n_options": 4} for text in ("Answer: B", "(C)", "I do not know")
        ],
        "wide.csv": [
            {"item_id": item, "discipline": "law"} | {m: _right(n, m) for m in MODELS}
            for n, item in enumerate(ids)
        ],
        "wide.jsonl": [
            {"item_id": item, "model": m, "score": _right(n, m)} for m in MODELS for n, item in enumerate(ids)
        ],
        "families.csv": [{"model": m, "family": m[0]} for m in MODELS],
        "matrix.csv": [
            {"item_id": item, "discipline": "law"} | {m: (n + len(m)) % 2 for m in ("aspen", "cedar9", "oak")}
            for n, item in enumerate(ids)
        ],
        "published.csv": [{"model": f"m{n}", "ALL": 50 + n, "law": 40 + n, "art": 60 + n} for n in range(4)],
        "stages.jsonl": [
            {"item_id": item, "model": "m", "score": (n + c) % 2, "condition": name}
            for n, item in enumerate(ids)
            for c, name in enumerate(CONDITIONS)
        ],
    }


def _right(place: int, model: str) -> int:
    """Say whether a model is right on an item: able models more often."""
    return int(place * 7 % 11 <= MODELS.index(model) + place % 2)


def write_rows(path: Path, rows: Rows) -> None:
    """Write rows as CSV or JSON Lines: the suffix decides."""
    if path.suffix == ".jsonl":
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        path.write_text("".join(lines), encoding="utf-8")
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
