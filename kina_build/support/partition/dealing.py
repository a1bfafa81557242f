"""Rows of files larger than memory, dealt out to one file for each part of the items."""

from __future__ import annotations

import gzip
import io
import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.jsonl import iter_rows
from kina_build.rows.objects import parse_lines
from kina_build.rows.source import GZIP, head_of, open_file
from kina_build.rows.tables import JSON_SUFFIXES, PARQUET, Row, csv_rows, open_csv, read_table

ROWS_AT_ONCE = 20_000
"""Rows held before they are written."""


class Dealer:
    """Append each row to the file of its item's part, and note on which line it stood.

    Lines are noted so that an error in a part's file can be told of the file people know.
    """

    def __init__(self, folder: Path, kind: str, firsts: Sequence[str]) -> None:
        """Start with no rows.

        Args:
            folder: where the files go.
            kind: what they are called: KIND-00000.jsonl.
            firsts: least item_id of each part, rising.
        """
        # workers elsewhere have a folder of their own to start from
        folder = folder.absolute()
        self.paths = tuple(folder / f"{kind}-{number:05}.jsonl" for number in range(len(firsts)))
        """One a part; a part without rows has none."""
        self._firsts = firsts
        self._waiting: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self._count = 0
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{kind}-*"):
            old.unlink()

    def deal(self, item_id: str, text: str, line: int) -> None:
        """Take one row: JSON without a line end."""
        # an id before the first one belongs to no part; whoever reads the first part will say so
        number = max(0, bisect_right(self._firsts, item_id) - 1)
        self._waiting[number].append((text, line))
        self._count += 1
        if self._count % ROWS_AT_ONCE == 0:
            self.put_down()

    def put_down(self) -> None:
        """Write the rows that are held."""
        for number, rows in self._waiting.items():
            with self.paths[number].open("ab") as out:
                out.write("".join(text + "\n" for text, _ in rows).encode())
            with lines_of(self.paths[number]).open("ab") as out:
                out.write(np.array([line for _, line in rows], dtype="<i8").tobytes())
        self._waiting.clear()


def lines_of(path: Path) -> Path:
    """Return the file of the lines on which the rows of a part's file stood."""
    return path.with_suffix(".lines")


def read_lines(path: Path) -> list[int]:
    """Return the lines on which the rows of a part's file stood."""
    lines: list[int] = np.fromfile(lines_of(path), dtype="<i8").tolist()
    return lines


def iter_table(path: Path) -> Iterator[Row]:
    """Yield the rows of a table; the content decides how it is read.

    Raises:
        InputError: missing file, text that is not UTF-8, a repeated column.
        RowErrors: lines that are no rows; all of them, raised after the last line.
    """
    head = _head(path)
    if head.startswith(PARQUET):
        return iter(read_table(path))
    if head.startswith((b"{", b"[")) or path.suffix.lower() in JSON_SUFFIXES:
        return iter_json(path)
    return _iter(path, "", _csv_rows)


def iter_json(path: Path) -> Iterator[Row]:
    """Yield the rows of a JSON Lines file, whatever its suffix.

    Raises:
        InputError: missing file, or text that is not UTF-8.
        RowErrors: lines that are not JSON objects; all of them, raised after the last line.
    """
    if _head(path).startswith(b"["):  # an array cannot be read line by line
        return (Row(line, values, str(path)) for line, values in iter_rows(path))
    # only "\n" ends a JSON line
    return _iter(path, "\n", _json_rows)


def _head(path: Path) -> bytes:
    return head_of(path).removeprefix(b"\xef\xbb\xbf").lstrip()


def _iter(
    path: Path, newline: str, parse: Callable[[Iterator[str], list[RowFault], Path], Iterator[Row]]
) -> Iterator[Row]:
    faults: list[RowFault] = []
    try:
        with _opened(path, newline) as file:
            yield from parse(file, faults, path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="check the path and the folder you are in") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 throughout", hint="save the file as UTF-8") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if faults:
        raise RowErrors(faults, hint="each line must be one row")


@contextmanager
def _opened(path: Path, newline: str) -> Iterator[io.TextIOWrapper]:
    packed = head_of(path).startswith(GZIP)
    with (gzip.open if packed else open)(open_file(path), "rb") as file:
        yield io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline)


def _json_rows(lines: Iterator[str], faults: list[RowFault], path: Path) -> Iterator[Row]:
    objects = parse_lines((text.removesuffix("\n") for text in lines), str(path), faults)
    return (Row(line, values, str(path)) for line, values in objects)


def _csv_rows(lines: Iterator[str], faults: list[RowFault], path: Path) -> Iterator[Row]:
    header = next(lines, "")
    yield from csv_rows(open_csv(itertools.chain([header], lines), header), str(path), faults)
