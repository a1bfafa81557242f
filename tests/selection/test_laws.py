"""Laws of the selector, against the naive greedy and against every set there is."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kina_build.config import SelectionRules
from kina_build.errors import Refusal
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import split
from kina_build.selection.records import Selection
from kina_build.selection.solver.bounds import bound_at, bound_online, tighten
from kina_build.selection.solver.choose import choose
from kina_build.selection.solver.exact import solve
from kina_build.selection.solver.greedy import pick_greedily
from kina_build.selection.solver.improve import best_swap
from kina_build.selection.solver.problem import Problem
from kina_build.selection.verifier.verify import verify
from kina_build.support.matrix import build_matrix
from tests.selection.worlds import best_sets, naive_greedy, worlds

QUICK = SelectionRules(dual_rounds=3, dual_steps=20, search_rounds=5)
COMPILED = SelectionRules(compiled_from_items=0, block_items=3)


def problem_of(world: tuple[Inputs, int]) -> Problem:
    """Build the instance, or drop the example where must-include items break a constraint."""
    try:
        return split(*world)[""]
    except Refusal:
        assume(False)
        raise


FOLDS = st.integers(1, 3)


@settings(max_examples=60)
@given(worlds(most=12), FOLDS)
def test_lazy_greedy_picks_what_the_naive_greedy_picks(world: tuple[Inputs, int], folds: int) -> None:
    problem = problem_of(world).folded(folds)
    assume(np.maximum(problem.counts(problem.must), problem.lower).sum() <= problem.size)
    assert list(pick_greedily(problem).items) == naive_greedy(problem)


@given(worlds(most=12), FOLDS)
def test_the_compiled_kernel_picks_the_same(world: tuple[Inputs, int], folds: int) -> None:
    problem = problem_of(world).folded(folds)
    assume(np.maximum(problem.counts(problem.must), problem.lower).sum() <= problem.size)
    assert pick_greedily(problem, COMPILED) == pick_greedily(problem)


@pytest.mark.parametrize("block", [1, 7, 128])
def test_the_kernel_agrees_on_larger_instances_with_many_ties(block: int) -> None:
    rng = np.random.default_rng(block)
    scores = rng.integers(0, 4, (700, 9)) / 4 * (rng.random((700, 9)) < 0.3)
    matrix = build_matrix([f"q{i:03}" for i in range(700)], list("abcdefghi"), scores, np.ones(9))
    problem = split(Inputs(matrix), 60)[""]
    fast = pick_greedily(problem, SelectionRules(compiled_from_items=0, block_items=block))
    assert fast == pick_greedily(problem)
    assert fast.gains.count(0) > 10


@settings(max_examples=100)
@given(worlds(most=7), st.none() | FOLDS)
def test_value_optimum_and_bounds_are_in_order_and_the_claimed_factor_holds(
    world: tuple[Inputs, int], folds: int | None
) -> None:
    problem = problem_of(world)
    try:
        choice = choose(problem, QUICK, folds=folds)
    except Refusal:
        assert best_sets(problem) is None
        return
    optimum = best_sets(problem.folded(choice.problem.folds))
    assert optimum is not None
    assert problem.allows(choice.picks.items)
    assert choice.picks.value <= optimum <= choice.tight.value <= choice.online.value
    assert choice.picks.value >= choice.guarantee.factor * optimum - 1e-6


@settings(max_examples=60)
@given(worlds(most=7), st.integers(0, 5), st.none() | FOLDS)
def test_improving_never_loses_and_stays_allowed(
    world: tuple[Inputs, int], seed: int, folds: int | None
) -> None:
    problem = problem_of(world)
    try:
        plain = choose(problem, QUICK, folds=folds)
        better = choose(problem, QUICK, improve=True, seed=seed, folds=folds)
    except Refusal:
        return
    assert problem.allows(better.picks.items)
    assert plain.picks.value <= better.picks.value <= better.tight.value
    assert (better.method == "improved") == (better.picks.value > plain.picks.value)


@given(worlds(most=9, quotas=False, conflicts=False), FOLDS, st.data())
def test_any_thresholds_bound_every_set(world: tuple[Inputs, int], folds: int, data: st.DataObject) -> None:
    problem = problem_of(world).folded(folds)
    lam = [data.draw(st.integers(0, 1000)) for _ in problem.weights]
    optimum = best_sets(problem)
    assume(optimum is not None)
    assert bound_at(problem, np.array(lam, dtype=float)).value >= (optimum or 0)


@given(worlds(quotas=False, conflicts=False), FOLDS)
def test_adding_an_item_never_lowers_the_objective_and_adds_less_later(
    world: tuple[Inputs, int], folds: int
) -> None:
    problem = problem_of(world).folded(folds)
    gains = problem.value
    small, new = [0], len(problem.stratum) - 1
    large = list(range(len(problem.stratum) - 1))
    assert gains(large) >= gains(small)
    assert gains([*small, new]) - gains(small) >= gains([*large, new]) - gains(large) >= 0


@settings(max_examples=80)
@given(worlds(most=7), st.booleans(), st.none() | FOLDS)
def test_every_selection_passes_its_own_verifier(
    world: tuple[Inputs, int], improve: bool, folds: int | None
) -> None:
    inputs, size = world
    try:
        document = select(inputs, size, QUICK, allow_shortfall=True, improve=improve, folds=folds)
    except Refusal:
        return
    assert verify(document, inputs).faults == ()
    assert Selection.model_validate_json(document.model_dump_json()) == document


@settings(max_examples=80)
@given(worlds(most=9))
def test_past_saturation_the_least_r_counts_that_leaves_no_pick_idle(world: tuple[Inputs, int]) -> None:
    problem = problem_of(world)
    try:
        chosen = choose(problem, QUICK)
    except Refusal:
        return

    def idle(folds: int) -> bool:
        picks = choose(problem, QUICK, folds=folds).picks
        free = set(picks.items) - set(problem.must.tolist())
        gains = zip(picks.items, picks.gains, strict=True)
        return any(not gain and problem.centrality[item] and item in free for item, gain in gains)

    folds = chosen.problem.folds
    assume(chosen.method == "greedy")
    assert not idle(folds)
    assert folds == 1 or idle(folds - 1)
    assert (folds == 1) == (not idle(1))


@settings(max_examples=40)
@given(worlds(most=9), FOLDS)
def test_the_exact_optimum_of_several_items_an_anchor(world: tuple[Inputs, int], folds: int) -> None:
    problem = problem_of(world)
    try:
        choice = choose(problem, QUICK, folds=folds)
    except Refusal:
        return
    optimum = solve(choice.problem, choice.picks.items, choice.tight, QUICK)
    assert optimum.proven
    assert optimum.value == best_sets(choice.problem)


@given(worlds(quotas=False, conflicts=False), FOLDS, st.integers(0, 5))
def test_the_best_swap_is_the_best_of_all(world: tuple[Inputs, int], folds: int, seed: int) -> None:
    problem = problem_of(world).folded(folds)
    rng = np.random.default_rng(seed)
    items = sorted({*problem.must.tolist(), *rng.permutation(len(problem.stratum)).tolist()[:3]})
    swaps = [
        (problem.value({*items, new} - {old}) - problem.value(items))
        for old in set(items) - set(problem.must.tolist())
        for new in set(range(len(problem.stratum))) - set(items)
    ]
    found = best_swap(problem, items)
    best = max(swaps, default=0)
    assert (found is None) == (best <= 0)
    assert found is None or problem.value({*items, found[1]} - {found[0]}) - problem.value(items) == best


@settings(max_examples=40)
@given(worlds(most=8), st.randoms(use_true_random=False))
def test_row_and_column_order_change_nothing(world: tuple[Inputs, int], order: random.Random) -> None:
    inputs, size = world
    matrix = inputs.matrix
    rows, columns = list(range(len(matrix.item_ids))), list(range(len(matrix.anchor_ids)))
    order.shuffle(rows)
    order.shuffle(columns)
    again = build_matrix(
        [matrix.item_ids[row] for row in rows],
        [matrix.anchor_ids[column] for column in columns],
        matrix.levels[np.ix_(rows, columns)] / matrix.scale,
        matrix.weights[columns] / matrix.weight_unit,
    )
    try:
        expected = select(inputs, size, QUICK, allow_shortfall=True)
    except Refusal:
        return
    assert select(replace(inputs, matrix=again), size, QUICK, allow_shortfall=True) == expected


def test_the_dual_bound_beats_the_online_bound_where_coverage_overlaps() -> None:
    rng = np.random.default_rng(5)
    scores = np.rint(rng.random((200, 12)) * 10) / 10 * (rng.random((200, 12)) < 0.4)
    matrix = build_matrix([f"q{i:03}" for i in range(200)], list("abcdefghijkl"), scores, rng.random(12))
    problem = split(Inputs(matrix), 6)[""]
    picks = pick_greedily(problem)
    online = bound_online(problem, picks.items)
    tight = tighten(problem, picks.items, online)
    assert picks.value <= tight.value < 0.97 * online.value
