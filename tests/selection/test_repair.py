"""Greedy that stops short is repaired: to the full size wherever it can be had, then uphill."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from kina_build.config import SelectionRules
from kina_build.errors import Refusal
from kina_build.selection.inputs import Inputs, sort_pairs
from kina_build.selection.posing import split
from kina_build.selection.solver.choose import choose
from kina_build.selection.solver.problem import Problem
from kina_build.selection.solver.repair import fill
from kina_build.selection.solver.shortage import Infeasible
from kina_build.support.matrix import build_matrix
from tests.selection.worlds import best_sets, matrix_of, worlds


def tangled(seed: int) -> Problem:
    """Build 14 items, each pair in conflict with a chance of a third, of which 5 are wanted."""
    rng = np.random.default_rng(seed)
    ids = [f"q{i:02}" for i in range(14)]
    scores = rng.integers(0, 11, (14, 5)) / 10
    pairs = [(one, other) for one in ids for other in ids if one < other and rng.random() < 0.35]
    matrix = build_matrix(ids, list("abcde"), scores, np.ones(5))
    return split(Inputs(matrix, conflicts=sort_pairs(pairs), conflict_mode="pairwise"), 5)[""]


def test_a_repaired_set_leaves_no_single_swap_that_gains() -> None:
    repaired = 0
    for seed in range(40):
        wanted = tangled(seed)
        try:
            choice = choose(wanted, SelectionRules(dual_rounds=0))
        except Infeasible:
            continue
        if choice.method != "repaired":
            continue
        repaired += 1
        for out in choice.picks.items:
            for into in set(range(14)).difference(choice.picks.items):
                swapped = [into if item == out else item for item in choice.picks.items]
                assert not wanted.allows(swapped) or wanted.value(swapped) <= choice.picks.value
    assert repaired >= 5


def test_greedy_that_stops_short_is_repaired_and_promises_nothing() -> None:
    # the star's centre is worth most but rules out both leaves
    support = {"centre": {"u": 1.0}, "left": {"u": 0.5}, "right": {"v": 0.5}}
    inputs = Inputs(
        matrix_of(support, {"u": 1, "v": 1}),
        conflicts=(("centre", "left"), ("centre", "right")),
        conflict_mode="pairwise",
    )
    choice = choose(split(inputs, 2)[""])
    assert [choice.problem.matrix.item_ids[i] for i in choice.picks.items] == ["left", "right"]
    assert choice.method == "repaired"
    assert choice.guarantee.theorem == "none"
    assert len(choice.greedy.items) == 1


@settings(max_examples=80)
@given(worlds(most=7))
def test_fill_finds_a_set_exactly_where_there_is_one(world: tuple[Inputs, int]) -> None:
    try:
        one = split(*world)[""]
    except Refusal:
        return
    optimum = best_sets(one)
    try:
        filled = fill(one)
    except Infeasible:
        assert optimum is None
        partial = fill(one, allow_shortfall=True)
        assert partial.problem.allows(partial.picks.items)
        return
    assert optimum is not None
    assert one.allows(filled.picks.items)
