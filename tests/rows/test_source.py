"""Sources: read once, known by what was read, whatever brought the bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from pydantic import BaseModel

from kina_build.errors import InputError, RowErrors
from kina_build.rows.source import (
    CHUNK_BYTES,
    digest_of,
    is_stream,
    open_file,
    open_source,
    reading,
    set_limits,
)
from kina_build.rows.strict import IntakeRules
from kina_build.rows.tables import Row, read_table, read_typed


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Return a named pipe into which one row is written once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(b'{"item_id":"a"}\n'), daemon=True).start()
    return path


def values(rows: list[Row]) -> list[dict[str, object]]:
    return [row.values for row in rows]


def test_a_pipe_is_read_once_for_all_readers(pipe: Path) -> None:
    with reading():
        assert values(read_table(pipe)) == values(read_table(pipe)) == [{"item_id": "a"}]
        assert digest_of(pipe).sha256 == hashlib.sha256(b'{"item_id":"a"}\n').hexdigest()
        copy = open_file(pipe)
        assert copy.read_bytes() == b'{"item_id":"a"}\n'
    assert not copy.exists()


def test_stdin_is_read_once_for_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"item_id\na\n")))
    with reading():
        assert values(read_table(Path("-"))) == values(read_table(Path("-"))) == [{"item_id": "a"}]


def test_a_file_that_changes_between_two_readings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item_id\na\n")
    with reading():
        read_table(tmp_path / "a.csv")
        (tmp_path / "a.csv").write_text("item_id\nb\n")
        with pytest.raises(InputError, match="changed while it was being read"):
            read_table(tmp_path / "a.csv")
    assert values(read_table(tmp_path / "a.csv")) == [{"item_id": "b"}]


def test_gzip_is_unpacked_and_known_by_its_packed_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(b"item_id\na\n")
    (tmp_path / "a.csv.gz").write_bytes(packed)
    source = open_source(tmp_path / "a.csv.gz")
    assert (source.suffix, source.digest.sha256) == (".csv", hashlib.sha256(packed).hexdigest())
    assert values(read_table(tmp_path / "a.csv.gz")) == [{"item_id": "a"}]
    (tmp_path / "cut.gz").write_bytes(packed[:-9])
    with pytest.raises(InputError, match=r"cut\.gz: not a readable gzip file"):
        read_table(tmp_path / "cut.gz")


def test_what_is_no_file_is_one_line(tmp_path: Path) -> None:
    for path, text in ((tmp_path, "is a folder"), (tmp_path / "none", "no such file")):
        with pytest.raises(InputError, match=text):
            open_source(path)
    with pytest.raises(InputError, match="null"):
        open_source(Path("a\0b"))
    assert not is_stream(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"item_id":"a"}', [(1, "a")]),
        ('\n{"item_id":"a"}\n\n{"item_id":"b"}\n', [(2, "a"), (4, "b")]),
        ('[{"item_id":"a"},\n {"item_id":"b"}]', [(1, "a"), (2, "b")]),
        ('{\n "item_id": "a"\n}\n', [(1, "a")]),
        ("item_id\na\nb\n", [(2, "a"), (3, "b")]),
        ("\ufeffitem_id;x\na;1\n", [(2, "a")]),
        ("[x],item_id\n1,a\n", [(2, "a")]),
    ],
)
@pytest.mark.parametrize("name", ["rows", "rows.csv", "rows.txt"])
def test_the_content_tells_the_format(
    tmp_path: Path, name: str, text: str, rows: list[tuple[int, str]]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    if text.startswith("[x]") and name != "rows.csv":
        return  # only the suffix can say that a bracket begins a header
    assert [(row.line, row.values["item_id"]) for row in read_table(tmp_path / name)] == rows


def test_parquet_is_a_table_too(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"item_id": ["a", "b"], "x": [1.5, float("nan")]}), tmp_path / "t.csv")
    assert values(read_table(tmp_path / "t.csv")) == [{"item_id": "a", "x": 1.5}, {"item_id": "b"}]


class Wanted(BaseModel):
    item_id: str


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('[{"id": 1, "data": {}, "annotations": []}]', "an export of Label Studio"),
        (
            '{"question": {"0": "a", "1": "b"}, "key": {"0": "A", "1": "B"}}',
            "a data frame of pandas by columns",
        ),
        ('{"doc_id": 0, "resps": [], "filtered_resps": []}', "samples of lm-evaluation-harness"),
    ],
)
def test_files_of_other_tools_are_named(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(RowErrors) as caught:
        read_typed(tmp_path / "t.json", Wanted)
    assert kind in caught.value.hint


@pytest.mark.parametrize("head", [b"PK\x03\x04", b"SQLite format 3\x00", b"\xff\xfea\x00"])
def test_binary_files_are_named(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(head + b"rest")
    with pytest.raises(InputError, match=r"t\.csv: is .*, not text"):
        read_table(tmp_path / "t.csv")


def test_a_read_sets_aside_what_is_there_and_not_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"b"))
    tracemalloc.start()
    assert [open_source(tmp_path / name).data for name in ("a.txt", "b.txt.gz")] == [b"a", b"b"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * CHUNK_BYTES


def test_a_file_beyond_the_limit_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abcd")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"abcd"))
    with reading():
        set_limits(IntakeRules(file_bytes=30))
        assert open_source(tmp_path / "a.txt").data == b"abcd"
        set_limits(IntakeRules(file_bytes=4))
        assert open_source(tmp_path / "a.txt").data == b"abcd"
        set_limits(IntakeRules(file_bytes=3))
        with pytest.raises(InputError, match=r"a\.txt: larger than 3 bytes"):
            open_source(tmp_path / "a.txt")
