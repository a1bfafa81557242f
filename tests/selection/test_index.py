"""Gains kept up to date must say what gains evaluated anew say, set after set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kina_build.config import SelectionRules
from kina_build.errors import Refusal
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import split
from kina_build.selection.solver.choose import choose
from kina_build.selection.solver.gains import StandingGains, list_scores
from kina_build.selection.solver.greedy import pick_greedily
from kina_build.selection.solver.kernels import sum_gains
from kina_build.selection.solver.problem import Problem
from kina_build.support.matrix import build_matrix
from tests.selection.worlds import matrix_of, worlds

COMPILED = SelectionRules(compiled_from_items=0, block_items=3, dual_rounds=3, dual_steps=20, search_rounds=5)
IN_NUMPY = COMPILED.model_copy(update={"compiled_from_items": 1_000_000})


def problem_of(world: tuple[Inputs, int]) -> Problem:
    """Build the instance, or drop the example where must-include items break a constraint."""
    try:
        return split(*world)[""]
    except Refusal:
        assume(False)
        raise


def test_the_lists_hold_runs_of_equal_level_highest_first() -> None:
    support = {"a": {"u": 0.5}, "b": {"u": 1.0, "v": 0.2}, "c": {"u": 0.5}}
    lists = list_scores(matrix_of(support, {"u": 1.0, "v": 1.0}))
    assert lists.first.tolist() == [0, 2, 3]
    assert lists.level.tolist() == [1000, 500, 200]
    assert lists.start.tolist() == [0, 1, 3, 4]
    assert lists.items.tolist() == [1, 0, 2, 1]


def test_an_anchor_that_nobody_supports_has_an_empty_list() -> None:
    problem = split(Inputs(matrix_of({"a": {"u": 0.0}, "b": {"v": 0.4}}, {"u": 1.0, "v": 1.0})), 2)[""]
    assert list_scores(problem.matrix).first.tolist() == [0, 0, 1]
    assert pick_greedily(problem, standing=StandingGains(problem, 2)).items == (1, 0)


@given(worlds(quotas=False, conflicts=False), st.data())
def test_moving_the_coverage_gives_the_gains_over_it(world: tuple[Inputs, int], data: st.DataObject) -> None:
    problem = problem_of(world)
    standing = StandingGains(problem, 2)
    for _ in range(3):
        cover = np.array([float(data.draw(st.integers(0, 1000))) for _ in problem.weights])
        standing.move(cover)
        assert standing.gains.tolist() == sum_gains(problem.matrix.levels, problem.weights, cover).tolist()


@settings(max_examples=60)
@given(worlds(most=12), st.data())
def test_one_index_serves_every_size_start_and_exclusion(
    world: tuple[Inputs, int], data: st.DataObject
) -> None:
    problem = problem_of(world)
    standing = StandingGains(problem, 3)
    for _ in range(4):
        items = st.sets(st.integers(0, len(problem.stratum) - 1), max_size=3)
        start, without = sorted(data.draw(items)), sorted(data.draw(items))
        size = data.draw(st.integers(0, len(problem.stratum)))
        what_if = replace(problem, sizes=np.array([size]), upper=np.minimum(problem.upper, size))
        expected = pick_greedily(what_if, given=start, without=without)
        assert pick_greedily(what_if, given=start, without=without, standing=standing) == expected


def test_the_index_agrees_on_larger_instances_with_many_ties() -> None:
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 4, (700, 9)) / 4 * (rng.random((700, 9)) < 0.3)
    matrix = build_matrix([f"q{i:03}" for i in range(700)], list("abcdefghi"), scores, np.ones(9))
    standing = StandingGains(split(Inputs(matrix), 1)[""], 64)
    for size in (60, 5, 30):
        problem = split(Inputs(matrix), size)[""]
        assert pick_greedily(problem, standing=standing) == pick_greedily(problem)


@settings(max_examples=40)
@given(worlds(most=8), st.integers(0, 5))
def test_repair_and_improvement_choose_the_same_with_the_index(world: tuple[Inputs, int], seed: int) -> None:
    problem = problem_of(world)
    try:
        plain = choose(problem, IN_NUMPY, improve=True, seed=seed)
    except Refusal:
        return
    indexed = choose(problem, COMPILED, improve=True, seed=seed)
    assert (indexed.picks, indexed.method) == (plain.picks, plain.method)


@given(worlds(most=10), st.data())
def test_a_narrowed_problem_allows_what_the_whole_allows(
    world: tuple[Inputs, int], data: st.DataObject
) -> None:
    problem = problem_of(world)
    every = range(len(problem.stratum))
    kept = np.array(
        sorted(data.draw(st.sets(st.sampled_from(every))) | set(problem.must.tolist())), dtype=int
    )
    assume(len(kept))
    small = problem.narrowed(kept)
    inside = data.draw(st.lists(st.sampled_from(range(len(kept))), unique=True))
    outside = kept[inside].tolist()
    assert small.value(inside) == problem.value(outside)
    assert small.allows(inside) == problem.allows(outside)
    shared = problem.conflicts.clique[kept][:, None] == problem.conflicts.clique[kept]
    clique = small.conflicts.clique
    assert ((clique[:, None] == clique) == shared).all()
    assert (clique[clique] == clique).all()
