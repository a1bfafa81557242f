"""Parquet and Arrow files that are damaged, cut, odd or too large are one line that names them."""

from __future__ import annotations

import io
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kina_build.errors import InputError
from kina_build.items.importing.binaryrows import read_arrow, read_parquet
from kina_build.rows import kinds
from kina_build.selection.labels import read_labels

ROWS = {"id": [f"q{n}" for n in range(50)], "question": ["Which?"] * 50, "n": list(range(50))}


def parquet(columns: Any = ROWS) -> bytes:
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), out)
    return out.getvalue()


def arrow(columns: Any = ROWS) -> bytes:
    out = io.BytesIO()
    table = pa.table(columns)
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


@pytest.mark.parametrize(
    "raw", [b"", b"PAR1", b"PAR1" + b"\0" * 40 + b"PAR1", b"id,question\n", parquet()[:200]]
)
def test_what_is_no_parquet_is_one_line(raw: bytes) -> None:
    with pytest.raises(InputError, match=r"^p\.parquet: not a readable Parquet file: .+$"):
        read_parquet(raw, "p.parquet")


def test_flipped_bytes_are_read_or_refused() -> None:
    draw = random.Random(5)
    for raw, read in ((parquet(), read_parquet), (arrow(), read_arrow)):
        for _ in range(300):
            place = draw.randrange(len(raw))
            spoilt = raw[:place] + bytes([raw[place] ^ (1 << draw.randrange(8))]) + raw[place + 1 :]
            with suppress(InputError):
                read(spoilt, "x")


def test_one_column_twice_is_refused() -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["question", "question"])
    with pytest.raises(InputError, match="'question' stands more than once"):
        read_parquet(parquet(table), "p.parquet")


def test_values_out_of_all_ranges_are_one_line() -> None:
    far = pa.array([2**62], type=pa.timestamp("s"))
    with pytest.raises(InputError, match=r"^p\.parquet: "):
        read_arrow(arrow({"question": far}), "p.parquet")


def test_more_rows_than_can_be_read_are_refused_before_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_ROWS", 49)
    for raw, read in ((parquet(), read_parquet), (arrow(), read_arrow)):
        with pytest.raises(InputError, match="x: says to hold 50 rows; at most 49"):
            read(raw, "x")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"item_id": ["a"], "stratum": [np.nan]}, "stratum holds NaN"),
        ({"item_id": ["a"], "stratum": [["x"]]}, "not a readable Parquet file"),
        ({"item_id": [1.5], "stratum": ["x"]}, "not a readable Parquet file"),
        ({"item_id": ["a"], "stratum": [b"\xff"]}, "not a readable Parquet file"),
        ({"item_id": ["a", None], "stratum": ["x", "y"]}, "row 2: item_id or stratum is missing"),
        ({"item_id": ["a", "a"], "stratum": ["x", "y"]}, "'a' has two labels"),
        ({"question": ["a"]}, "needed columns"),
    ],
)
def test_labels_of_odd_types_are_one_line(tmp_path: Path, columns: dict[str, Any], said: str) -> None:
    path = tmp_path / "labels.parquet"
    path.write_bytes(parquet(columns))
    with pytest.raises(InputError, match=said) as refused:
        read_labels(path, "stratum")
    assert refused.value.message.startswith(f"{path}: ")
    assert "\n" not in refused.value.message
