"""A small flow with something to decide in every queue, and with texts that want to be markup."""

from __future__ import annotations

from pathlib import Path

from kina_build.config import DedupRules
from kina_build.dedup.records import DuplicatePair, Duplicates
from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.pool import write_pool
from kina_build.rows.jsonl import write_document, write_records

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>\" onmouseover=alert(2) {{ 7*7 }} {% raw %}"


def item(item_id: str, question: str, options: tuple[str, ...], key: str = "A", **more: str) -> Item:
    keyed = tuple(Option(key=letter, answer=text) for letter, text in zip(LETTERS, options, strict=False))
    return Item(item_id=item_id, question=question, options=keyed, correct_answer=key, **more)


def pair(one: str, other: str, status: str, reason: str) -> DuplicatePair:
    return DuplicatePair.model_validate(
        {
            "item_id": one,
            "other_id": other,
            "status": status,
            "reason": reason,
            "rule": "key",
            "cosine": 0.97,
            "stem_overlap": 1.0,
            "option_overlap": 1.0,
            "gold": "different",
            "passage": "none",
            "changed": (),
            "cross_discipline": False,
        }
    )


def write_desk_flow(folder: Path, near: int = 10) -> Path:
    """Write a pool with one disputed pair, `near` near-copies, one doubtful key and one finding."""
    fuse = "A fuse is rated 5 A at 230 V. Which heater may it safely feed?"
    heaters = ("a 1000 W heater", "a 1500 W heater", "a 3000 W heater")
    pool = [
        item("fuse-a", fuse, heaters, "A", field="physics"),
        item("fuse-b", fuse, (heaters[1], heaters[2], heaters[0]), "A", field="physics"),
        item("moon", "What does the moon pull?", ("the sea", "the sun"), "B", field="tides"),
        item("evil", HOSTILE, (HOSTILE, "plain"), "B", field=HOSTILE, subfield=HOSTILE, explanation=HOSTILE),
    ]
    for n in range(near):
        pool += [
            item(f"n{n:02d}-a", f"How hot is star number {n}?", ("hot", "cold"), field="stars"),
            item(f"n{n:02d}-b", f"How hot is not star number {n + 1}?", ("cold", "hot"), field="stars"),
        ]
    write_pool(folder / "pool.jsonl", pool)
    near_pairs = [pair(f"n{n:02d}-a", f"n{n:02d}-b", "review", "the texts are close") for n in range(near)]
    duplicates = Duplicates(
        kept=tuple(one.item_id for one in pool),
        dropped=(),
        held=(),
        clusters=(),
        pairs=(pair("fuse-a", "fuse-b", "conflict", HOSTILE), *near_pairs),
        conflict_edges=(),
        counts={},
        unused_overrides=(),
        skipped_groups=0,
        encoder="",
        revision="",
        dimension=0,
        unknown_rate=0.0,
        threshold=0.8,
        rules=DedupRules(),
    )
    write_document(folder / "duplicates.json", duplicates)
    found = {"item_id": "evil", "rule": "markup_left", "severity": "warning", "message": HOSTILE}
    write_records(folder / "findings.jsonl", [found])
    doubt = {"rank": 1, "item_id": "moon", "key": "B", "flags": ["agreed_rival"], "rival": "A"}
    write_records(folder / "triage.jsonl", [doubt | {"rival_votes": 3, "key_votes": 0, "voters": 3}])
    write_records(
        folder / "scores.jsonl",
        [
            {"item_id": name, "model": model, "score": 0.0, "letters": [letter]}
            for name, letter in (("moon", "A"), ("fuse-a", "B"), ("evil", None))
            for model in ("one", "two", HOSTILE)
        ],
    )
    return folder
