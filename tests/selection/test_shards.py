"""Levels on disk: the same selections and verdicts as in memory, whatever the parts."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_build.config import EngineRules, SelectionRules
from kina_build.engine import open_engine
from kina_build.errors import InputError, Refusal
from kina_build.rows.jsonl import dump_document
from kina_build.selection.beside.draws import find_gaps
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import split
from kina_build.selection.solver.greedy import pick_greedily
from kina_build.selection.solver.growing import Room
from kina_build.selection.solver.shards import Shards
from kina_build.selection.verifier.verify import verify
from kina_build.support import levels as level_files
from kina_build.support.levels import FileLevels
from kina_build.support.matrix import SupportMatrix, build_matrix
from kina_build.support.npz import write_support
from kina_build.support.storage import open_support
from tests.selection.test_verify import story
from tests.selection.worlds import worlds

QUICK = SelectionRules(dual_rounds=3, dual_steps=20, search_rounds=5, block_items=2)


def write_parts(folder: Path, matrix: SupportMatrix, part_of: Sequence[int]) -> SupportMatrix:
    """Write each item into its part; open the folder so that the levels stay on disk."""
    folder.mkdir(exist_ok=True)
    for part in sorted(set(part_of)):
        rows = [row for row, at in enumerate(part_of) if at == part]
        ids = tuple(matrix.item_ids[row] for row in rows)
        write_support(folder / f"{part}.npz", replace(matrix, item_ids=ids, levels=matrix.levels[rows]))
    return open_support(folder, 4000, shared=True)


@settings(max_examples=80)
@given(worlds(most=10), st.randoms(use_true_random=False), st.integers(1, 4), st.booleans())
def test_a_selection_does_not_know_where_its_levels_lie(world, random, count: int, improve: bool) -> None:
    inputs, size = world
    part_of = [random.randrange(count) for _ in inputs.matrix.item_ids]
    with tempfile.TemporaryDirectory() as folder:
        parted = replace(inputs, matrix=write_parts(Path(folder), inputs.matrix, part_of))
        assert isinstance(parted.matrix.levels, FileLevels)
        outcomes = []
        for one in (inputs, parted):
            try:
                chosen = select(one, size, QUICK, improve=improve, allow_shortfall=True)
            except Refusal as error:
                outcomes.append(error.message)
                continue
            outcomes.append(dump_document(chosen))
            assert verify(chosen, one).holds
            assert find_gaps(one.matrix, chosen.item_ids) == find_gaps(inputs.matrix, chosen.item_ids)
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("improve", [False, True])
def test_domains_are_cut_from_parts_without_reading_them_whole(tmp_path: Path, improve: bool) -> None:
    inputs, chosen = story(improve)
    parted = replace(inputs, matrix=write_parts(tmp_path, inputs.matrix, [row % 3 for row in range(24)]))
    assert select(parted, improve=improve) == chosen
    assert verify(chosen, parted).holds
    assert isinstance(split(parted, None)["art"].matrix.levels, FileLevels)


def test_a_large_pool_is_selected_alike_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 11, (30_000, 8)) / 10 * (rng.random((30_000, 8)) < 0.2)
    ids = [f"q{row:05}" for row in range(30_000)]
    matrix = build_matrix(ids, list("abcdefgh"), levels, np.arange(1.0, 9.0), scale=10)
    assert matrix.levels.dtype == np.uint8
    strata = {item_id: f"s{row % 7}" for row, item_id in enumerate(ids)}
    whole = Inputs(matrix, strata=strata, exclude=frozenset(ids[:50]), conflicts=(("q00100", "q00200"),))
    wanted = select(whole, 40)
    monkeypatch.setattr(level_files, "CHUNK_BYTES", 4_096)
    parted = replace(whole, matrix=write_parts(tmp_path, matrix, [row // 9_000 for row in range(30_000)]))
    assert len(parted.matrix.levels.pieces) > 50
    assert select(parted, 40) == wanted
    assert verify(wanted, parted).holds


def test_a_shard_that_was_lost_answers_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    anchors = [f"u{at:02}" for at in range(40)]
    scores = rng.random((200, 40))
    matrix = build_matrix([f"q{i:03}" for i in range(200)], anchors, scores, np.ones(40))
    parted = write_parts(tmp_path, matrix, [row % 4 for row in range(200)])
    problem = split(Inputs(matrix), 20)[""]
    wanted = pick_greedily(problem).items
    with open_engine(EngineRules(workers=2)) as engine:
        shards = Shards(parted.levels, engine, QUICK)
        room = Room(problem)
        pursuit = shards.begin(problem, room)
        picks: list[int] = []
        for _ in range(20):
            pursuit._kept = Shards(parted.levels, engine, QUICK)._kept  # all shards built anew
            picks.append(pursuit.best(problem.cover(picks), room))
            room.take(picks[-1])
    assert tuple(picks) == wanted


def test_parts_of_different_supports_are_refused(tmp_path: Path) -> None:
    one = build_matrix(["a", "b"], ["u", "v"], np.eye(2), np.ones(2))
    write_parts(tmp_path, one, [0, 1])
    write_support(tmp_path / "2.npz", build_matrix(["c"], ["u", "w"], np.ones((1, 2)), np.ones(2)))
    with pytest.raises(InputError, match=r"2\.npz: other anchors"):
        open_support(tmp_path, 4000)
    write_support(tmp_path / "2.npz", replace(one, item_ids=("b", "c")))
    with pytest.raises(InputError, match="item_id 'b' stands in two parts"):
        open_support(tmp_path, 4000)


def test_a_folder_without_parts_and_too_little_memory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no parts"):
        open_support(tmp_path, 4000)
    write_support(tmp_path / "a.npz", build_matrix(["a"], ["u"], np.ones((1, 1)), np.ones(1)))
    with pytest.raises(Refusal, match="too little") as caught:
        open_support(tmp_path, 1)
    least = int(caught.value.hint.split()[1])
    assert open_support(tmp_path, least).item_ids[0] == "a"
    with pytest.raises(Refusal, match="too little"):
        open_support(tmp_path, least - 1)


def test_levels_on_disk_are_read_like_an_array(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    matrix = build_matrix([f"q{i}" for i in range(9)], list("ab"), rng.random((9, 2)), np.ones(2))
    levels = write_parts(tmp_path, matrix, [0, 1, 0, 1, 2, 2, 0, 1, 1]).levels
    assert levels.shape == matrix.levels.shape
    assert levels.nbytes == matrix.levels.nbytes
    for rows in (3, slice(2, 7), np.array([8, 0, 3]), [1, 1]):
        assert (levels[rows] == matrix.levels[rows]).all()
    some = levels.take(np.array([1, 4, 8]))
    assert (some[:] == matrix.levels[[1, 4, 8]]).all()
    assert (some.take(np.array([0, 2]))[:] == matrix.levels[[1, 8]]).all()
