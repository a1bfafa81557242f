"""The public fault cases of step dedup, each by its id."""

from __future__ import annotations

from typing import Any

import pytest

from kina_build.dedup.clusters import decide
from kina_build.dedup.encoded import read_corpus
from kina_build.dedup.find import find_copies
from kina_build.dedup.records import Duplicates
from kina_build.errors import InputError
from kina_build.items.model import Item
from tests.conftest import fault_cases
from tests.dedup.conftest import WordEncoder


def as_items(case: dict[str, Any]) -> list[Item]:
    rows = [dict(row) for row in case["input"]["items"]]
    return [Item.model_validate({"options": (), "item_id": row.pop("id"), **row}) for row in rows]


def groups(result: Duplicates) -> list[list[str]]:
    return [list(c.item_ids) for c in result.clusters if c.status in {"duplicate", "conflict"}]


@pytest.mark.parametrize("near", [True, False], ids=["near", "letters"])
@pytest.mark.parametrize("case", fault_cases("dedup"))
def test_fault(case: dict[str, Any], near: bool) -> None:
    expected = case["expected"]
    if "edges" in case["input"]:
        for order in case["input"]["orders"]:
            decision = decide(dict.fromkeys(order, (0,)), map(tuple, case["input"]["edges"]), [])
            assert list(decision.kept) == expected["kept_for_every_order"]
        return
    items = as_items(case)
    if expected.get("error") == "duplicate_id":
        first, second = (place + 1 for place in expected["positions"])
        with pytest.raises(InputError, match=f"'dup' stands on rows {first}, {second}"):
            read_corpus(items, None)
        return
    result = find_copies(read_corpus(items, WordEncoder() if near else None))
    check(result, expected, near=near)


def check(result: Duplicates, expected: dict[str, Any], *, near: bool) -> None:
    if "duplicate_groups" in expected:
        assert groups(result) == expected["duplicate_groups"]
    if expected.get("conflict"):
        assert [held.item_id for held in result.held] == expected["sent_to_review"]
        assert list(result.kept) == expected["auto_kept"]
    if expected.get("kind") == "cross_discipline":
        assert result.clusters[0].cross_discipline
        assert len(result.kept) == expected["unique_items"]
        assert result.clusters[0].needs_decision == expected["kept_requires_decision"]
    if "label" in expected:
        assert [d.item_id for d in result.dropped] == expected["auto_removed"] == expected["exact_duplicates"]
        if near:  # letters alone do not look at it
            assert [[p.item_id, p.other_id] for p in result.pairs] == expected["near_pairs"]
            assert {p.status for p in result.pairs} == {expected["label"]}
