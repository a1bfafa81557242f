from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.items.model import Item, Option
from kina_review.desk.assignment import Plan, assign_reviewers
from kina_review.records import Assignment, Reviewer
from tests.conftest import fault_cases

OPTIONS = (Option(key="A", answer="yes"), Option(key="B", answer="no"))


def item(item_id: str, **more: Any) -> Item:
    return Item(item_id=item_id, question="Is it?", options=OPTIONS, correct_answer="A", **more)


def people(*names: str, **more: Any) -> list[Reviewer]:
    return [Reviewer(reviewer_id=name, **more) for name in names]


def pairs(plan: Plan) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for slot in plan.assignments:
        found.setdefault(slot.item_id, []).append(slot.reviewer_id)
    return found


@pytest.mark.parametrize("case", [c for c in fault_cases("review") if c.id in {"rev-two-distinct", "absent"}])
def test_no_item_has_its_author_or_one_reviewer(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    items = [item(row["id"], author_id=row["author"]) for row in given["items"]]
    plan = assign_reviewers(items, people(*given["reviewers"]), seed=0)
    assert pairs(plan) == expected["assignment"]
    assert plan.loads == expected["load"]


@given(st.integers(3, 9), st.integers(1, 40), st.integers(0, 5))
def test_loads_are_even_and_pairs_fresh(count: int, items: int, seed: int) -> None:
    names = [f"r{n}" for n in range(count)]
    plan = assign_reviewers([item(f"i{n}") for n in range(items)], people(*names), seed=seed)
    assert all(len(set(pair)) == 2 for pair in pairs(plan).values())
    assert len(pairs(plan)) == items
    assert max(plan.loads.values()) - min(plan.loads.values()) <= 1
    meetings = Counter(tuple(sorted(pair)) for pair in pairs(plan).values())
    fresh = len(list(combinations(names, 2)))
    assert plan.repeated_pairs == items - len(meetings)
    if items <= fresh:
        assert plan.repeated_pairs == 0


@given(st.permutations(range(8)), st.permutations(range(5)))
def test_row_order_never_matters(items: list[int], reviewers: list[int]) -> None:
    def plan(item_order: Any, reviewer_order: Any) -> Plan:
        return assign_reviewers(
            [item(f"i{n}") for n in item_order], people(*(f"r{n}" for n in reviewer_order)), seed=3
        )

    assert plan(items, reviewers) == plan(range(8), range(5))


def test_the_seed_matters() -> None:
    plans = {
        assign_reviewers([item(f"i{n}") for n in range(8)], people(*"abcde"), seed=seed).assignments
        for seed in range(5)
    }
    assert len(plans) > 1


def test_conflicts_payees_expertise_and_affiliation_are_obeyed() -> None:
    reviewers = [
        Reviewer(reviewer_id="ann", payee_id="p1", fields=("law",), affiliation="North"),
        Reviewer(reviewer_id="ann2", payee_id="p1", fields=("law",), affiliation="West"),
        Reviewer(reviewer_id="bob", fields=("law", "art"), conflicts=("author9",), affiliation="North"),
        Reviewer(reviewer_id="cat", affiliation="South"),
    ]
    items = [item(f"i{n}", field="law") for n in range(6)] + [item("i9", field="art", author_id="author9")]
    plan = assign_reviewers(items, reviewers, seed=1, by_affiliation=True)
    for item_id, pair in pairs(plan).items():
        assert set(pair) not in ({"ann", "ann2"}, {"ann", "bob"})
        assert item_id != "i9" or "bob" not in pair
    assert [(s.item_ids, s.reviewer_ids) for s in plan.shortages] == [(("i9",), ("cat",))]


def test_an_impossible_field_is_named_with_its_reviewers() -> None:
    reviewers = [
        Reviewer(reviewer_id="a", fields=("law",), capacity=1),
        Reviewer(reviewer_id="b", fields=("law",)),
        Reviewer(reviewer_id="c", fields=("art",)),
        Reviewer(reviewer_id="d", fields=("art",)),
    ]
    items = [item("i1", field="law"), item("i2", field="law"), item("i3", field="art")]
    plan = assign_reviewers(items, reviewers, seed=0)
    assert len(plan.shortages) == 1
    shortage = plan.shortages[0]
    assert (shortage.item_ids, shortage.reviewer_ids) == (("i1", "i2"), ("a", "b"))
    assert (shortage.needed, shortage.available) == (4, 3)
    assert set(pairs(plan)["i3"]) == {"c", "d"}


def test_a_full_reviewer_hands_an_item_on_when_only_they_can_take_another() -> None:
    reviewers = [
        Reviewer(reviewer_id="law1", fields=("law",), capacity=1),
        Reviewer(reviewer_id="law2", fields=("law", "art"), capacity=1),
        Reviewer(reviewer_id="art1", fields=("art",), capacity=1),
        Reviewer(reviewer_id="art2", fields=("art",), capacity=1),
    ]
    plan = assign_reviewers([item("i1", field="art"), item("i2", field="law")], reviewers, seed=0)
    assert not plan.shortages
    assert {i: set(pair) for i, pair in pairs(plan).items()} == {
        "i1": {"art1", "art2"},
        "i2": {"law1", "law2"},
    }


def test_later_items_and_reviewers_keep_earlier_pairs() -> None:
    first = assign_reviewers([item(f"i{n}") for n in range(6)], people(*"abc"), seed=0)
    more = assign_reviewers(
        [item(f"i{n}") for n in range(9)], people(*"abcd"), seed=7, earlier=first.assignments
    )
    assert set(first.assignments) < set(more.assignments)
    assert more.added == 6
    assert more.loads["d"] >= 2


def test_a_missing_review_goes_to_somebody_new() -> None:
    first = assign_reviewers([item("i1")], people("a", "b", "c"), seed=0)
    lost = first.assignments[0]
    again = assign_reviewers(
        [item("i1")],
        people("a", "b", "c"),
        seed=0,
        earlier=first.assignments,
        released=[("i1", lost.reviewer_id)],
    )
    new = ({"a", "b", "c"} - {slot.reviewer_id for slot in first.assignments}).pop()
    assert {slot.reviewer_id for slot in again.assignments} == {first.assignments[1].reviewer_id, new}


def test_a_reviewer_who_left_still_counts_for_what_they_hold() -> None:
    earlier = [Assignment(item_id="i1", reviewer_id="gone"), Assignment(item_id="i1", reviewer_id="a")]
    plan = assign_reviewers([item("i1")], people("a", "b"), seed=0, earlier=earlier)
    assert plan.added == 0


def test_open_work_is_capped_and_the_rest_waits() -> None:
    items = [item(f"i{n}") for n in range(10)]
    first = assign_reviewers(items, people("a", "b", "c"), seed=0, open_cap=2)
    assert max(first.loads.values()) == 2
    assert len(first.waiting) == 7
    assert not first.shortages
    finished = [(slot.item_id, slot.reviewer_id) for slot in first.assignments]
    second = assign_reviewers(
        items, people("a", "b", "c"), seed=0, earlier=first.assignments, finished=finished, open_cap=2
    )
    assert second.added == 6


def test_progress_is_told(make_item: Callable[..., Item]) -> None:
    seen: list[tuple[int, int]] = []
    assign_reviewers(
        [make_item("q1"), make_item("q2")],
        people("a", "b"),
        seed=0,
        on_progress=lambda d, t: seen.append((d, t)),
    )
    assert seen == [(1, 2), (2, 2)]
