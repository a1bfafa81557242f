"""Rows of a CSV, TSV or JSON Lines file one by one, as `read_table` reads them all at once."""

from __future__ import annotations

import gzip
import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.jsonl import iter_rows, parse_lines
from kina_build.rows.source import GZIP, head_of, open_file
from kina_build.tables import JSON_SUFFIXES, PARQUET, Row, csv_rows, open_csv, read_table


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
