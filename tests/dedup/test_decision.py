from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules
from kina_build.dedup.clusters import decide, rank_item
from kina_build.items.model import Item

NAMES = [f"i{n:02d}" for n in range(12)]
EDGES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda e: e[0] != e[1]), max_size=25
)
RANKS = st.fixed_dictionaries({name: st.tuples(st.integers(0, 2)) for name in NAMES})


@given(RANKS, EDGES, EDGES, st.sets(st.sampled_from(NAMES), max_size=2), st.randoms())
def test_every_item_has_one_fate_and_no_two_kept_are_copies(
    ranks: dict[str, tuple[int, ...]],
    copies: list[tuple[str, str]],
    conflicts: list[tuple[str, str]],
    pinned: set[str],
    shuffler: random.Random,
) -> None:
    decision = decide(ranks, copies, conflicts, frozenset(pinned))
    kept, dropped, held = set(decision.kept), set(decision.dropped), set(decision.held)
    assert sorted([*kept, *dropped, *held]) == NAMES
    linked = {frozenset(edge) for edge in (*copies, *conflicts)}
    assert not [e for e in linked if e <= kept and not e <= pinned]
    assert pinned <= kept
    for item, stands in decision.dropped.items():
        assert stands in kept
        assert frozenset((item, stands)) in linked
    for edge in conflicts:  # never silently decided: both held, unless a person kept one
        assert set(edge) <= held or set(edge) & (pinned | dropped)
    shuffler.shuffle(copies)
    turned = [(b, a) for a, b in conflicts]
    order = dict(shuffler.sample(sorted(ranks.items()), len(ranks)))
    assert decide(order, copies, turned, frozenset(pinned)) == decision


def test_a_chain_keeps_its_ends_in_every_order() -> None:
    for names in permutations("ABC"):
        decision = decide(dict.fromkeys(names, (0,)), [("A", "B"), ("B", "C")], [])
        assert decision.kept == ("A", "C")
        assert decision.dropped == {"B": "A"}


def test_a_copy_of_an_item_in_conflict_is_held_too() -> None:
    decision = decide(dict.fromkeys("abc", (0,)), [("a", "b")], [("b", "c")])
    assert decision.held == {"a": ("b", "c"), "b": ("a", "c"), "c": ("a", "b")}


def test_a_person_settles_a_conflict() -> None:
    decision = decide({"a": (1,), "b": (0,)}, [], [("a", "b")], frozenset({"b"}))
    assert (decision.kept, decision.dropped, decision.held) == (("b",), {"a": "b"}, {})


@pytest.mark.parametrize(
    "better",
    [
        {"metadata": {"key_checked": True}},
        {"question_material": "the passage"},
        {"question_source": "a book"},
        {"license": "CC-BY-4.0"},
        {"metadata": {"difficulty": 0.4}},
    ],
)
def test_the_better_documented_copy_stays(better: dict[str, object], make_item: Callable[..., Item]) -> None:
    plain, good = make_item("a"), make_item("z", **better)
    ranks = {item.item_id: rank_item(item, frozenset(), DedupRules()) for item in (plain, good)}
    assert decide(ranks, [("a", "z")], []).kept == ("z",)


def test_a_key_that_names_no_option_ranks_low(make_item: Callable[..., Item]) -> None:
    nothing = frozenset[str]()
    assert rank_item(make_item(), nothing) < rank_item(make_item(correct_answer="E"), nothing)
    assert rank_item(make_item(), nothing) < rank_item(make_item(options=["x", " "]), nothing)
