from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from kina_build.errors import SHOWN_FAULTS, InputError, RowErrors
from kina_build.rows.jsonl import (
    canonical,
    iter_rows,
    read_document,
    read_records,
    read_text,
    write_document,
    write_records,
    write_text,
    writing,
)


class Lamp(BaseModel):
    name: str
    watts: int


def test_records_come_back_as_written(tmp_path: Path) -> None:
    lamps = [Lamp(name="desk\u2028lamp", watts=5), Lamp(name="Straße", watts=60)]
    assert write_records(tmp_path / "lamps.jsonl", lamps) == 2
    assert read_records(tmp_path / "lamps.jsonl", Lamp) == lamps


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.booleans()))
def test_a_line_is_one_line_whatever_the_text(row: dict[str, object]) -> None:
    assert "\n" not in canonical(row)


def test_every_fault_names_file_line_and_field(tmp_path: Path) -> None:
    path = tmp_path / "lamps.jsonl"
    path.write_text('{"name": "a", "watts": 1}\n\n{"name": "b"}\n{"name": \n[1]\n')
    with pytest.raises(RowErrors) as caught:
        read_records(path, Lamp)
    assert [(fault.line, fault.message) for fault in caught.value.faults] == [
        (3, "watts: Field required"),
        (4, "column 10: Expecting value"),
        (5, "not a JSON object"),
    ]
    assert str(caught.value).startswith(f"{path}:3: watts: Field required")


def test_many_faults_are_counted_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "lamps.jsonl"
    path.write_text("nonsense\n" * 50)
    with pytest.raises(RowErrors, match="and 30 more faulty rows") as caught:
        list(iter_rows(path))
    assert str(caught.value).count("\n") == SHOWN_FAULTS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"ab\xff", "byte 2 is not UTF-8"),
        (b"\xef\xbb\xbfab\xff", "byte 5 is not UTF-8"),
    ],
)
def test_unreadable_text_says_why(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_text(tmp_path / "x")


def test_missing_file_and_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_text(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is a folder"):
        read_text(tmp_path)


def test_document_faults_name_the_field(tmp_path: Path) -> None:
    (tmp_path / "lamp.json").write_text('{"name": 3, "watts": 1}')
    with pytest.raises(InputError, match="lamp.json: name: Input should be a valid string"):
        read_document(tmp_path / "lamp.json", Lamp)
    (tmp_path / "lamp.json").write_text('{"name":\n oops}')
    with pytest.raises(InputError, match=r"lamp.json:2: column 2"):
        read_document(tmp_path / "lamp.json", Lamp)


def test_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    write_text(target, "old")
    with pytest.raises(ZeroDivisionError), writing(target) as out:
        out.write(b"half %d" % (1 // 0))
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_write_into_an_unwritable_place_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot write"):
        write_document(tmp_path / "file" / "below.json", {"a": 1})


def test_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    write_text(target, "old")
    script = (
        "import sys\nfrom pathlib import Path\nfrom kina_build.rows.jsonl import writing\n"
        "with writing(Path(sys.argv[1])) as out:\n"
        "    out.write(b'half'); out.flush(); print('in', flush=True); sys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script, str(target)], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in\n"
        os.kill(child.pid, signal.SIGKILL)
    assert target.read_text() == "old"


def test_new_files_obey_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "out.txt", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o640
