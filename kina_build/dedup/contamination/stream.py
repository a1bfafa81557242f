"""Any file or folder as a stream of texts: never held whole, whatever its form.

All strings of a row are one text, so that a question is found with its options in whatever
columns they stand. What cannot be read as its name promises is looked through as it stands.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from kina_build.dedup.contamination.packed import PACKED_SUFFIXES, Tally, decoded, unpacked
from kina_build.dedup.contamination.running import Text, running, unescaped
from kina_build.errors import InputError
from kina_build.rows.source import HEAD_BYTES, STREAM, head_of, open_file

JSON_BYTES = 1 << 26
"""Size up to which one JSON document is read whole; a larger one is looked through as it stands."""

ROWS_AT_ONCE = 256
FORMS = {
    ".jsonl": ".jsonl", ".ndjson": ".jsonl", ".json": ".json", ".txt": ".txt", ".csv": ".txt", ".tsv": ".txt",
    ".html": ".html", ".htm": ".html", ".xhtml": ".html", ".xml": ".html", ".md": ".html",
    ".markdown": ".html",
}  # fmt: skip
"""How files of a suffix are read."""


def list_files(path: Path) -> list[Path]:
    """List the files of a corpus in order of their names; hidden ones are left out."""
    if path == STREAM or not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def read_stream(path: Path, tally: Tally, name: str = "") -> Iterator[Text]:
    """Read the texts of one file.

    Args:
        path: of any form: rows (JSON Lines, Parquet), a JSON document, HTML, Markdown, text; also packed.
        tally: counts what was read.
        name: what places are told by; empty where the corpus is this file.

    Raises:
        InputError: missing, damaged, or packed in a way that needs a package that is not installed.
    """
    file = open_file(path)
    head = head_of(path)
    suffix = _suffix(path)
    if head.startswith(b"PAR1"):
        yield from _parquet(file, name, tally)
        return
    with unpacked(file, head, tally) as stream:
        start = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        lines = decoded(stream)
        if lines is None:
            tally.unread += 1
            return
        form = FORMS.get(suffix) or _form(start)
        if form == ".jsonl":
            yield from _json_lines(lines, name, tally)
        elif form == ".json":
            yield from _json(lines, name, tally)
        else:
            yield from running(lines, name, tally, marked=form == ".html")


def strings(value: Any) -> Iterator[str]:
    """Yield all strings and numbers of a value, however deep, in order; JSON in a string is read."""
    if isinstance(value, str):
        inner = _inner(value)
        yield from [value] if inner is None else strings(inner)
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _inner(text: str) -> Any:
    """Return the document that a string holds, None where it holds none."""
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]")) and '"' in text):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _suffix(path: Path) -> str:
    return (Path(path.stem) if path.suffix.lower() in PACKED_SUFFIXES else path).suffix.lower()


def _form(start: bytes) -> str:
    """Tell the form of a file whose name does not, by its first line."""
    first = start.lstrip().split(b"\n", 1)[0]
    if not first.startswith((b"{", b"[")):
        return ".txt"
    try:
        row = json.loads(first)
    except ValueError:
        return ".jsonl" if len(first) > HEAD_BYTES // 2 else ".json"
    return ".jsonl" if isinstance(row, dict) else ".json"


def _json(lines: IO[str], place: str, tally: Tally) -> Iterator[Text]:
    """Read one JSON document; what is none is read as JSON Lines, what is too large as it stands."""
    whole = lines.read(JSON_BYTES)
    if len(whole) == JSON_BYTES:
        return running(_Rejoined(whole, lines), place, tally, escaped=True)
    try:
        return _document(json.loads(whole), place, tally)
    except (ValueError, RecursionError):
        return _documents(whole, place, tally)


def _documents(whole: str, place: str, tally: Tally) -> Iterator[Text]:
    """Read what is no one document: JSON Lines, or documents one behind the other."""
    if _parsed(whole.lstrip().partition("\n")[0]) is not None:
        yield from _json_lines(io.StringIO(whole, newline="\n"), place, tally)
        return
    decoder, end, number = json.JSONDecoder(), 0, 0
    while rest := whole[end : end + HEAD_BYTES].lstrip():
        start = whole.index(rest[0], end)
        number += 1
        try:
            value, end = decoder.raw_decode(whole, start)
        except (ValueError, RecursionError):
            yield from running(io.StringIO(whole[start:]), place, tally, escaped=True)
            return
        yield from _row(value, place, number, tally)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _json_lines(lines: IO[str], place: str, tally: Tally) -> Iterator[Text]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            value = _parsed(line)
            yield from _row(unescaped(line) if value is None else value, place, number, tally)


def _document(value: Any, place: str, tally: Tally) -> Iterator[Text]:
    """Read one JSON document: its rows are the longest list in reach of its top."""
    if isinstance(value, dict):
        lists = [one for one in value.values() if isinstance(one, list) and len(one) > 1]
        rest = [one for one in value.values() if not any(one is row for row in lists)]
        rows = [row for one in lists for row in one] + rest
    else:
        rows = value if isinstance(value, list) else [value]
    for number, row in enumerate(rows, start=1):
        yield from _row(row, place, number, tally)


def _row(value: Any, place: str, number: int, tally: Tally) -> Iterator[Text]:
    text = "\n".join(strings(value))
    if text.strip():
        tally.texts += 1
        yield Text(place, number, text)
    else:
        tally.unread += 1


def _parquet(path: Path, place: str, tally: Tally) -> Iterator[Text]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield from _row(row, place, number, tally)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from None
    tally.add(path.stat().st_size)


class _Rejoined:
    """What was read already, and then the rest."""

    def __init__(self, start: str, rest: IO[str]) -> None:
        self._start, self._rest = io.StringIO(start), rest

    def read(self, count: int, /) -> str:
        return self._start.read(count) or self._rest.read(count)
