from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.encode.vectorfiles import VectorFiles, open_vectors, write_vectors
from kina_build.errors import InputError
from tests.dedup.test_scan import skewed


def sharded(folder: Path, vectors: np.ndarray, cuts: list[int]) -> VectorFiles:
    """Write vectors as files that end at the cuts."""
    paths = []
    for number, part in enumerate(np.split(vectors, sorted(cuts))):
        paths.append(folder / f"{number}.npy")
        write_vectors(paths[-1], part)
    return open_vectors(paths)


@given(
    cuts=st.lists(st.integers(0, 60), max_size=5),
    rows=st.lists(st.integers(0, 59), max_size=20),
    ends=st.tuples(st.integers(0, 70), st.integers(0, 70)),
)
def test_files_give_the_rows_that_the_array_gives(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], rows: list[int], ends: tuple[int, int]
) -> None:
    vectors = skewed(60, 5, 1)
    files = sharded(tmp_path_factory.mktemp("vectors"), vectors, cuts)
    assert files.shape == vectors.shape
    assert len(files) == 60
    assert np.array_equal(files[slice(*ends)], vectors[slice(*ends)])
    assert np.array_equal(files.part(*ends)[:], vectors[slice(*ends)])
    assert np.array_equal(files[rows], vectors[np.array(rows, dtype=int)])


def test_no_files_hold_no_rows() -> None:
    assert open_vectors([]).shape == (0, 0)


def test_what_are_no_vectors_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "double.npy", np.ones((2, 2)))
    np.save(tmp_path / "flat.npy", np.ones(4, np.float32))
    np.save(tmp_path / "columns.npy", np.asfortranarray(np.ones((2, 3), np.float32)))
    (tmp_path / "text.npy").write_text("hello")
    for name, said in [
        ("double", "holds float64"),
        ("flat", "not float32 rows"),
        ("columns", "not float32 rows"),
        ("text", "not a .npy file"),
        ("gone", "no such file"),
    ]:
        with pytest.raises(InputError, match=said):
            open_vectors([tmp_path / f"{name}.npy"])


def test_files_of_two_encoders_are_no_set(tmp_path: Path) -> None:
    write_vectors(tmp_path / "a.npy", skewed(3, 4, 1))
    write_vectors(tmp_path / "b.npy", skewed(3, 5, 1))
    with pytest.raises(InputError, match=r"b\.npy: vectors of dimension 5, those before have 4"):
        open_vectors([tmp_path / "a.npy", tmp_path / "b.npy"])


def test_a_file_cut_short_is_seen_when_opened_and_when_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    write_vectors(path, skewed(9, 4, 1))
    files = open_vectors([path])
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InputError, match="cut short"):
        files[0:9]
    with pytest.raises(InputError, match="cut short"):
        open_vectors([path])
