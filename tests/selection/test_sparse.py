"""Levels kept as pairs: the same selection, certificate and verdict as from the plain array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_build.config import SelectionRules
from kina_build.errors import InputError
from kina_build.selection.beside.draws import find_gaps
from kina_build.selection.beside.saturation import draw_beside, survey
from kina_build.selection.domains import find_optimum, select
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import split
from kina_build.selection.records import Quota
from kina_build.selection.solver.greedy import pick_greedily
from kina_build.selection.solver.shortage import Infeasible
from kina_build.selection.verifier.verify import verify
from kina_build.support import sparse
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import read_support, write_support
from kina_build.support.sparse import SparseLevels, of_blocks
from kina_build.support.storage import open_support
from kina_build.support.weights import with_weights
from tests.selection.worlds import naive_greedy, worlds


def as_pairs(inputs: Inputs) -> Inputs:
    matrix = inputs.matrix
    return replace(inputs, matrix=replace(matrix, levels=of_blocks(matrix.levels.shape, [matrix.levels])))


def outcome(inputs: Inputs, size: int, rules: SelectionRules, **how: Any) -> str:
    try:
        return select(inputs, size, rules, **how).model_dump_json()
    except Infeasible as error:
        return str(error)


@settings(deadline=None, max_examples=60)
@given(worlds(), st.sampled_from([None, 1, 3]), st.booleans())
def test_pairs_give_the_bytes_of_the_plain_array(
    world: tuple[Inputs, int], folds: int | None, improve: bool
) -> None:
    inputs, size = world
    how: dict[str, Any] = {"folds": folds, "improve": improve, "allow_shortfall": True}
    plain = outcome(inputs, size, SelectionRules(), **how)
    assert outcome(as_pairs(inputs), size, SelectionRules(), **how) == plain
    compiled = SelectionRules(compiled_from_items=0)
    assert outcome(as_pairs(inputs), size, compiled, **how) == plain == outcome(inputs, size, compiled, **how)


@settings(deadline=None, max_examples=40)
@given(worlds())
def test_lazy_over_pairs_is_the_naive_greedy(world: tuple[Inputs, int]) -> None:
    inputs, size = world
    dense, pairs = split(inputs, size)[""], split(as_pairs(inputs), size)[""]
    assert list(pick_greedily(pairs).items)[: len(naive_greedy(dense))] == naive_greedy(dense)


def joined() -> tuple[Inputs, np.ndarray[Any, Any]]:
    """Draw forty items of two domains that a conflict joins, one level in eight above 0."""
    rng = np.random.default_rng(5)
    levels = np.where(rng.random((40, 16)) < 0.12, rng.integers(1, 1001, (40, 16)), 0).astype(np.uint16)
    ids = tuple(f"q{n:02}" for n in range(40))
    weights = rng.integers(1, 90, 16)
    matrix = SupportMatrix(ids, tuple(f"u{n:02}" for n in range(16)), levels, 1000, weights, 100)
    domains = {item_id: "ab"[n % 2] for n, item_id in enumerate(ids)}
    quotas = tuple(Quota(domain=name, stratum=name, k=6) for name in "ab")
    pairs = (("q00", "q01"), ("q02", "q03"), ("q02", "q04"))
    return Inputs(matrix, strata=domains, domains=domains, quotas=quotas, conflicts=pairs), levels


def test_joined_domains_verifier_optimum_and_figures_are_the_same() -> None:
    inputs, _ = joined()
    other = as_pairs(inputs)
    one, two = select(inputs), select(other)
    assert one.model_dump_json() == two.model_dump_json()
    assert verify(two, other).holds
    assert verify(one, other).holds
    assert find_optimum(one, inputs) == find_optimum(two, other)
    assert draw_beside(one, inputs, draws=20, seed=1) == draw_beside(two, other, draws=20, seed=1)
    assert survey(inputs.matrix, one.item_ids) == survey(other.matrix, one.item_ids)
    assert find_gaps(inputs.matrix, one.item_ids) == find_gaps(other.matrix, one.item_ids)
    worse = two.model_copy(update={"item_ids": tuple(reversed(two.item_ids))})
    assert verify(worse, other).faults == verify(worse, inputs).faults != ()


def test_pairs_read_like_the_array_they_stand_for() -> None:
    inputs, levels = joined()
    pairs = as_pairs(inputs).matrix.levels
    assert isinstance(pairs, SparseLevels)
    for key in (3, slice(2, 9), [5, 1], np.array([7, 7, 0]), levels[:, 0] > 0):
        np.testing.assert_array_equal(pairs[key], levels[key])
    np.testing.assert_array_equal(pairs[:, 2:5], levels[:, 2:5])
    np.testing.assert_array_equal(pairs[np.ix_([3, 1], [2, 0])], levels[np.ix_([3, 1], [2, 0])])
    np.testing.assert_array_equal(np.asarray(pairs), levels)
    for axis in (0, 1):
        np.testing.assert_array_equal(pairs.max(axis=axis), levels.max(axis=axis))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> SupportMatrix:
    """Let small supports be kept as pairs; return one of which one level in eight is above 0."""
    monkeypatch.setattr(sparse, "SPARSE_FROM", 1)
    monkeypatch.setattr(sparse, "DENSE_FROM", 0.5)
    return joined()[0].matrix


def test_a_file_of_pairs_is_what_was_written_and_parts_of_both_kinds_join(
    few: SupportMatrix, tmp_path: Path
) -> None:
    write_support(tmp_path / "plain.npz", few)
    found = read_support(tmp_path / "plain.npz")
    assert isinstance(found.levels, SparseLevels)
    write_support(tmp_path / "pairs.npz", found)
    again = read_support(tmp_path / "pairs.npz")
    np.testing.assert_array_equal(again.levels[:], few.levels)
    (tmp_path / "parts").mkdir()
    write_support(tmp_path / "parts" / "a.npz", few.take(np.arange(1, 40, 2)))
    write_support(tmp_path / "parts" / "b.npz", found.take(np.arange(0, 40, 2)))
    whole = open_support(tmp_path / "parts", 4000)
    np.testing.assert_array_equal(whole.levels[:], few.levels)
    assert Inputs(whole).digests == Inputs(few).digests == Inputs(again).digests
    weights = {a: float(w) for a, w in zip(few.anchor_ids, few.weights.tolist(), strict=True)} | {"u005": 3.0}
    wide = with_weights(again, weights, "a.csv")
    np.testing.assert_array_equal(wide.levels[:], with_weights(few, weights, "a.csv").levels)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: {"starts": s.starts[::-1].copy()},
        lambda s: {"columns": s.columns + 16},
        lambda s: {"columns": s.columns[::-1].copy()},
        lambda s: {"values": s.values * 0},
        lambda s: {"values": s.values[:-1]},
    ],
)
def test_pairs_that_are_not_sound_are_refused(few: SupportMatrix, tmp_path: Path, change: Any) -> None:
    pairs = of_blocks(few.levels.shape, [few.levels])
    write_support(tmp_path / "s.npz", replace(few, levels=replace(pairs, **change(pairs))))
    with pytest.raises(InputError, match="not a support matrix"):
        read_support(tmp_path / "s.npz")
