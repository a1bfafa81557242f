"""Stories about the parts: guarantees, exact, budget, random sets, gaps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_build.config import SelectionRules
from kina_build.errors import Refusal, UsageError
from kina_build.selection.beside.draws import draw_random, find_gaps
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs, sort_pairs
from kina_build.selection.posing import split
from kina_build.selection.records import Quota
from kina_build.selection.sharing.draw import apportion, make_budget, proportional, share_by_gain
from kina_build.selection.solver.bounds import bound_online, tighten
from kina_build.selection.solver.choose import choose, guarantee_of
from kina_build.selection.solver.conflicts import connect
from kina_build.selection.solver.exact import solve, survivors
from kina_build.selection.solver.greedy import pick_greedily
from kina_build.selection.solver.problem import Problem
from kina_build.selection.solver.repair import fill
from kina_build.selection.verifier.verify import verify
from kina_build.support.matrix import build_matrix
from tests.selection.worlds import best_sets, matrix_of, worlds

FLAT = {f"q{i}": {"u": 0.1 * (i + 1)} for i in range(6)}


def problem(size: int, support: Any = FLAT, **more: Any) -> Problem:
    return split(Inputs(matrix_of(support, {"u": 1.0}), **more), size)[""]


HALVES = dict(zip(FLAT, "aaabbb", strict=True))


@pytest.mark.parametrize(
    ("more", "theorem", "factor"),
    [
        ({}, "cardinality", 1 - 1 / math.e),
        ({"strata": HALVES}, "cardinality", 1 - 1 / math.e),
        ({"strata": HALVES, "quotas": (Quota(stratum="a", upper=3),)}, "cardinality", 1 - 1 / math.e),
        ({"strata": HALVES, "quotas": (Quota(stratum="a", upper=1),)}, "matroid", 1 / 2),
        ({"strata": HALVES, "quotas": (Quota(stratum="a", lower=1),)}, "matroid", 1 / 2),
        ({"conflicts": (("q0", "q5"),)}, "matroid", 1 / 2),
        (
            {"strata": HALVES, "quotas": (Quota(stratum="a", lower=1),), "conflicts": (("q0", "q1"),)},
            "matroid",
            1 / 2,
        ),
        (
            {"strata": HALVES, "quotas": (Quota(stratum="a", lower=1),), "conflicts": (("q0", "q5"),)},
            "two matroids",
            1 / 3,
        ),
        ({"conflicts": (("q0", "q1"), ("q0", "q2")), "conflict_mode": "pairwise"}, "k-extendible", 1 / 3),
        (
            {
                "strata": HALVES,
                "quotas": (Quota(stratum="a", lower=1),),
                "conflicts": (("q0", "q1"), ("q0", "q2")),
                "conflict_mode": "pairwise",
            },
            "k-extendible",
            1 / 4,
        ),
        ({"conflicts": (("q0", "q1"),), "conflict_mode": "pairwise"}, "matroid", 1 / 2),
    ],
)
def test_the_guarantee_follows_the_constraints_that_can_bind(
    more: dict[str, Any], theorem: str, factor: float
) -> None:
    found = guarantee_of(problem(3, **more))
    assert (found.theorem, found.factor) == (theorem, pytest.approx(factor))
    assert ("1 - 1/e" in found.statement) == (theorem == "cardinality")


def test_quotas_can_bring_greedy_down_to_half_so_1_minus_1_over_e_would_be_a_lie() -> None:
    # x of stratum a covers both anchors a little better than either alone; it blocks y, its only rival in a
    support = {"x": {"u": 1.0}, "y": {"v": 0.99}, "z": {"u": 1.0}}
    strata = {"x": "a", "y": "a", "z": "b"}
    quotas = (Quota(stratum="a", upper=1), Quota(stratum="b", upper=1))
    inputs = Inputs(matrix_of(support, {"u": 1, "v": 1}), strata=strata, quotas=quotas)
    one = split(inputs, 2)[""]
    greedy, optimum = pick_greedily(one), best_sets(one)
    assert optimum is not None
    assert 0.5 <= greedy.value / optimum < 0.51
    assert guarantee_of(one).factor == 0.5


def test_clusters_are_connected_and_pairs_are_not() -> None:
    chain = (("q3", "q4"), ("q4", "q5"))
    assert connect(chain) == [["q3", "q4", "q5"]]
    assert len(pick_greedily(problem(6, conflicts=chain)).items) == 4
    # q5 is picked first and rules out q4 only; the other end of the chain may stay
    assert len(pick_greedily(problem(6, conflicts=chain, conflict_mode="pairwise")).items) == 5


@settings(max_examples=60)
@given(worlds(most=8))
def test_the_solver_finds_what_trying_every_set_finds(world: tuple[Inputs, int]) -> None:
    try:
        one = split(*world)[""]
        picks = fill(one).picks
    except Refusal:
        return
    upper = tighten(one, picks.items, bound_online(one, picks.items), SelectionRules(dual_rounds=2))
    optimum = solve(one, picks.items, upper)
    assert optimum.proven
    assert optimum.value == best_sets(one)
    assert one.allows(optimum.items)


def test_fixing_leaves_fewer_items_and_the_limit_is_said() -> None:
    rng = np.random.default_rng(3)
    scores = np.rint(rng.random((300, 10)) * 10) / 10 * (rng.random((300, 10)) < 0.4)
    matrix = build_matrix([f"q{i:03}" for i in range(300)], list("abcdefghij"), scores, np.ones(10))
    one = split(Inputs(matrix), 6)[""]
    choice = choose(one, improve=True)
    left = survivors(one, choice.picks.items, choice.tight)
    assert len(left) < 300
    with pytest.raises(UsageError, match="too many for an exact solution"):
        solve(one, choice.greedy.items, choice.online, SelectionRules(exact_items=5))
    optimum = solve(one, choice.picks.items, choice.tight)
    assert optimum.proven
    assert choice.greedy.value <= choice.picks.value <= optimum.value <= choice.tight.value


@given(st.integers(0, 60), st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1))
def test_shares_add_up_and_stay_within_one_of_the_ideal(total: int, shares: dict[str, int]) -> None:
    counts = apportion(total, shares)
    assert sum(counts.values()) == total
    whole = sum(shares.values())
    assert all(abs(counts[name] - total * share / whole) < 1 for name, share in shares.items())


def test_scarce_domains_give_their_places_to_others() -> None:
    assert apportion(10, {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 50, "c": 50}) == {"a": 1, "b": 5, "c": 4}
    with pytest.raises(Refusal, match="only 2 are eligible"):
        apportion(3, {"a": 1}, {"a": 2})


def test_places_go_to_the_domain_that_gains_most() -> None:
    assert share_by_gain(3, {"art": [5.0, 1.0], "law": [4.0, 3.0]}) == {"art": 1, "law": 2}
    assert share_by_gain(1, {"b": [1.0], "a": [1.0]}) == {"a": 1, "b": 0}
    assert share_by_gain(1, {"art": [5.0], "law": [4.0]}) == {"art": 1, "law": 0}
    with pytest.raises(Refusal, match="only 1 can be picked"):
        share_by_gain(2, {"a": [1.0]})


def test_a_budget_bounds_each_stratum_and_can_be_filled() -> None:
    supply = {"law": {"tax": 1, "civil": 9, "penal": 9}, "art": {"music": 2}}
    rows = {(q.domain, q.stratum): q for q in make_budget({"law": 8, "art": 2}, supply)}
    assert (rows["law", "tax"].lower, rows["law", "tax"].upper) == (1, 4)
    assert rows["law", "civil"].k == 8
    assert rows["art", "music"].upper == 3
    tight = make_budget({"law": 2}, {"law": {"x": 1, "y": 5, "z": 3}})
    assert [(q.stratum, q.lower) for q in tight] == [("x", 0), ("y", 1), ("z", 1)]
    lopsided = make_budget({"law": 10}, {"law": {"x": 1, "y": 20}})
    assert lopsided[1].upper == 9
    spread = SelectionRules(stratum_ceiling=1, stratum_spread=1.5)
    assert [q.upper for q in make_budget({"law": 3}, {"law": {"x": 9, "y": 9}}, spread)] == [3, 3]


def test_a_proportional_quota_leaves_room_on_both_sides_of_a_share() -> None:
    bounds = [(q.stratum, q.lower, q.upper) for q in proportional(3, {"y": 1, "x": 1, "z": 2})]
    assert bounds == [("x", 0, 1), ("y", 0, 1), ("z", 1, 2)]
    with pytest.raises(Refusal, match="3 items asked for, but only 2"):
        proportional(3, {"x": 2})


def test_random_sets_have_the_same_strata_and_lose_to_the_selection() -> None:
    rng = np.random.default_rng(0)
    ids = [f"q{i:02}" for i in range(60)]
    matrix = build_matrix(ids, list("uvwxyz"), rng.random((60, 6)) ** 3, np.ones(6))
    strata = {item: item[-1] for item in ids}
    document = select(Inputs(matrix), 6)
    parts = [one.item_ids for one in document.domains]
    random = draw_random(matrix, parts, [strata], frozenset(), document.objective, draws=50, seed=1)
    assert random.least <= random.mean <= random.most < document.objective
    assert random.gain == pytest.approx(document.objective / random.mean - 1)
    again = draw_random(matrix, parts, [strata], frozenset(), document.objective, draws=50, seed=1)
    assert again == random
    # a stratum as small as the selection leaves nothing to chance
    only = draw_random(matrix, [["q00"]], [{"q00": "x"}], frozenset(), 1.0, draws=5, seed=0)
    assert only.least == only.most


def test_gaps_are_ordered_by_what_they_are_worth_and_name_who_closes_them() -> None:
    support = {"a": {"u": 1.0, "v": 0.2}, "b": {"v": 0.9}, "c": {"v": 0.7}, "d": {"w": 0.1}}
    gaps = find_gaps(matrix_of(support, {"u": 1, "v": 2, "w": 1}), ["a"], exclude=["d"])
    assert [(gap.anchor_id, gap.gap, gap.closers) for gap in gaps] == [
        ("v", pytest.approx(1.6), ("b", "c")),
        ("w", 1.0, ()),
    ]


def test_must_include_items_in_conflict_are_named() -> None:
    pairs = sort_pairs([("q0", "q1")])
    with pytest.raises(Refusal, match="'q0' and 'q1' are in conflict"):
        problem(3, conflicts=pairs, must=frozenset({"q0", "q1"}))
    with pytest.raises(Refusal, match="exceed the upper quota of stratum 'a'"):
        problem(3, strata=HALVES, quotas=(Quota(stratum="a", upper=1),), must=frozenset({"q0", "q1"}))
    with pytest.raises(Refusal, match="2 must-include items but only 1"):
        problem(1, must=frozenset({"q0", "q1"}))


@settings(deadline=None, max_examples=40)
@given(worlds(most=7), st.sampled_from([1, 2]))
def test_exact_finds_the_optimum_and_its_bound_is_ours(world: tuple[Inputs, int], folds: int) -> None:
    inputs, size = world
    posed = split(inputs, size)[""]
    best = best_sets(posed.folded(folds))
    if best is None:
        return
    chosen = choose(posed, exact=True, folds=folds)
    assert chosen.picks.value == best <= chosen.tight.value
    found = select(inputs, size, exact=True, folds=folds)
    assert verify(found, inputs).holds
    assert (found.certificate.tightest.ratio == 1) == (found.certificate.tightest.steps == best)
