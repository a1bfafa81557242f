"""A third set of replies: shapes that the corpus does not hold, decided before the rules were run on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kina_build.scoring.lists import match_names, parse_names
from kina_build.scoring.replies import extract_letter
from tests.scoring.replies import HERE

KNOWN_MISSES = {
    "Pravilni odgovor je pod B.",
    "गलत कथन (ख) है।",
    "間違っているのはCです。",
    "A and B fail, C fails too. D is left.",
}
"""Replies that are left unread; none of the set is read as another letter."""


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def test_letters() -> None:
    off = {}
    for row in rows("later_letters.jsonl"):
        options = row.get("options")
        read = extract_letter(row["reply"], len(options) if options else row["n_options"], options)
        if read.letter != row["letter"]:
            off[row["reply"]] = read.letter
    assert {reply: letter for reply, letter in off.items() if letter is not None} == {}
    assert set(off) == KNOWN_MISSES


def test_lists() -> None:
    off = []
    for row in rows("later_lists.jsonl"):
        golds = [[one] for one in row["gold"]]
        names = parse_names(row["response"], row["language"], row["gold"])
        found = match_names(names, golds, row["language"])
        if len(found.predicted) not in row["predicted"] or len(found.pairs) not in row["matched"]:
            off.append(row["response"])
    assert off == []


@pytest.mark.parametrize("size", [10_000, 60_000])
def test_every_row_of_a_long_table_is_read(size: int) -> None:
    names = [f"Place {n}" for n in range(size)]
    table = "| n | name |\n|---|---|\n" + "".join(f"| {n} | {name} |\n" for n, name in enumerate(names, 1))
    assert parse_names(table, "en") == names
    assert parse_names(table[:-4], "en")[: size - 1] == names[:-1]  # the last row breaks off
