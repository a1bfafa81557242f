"""Support matrices that people bring: each fault is one line, told before anything large is loaded."""

from __future__ import annotations

import io
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.errors import InputError
from kina_build.rows.npz import look_at, read_arrays
from kina_build.rows.strict import IntakeRules
from kina_build.support.matrix import build_matrix
from kina_build.support.npz import read_support, write_support
from kina_build.support.storage import open_support

Arrays = dict[str, Any]


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    matrix = build_matrix(["q1", "q2", "q3"], ["u", "v"], np.array([[0.5, 0], [1, 0.2], [0, 0]]), np.ones(2))
    write_support(tmp_path / "s.npz", matrix)
    with np.load(tmp_path / "s.npz") as stored:
        return dict(stored)


def put(name: str, value: Any) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.__setitem__(name, np.array(value))


CASES: dict[str, tuple[Callable[[Arrays], Any], str]] = {
    "two scales": (put("scale", [100, 200]), "scale: not one whole number"),
    "scale of 0": (put("scale", 0), "scale: not one whole number above 0"),
    "scale of text": (put("scale", "1000"), "scale: not one whole number"),
    "scale is NaN": (put("scale", np.nan), "scale: not one whole number"),
    "row too few": (lambda a: a.update(levels=a["levels"][:-1]), r"levels: of shape \(2, 2\)"),
    "one row of levels": (lambda a: a.update(levels=a["levels"][0]), r"levels: of shape \(2,\)"),
    "NaN": (lambda a: a.update(levels=a["levels"] + np.nan), "levels: of type float"),
    "below 0": (lambda a: a.update(levels=a["levels"].astype(np.int32) - 1), "outside 0 to 1000"),
    "above scale": (lambda a: a.update(levels=a["levels"] + np.uint16(1)), "outside 0 to 1000"),
    "big-endian": (lambda a: a.update(levels=a["levels"].astype(">u2")), "order of bytes"),
    "unsorted ids": (lambda a: a.update(item_ids=a["item_ids"][::-1]), "item_ids: not sorted"),
    "an id twice": (put("item_ids", [b"q1", b"q1", b"q3"]), "item_ids: not sorted, or one stands twice"),
    "ids that are numbers": (put("item_ids", [1, 2, 3]), "item_ids: not a row of texts"),
    "ids that are no UTF-8": (put("item_ids", [b"q1", b"q2", b"\xff"]), "can't decode"),
    "anchors unsorted": (put("anchor_ids", ["v", "u"]), "anchor_ids: not sorted"),
    "weight too few": (put("weights", [1]), "weights: not one whole number for each anchor"),
    "weight below 0": (put("weights", [1, -1]), "weights: one is below 0"),
    "weights of fractions": (put("weights", [0.5, 0.5]), "weights: not one whole number"),
    "sums beyond 2^53": (put("weights", [2**50, 2**50]), "too large for exact sums"),
    "objects": (put("item_ids", [{"a": 1}] * 3), "item_ids: holds objects"),
    "no weights": (lambda a: a.pop("weights"), "weights: missing"),
    "wide ids": (put("item_ids", [b"q1", b"q2", b"q" * 20_000]), "item_ids: values of 20000 bytes"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "on disk"])
def test_a_fault_is_one_line(arrays: Arrays, tmp_path: Path, case: str, parts: bool) -> None:
    spoil, message = CASES[case]
    spoil(arrays)
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InputError, match=message) as caught:
        open_support(tmp_path / "t.npz", 4000, shared=True) if parts else read_support(tmp_path / "t.npz")
    assert caught.value.message.startswith(str(tmp_path / "t.npz"))
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_whole_numbers_of_any_width_and_ids_as_text_are_read(arrays: Arrays, tmp_path: Path) -> None:
    arrays.update(levels=arrays["levels"].astype(np.int64), item_ids=arrays["item_ids"].astype(str))
    np.savez(tmp_path / "t.npz", **arrays)
    one, two = read_support(tmp_path / "s.npz"), read_support(tmp_path / "t.npz")
    assert (one.item_ids, one.levels.tolist()) == (two.item_ids, two.levels.tolist())
    assert open_support(tmp_path / "t.npz", 4000, shared=True).levels[:].tolist() == one.levels.tolist()


def test_a_small_file_cannot_ask_for_much_memory(arrays: Arrays, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.npz"
    arrays["item_ids"] = np.zeros(3, "S8000000")
    np.savez_compressed(bomb, **arrays)
    assert bomb.stat().st_size < 100_000
    tracemalloc.start()
    for read in (read_support, lambda path: open_support(path, 4000)):
        with pytest.raises(InputError, match="levels: compressed, 140 bytes in"):
            read(bomb)
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


SHAPES = ["(10**15,)", "(1000000000000000,)", "(-1,)", "(3, 3)", "(((((", "-" * 5000 + "1"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore")  # numpy's, about headers of Python 2
def test_a_header_that_promises_more_than_there_is(tmp_path: Path, shape: str) -> None:
    header = "{'descr': '<u2', 'fortran_order': False, 'shape': " + shape + "}\n"
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(12)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("levels.npy", raw)
    with pytest.raises(InputError, match="not a sound .npz file"):
        look_at(tmp_path / "t.npz", ["levels"])


def test_arrays_that_do_not_fit_in_memory_are_refused_unread(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", a=np.zeros(1000), b=np.zeros(1000))
    stored = list(look_at(tmp_path / "t.npz", ["a", "b"]).values())
    with pytest.raises(InputError, match="take 0 MB of memory, more than the 0 MB"):
        read_arrays(stored, 15_999)
    with pytest.raises(InputError, match="more than"):
        read_arrays(stored, rules=IntakeRules(npz_bytes=15_999))
    assert [one.sum() for one in read_arrays(stored, 16_000)] == [0, 0]


def test_an_array_there_twice_is_refused(tmp_path: Path) -> None:
    raw = io.BytesIO()
    np.save(raw, np.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            for _ in range(2):
                archive.writestr("a.npy", raw.getvalue())
    with pytest.raises(InputError, match="a: there twice"):
        look_at(tmp_path / "t.npz", ["a"])


def test_a_byte_that_changed_is_told_by_the_checksum_whether_levels_are_loaded_or_mapped(
    arrays: Arrays, tmp_path: Path
) -> None:
    path = tmp_path / "s.npz"
    raw = bytearray(path.read_bytes())
    raw[look_at(path, ["levels"])["levels"].offset] ^= 1
    path.write_bytes(raw)
    for read in (read_support, lambda path: open_support(path, 4000, shared=True)):
        with pytest.raises(InputError, match="Bad CRC-32"):
            read(path)
