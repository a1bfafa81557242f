from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_build.config import DedupRules, EngineRules
from kina_build.dedup.search.faiss import flat_pairs
from kina_build.dedup.search.kept import IndexFile, check_index, read_index
from kina_build.dedup.search.place import Place
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.encode.kept import Reuse
from kina_build.errors import ConfigError, InputError, Refusal
from tests.dedup.test_scan import skewed


@given(n=st.integers(0, 160), seed=st.integers(0, 50), threshold=st.sampled_from([0.3, 0.6, 0.9, 1.0]))
def test_faiss_finds_the_pairs_of_the_exact_scan(n: int, seed: int, threshold: float) -> None:
    vectors = skewed(n, 24, seed) if n else np.empty((0, 24), np.float32)
    found, exact = flat_pairs(vectors, threshold), pairs_above(vectors, threshold)
    assert found.left.tolist() == exact.left.tolist()
    assert found.right.tolist() == exact.right.tolist()
    assert found.cosines.tolist() == exact.cosines.tolist()


def test_more_rows_than_are_looked_up_at_once() -> None:
    vectors = skewed(1300, 24, 1)
    found, exact = flat_pairs(vectors, 0.8), pairs_above(vectors, 0.8)
    assert (found.left.tolist(), found.right.tolist()) == (exact.left.tolist(), exact.right.tolist())


def test_what_the_exact_scan_refuses_is_refused() -> None:
    with pytest.raises(InputError, match="vector 1 has length"):
        flat_pairs(np.array([[1, 0], [0, 0]], dtype=np.float32), 0.5)
    with pytest.raises(Refusal, match="more than 2 pairs"):
        flat_pairs(np.tile(np.array([[1, 0]], np.float32), (3, 1)), 0.5, DedupRules(pair_limit=2))


def kept_in(path: Path, keys: Sequence[bytes], encoder: bytes = b"e" * 32) -> IndexFile:
    return IndexFile(path, encoder, keys, Reuse())


def names(rows: Sequence[int]) -> list[bytes]:
    return [f"{row:032}".encode() for row in rows]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(0, 30), st.integers(0, 10))
def test_what_is_added_finds_what_a_scan_of_all_finds(seed: int, old: int, new: int, gone: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(old + new, 8)).astype(np.float32)
    rows[rng.random(len(rows)) < 0.3] = rows[:1]  # equal ones among them
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    keys = [row.tobytes() for row in rows]
    order = rng.permutation(len(rows))[min(gone, max(0, old + new - 1)) :]
    expected = pairs_above(rows[order], 0.6)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pool.index"
        kept_in(path, keys[:old]).pairs(rows[:old], 0.5, scan=pairs_above)
        later = kept_in(path, [keys[row] for row in order])
        with suppress(InputError):  # where nothing of the index is left, it is of another pool
            found = later.pairs(rows[order], 0.6, scan=never)
            assert [found.left.tolist(), found.right.tolist(), found.cosines.tolist()] == [
                expected.left.tolist(),
                expected.right.tolist(),
                expected.cosines.tolist(),
            ]
            again = read_index(path, b"e" * 32)
            assert again.keys == tuple(keys[row] for row in order)


def never(*_: object) -> Pairs:
    raise AssertionError("all rows are compared")


def test_an_index_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path, rows = tmp_path / "pool.index", np.eye(4, 8, dtype=np.float32)
    kept_in(path, names(range(4))).pairs(rows, 0.8, scan=pairs_above)
    with pytest.raises(InputError, match="of another encoder"):
        kept_in(path, names(range(4)), b"f" * 32).pairs(rows, 0.8, scan=never)
    with pytest.raises(InputError, match="of another pool"):
        kept_in(path, names(range(7, 9))).pairs(rows[:2], 0.8, scan=never)
    with pytest.raises(InputError, match="not what the encoder gives now"):
        kept_in(path, names(range(4))).pairs(rows[::-1], 0.8, scan=never)
    with pytest.raises(InputError, match="index is damaged"):
        kept_in(path, names(range(4))).pairs(np.eye(4, 9, dtype=np.float32), 0.8, scan=never)
    lower = kept_in(path, names(range(4)))
    assert len(lower.pairs(rows, 0.5, scan=pairs_above)) == 0
    assert "kept for cosines from 0.8" in lower.reuse.notes[0]
    sound = path.read_bytes()
    path.write_bytes(sound.replace(names([3])[0], names([5])[0]))
    with pytest.raises(InputError, match=r"pool\.index"):
        kept_in(path, names(range(4))).pairs(rows, 0.5, scan=never)
    path.write_text("my thesis")
    with pytest.raises(InputError):
        check_index(path, b"e" * 32, forced=True)


@pytest.mark.parametrize(("search", "index"), [("faiss", None), ("auto", Path("pool.index"))])
def test_vectors_that_do_not_fit_are_told_before_they_are_encoded(search: str, index: Path | None) -> None:
    rules, engine = DedupRules.model_validate({"search": search}), EngineRules(memory_mb=2000)
    assert Place(engine, Path(), index=index).room(1000, 384, rules) > 0
    with pytest.raises(ConfigError, match="FAISS holds them all"):
        Place(engine, Path(), index=index).room(10**8, 384, rules)
