"""Every option that takes a file: given as a file, on stdin, through a pipe, and twice."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.soak import commands, trial, world
from tests.soak.commands import Reader

PARTS = 4

Way = tuple[Reader, int]
"""A line, and the place of a word in it that names a file."""


def ways(folder: Path) -> list[Way]:
    """List one line for each option and argument of each command that takes a file."""
    found: dict[tuple[str, str], Way] = {}
    for reader in commands.readers(folder):
        for place, word in enumerate(reader.words):
            if word in reader.read and (folder / word).is_file() and word not in reader.written:
                found.setdefault((reader.command, _option(reader, place)), (reader, place))
    return [found[key] for key in sorted(found)]


def _option(reader: Reader, place: int) -> str:
    before = reader.words[place - 1]
    return before if before.startswith("-") else f"argument {place}"


def outcome(
    reader: Reader, folder: Path, here: Path, place: int, way: str
) -> tuple[int, Mapping[str, bytes], str]:
    """Run a line with one of its files given in some way; return its code, its outputs and what it said."""
    here.mkdir()
    with contextlib.chdir(here):
        for name in commands.needed(reader, folder):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / name, name)
        words, stdin = list(reader.words), Path(reader.stdin).read_bytes() if reader.stdin else b""
        with _given(words, place, way) as fed:
            done = world.invoke(words, fed if fed is not None else stdin)
        made = [p for p in Path().rglob("out*") if p.is_file() and not p.name.endswith(UNLIKE)]
        shown = {p.as_posix(): _anonymous(p.read_bytes(), reader.words[place]) for p in made}
        return done.exit_code, shown, done.stderr


UNLIKE = (".manifest.json", ".db", ".payees.json", ".key", ".mark")
"""Names of outputs that differ from run to run: a ledger has a key of its own."""


def _anonymous(raw: bytes, name: str) -> bytes:
    """Blot out the names of files: a corpus is told apart by it, a selection says what it was made from."""
    if raw.startswith(b"{") and b'"seal"' in raw:
        found = json.loads(raw)
        return json.dumps(
            {key: value for key, value in found.items() if key not in ("seal", "files")}
        ).encode()
    for known in (name, "-", "in.pipe"):
        raw = raw.replace(f'"{known}"'.encode(), b'"IT"')
    return raw


@contextlib.contextmanager
def _given(words: list[str], place: int, way: str) -> Iterator[bytes | None]:
    raw = Path(words[place]).read_bytes()
    if way == "stdin":
        words[place] = "-"
        yield raw
    elif way == "pipe":
        os.mkfifo("in.pipe")
        words[place] = "in.pipe"
        # the folder is left before a pipe that nobody reads is given up
        threading.Thread(target=_feed, args=(Path("in.pipe").absolute(), raw), daemon=True).start()
        yield None
    elif way == "twice":
        words[place:place] = [words[place], *([words[place - 1]] if words[place - 1].startswith("-") else [])]
        yield None
    else:
        yield None


def _feed(pipe: Path, raw: bytes) -> None:
    # not to be created where the folder is gone already
    with contextlib.suppress(OSError), open(os.open(pipe, os.O_WRONLY), "wb") as file:  # noqa: PTH123
        file.write(raw)


@pytest.mark.parametrize("part", range(PARTS))
def test_stdin_and_pipes_bring_what_the_file_brings_or_are_refused(
    small: Path,
    tmp_path: Path,
    part: int,
) -> None:
    wrong = []
    for number, (reader, place) in enumerate(ways(small)[part::PARTS]):
        code, outputs, _ = outcome(reader, small, tmp_path / f"{number}", place, "file")
        for way in ("stdin", "pipe"):
            if way == "stdin" and reader.stdin:
                continue  # stdin is taken by another option
            got, made, said = outcome(reader, small, tmp_path / f"{number}-{way}", place, way)
            same = (got, made) == (code, outputs) and trial.FAULT not in said
            refused = got == 2 and not made and "error: " in said and trial.FAULT not in said
            if not (same or refused):
                wrong.append((reader.line, reader.words[place], way, got, said[:300]))
    assert wrong == []


def test_a_file_given_twice_is_refused(small: Path, tmp_path: Path) -> None:
    silent = []
    for number, (reader, place) in enumerate(ways(small)):
        code, made, said = outcome(reader, small, tmp_path / str(number), place, "twice")
        if code != 2 or made or trial.FAULT in said:
            silent.append((reader.line, reader.words[place], code, said[:200]))
    assert silent == []
