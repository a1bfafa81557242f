"""Rows of a CSV, TSV or JSON Lines file one by one, as `read_table` reads them all at once."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.tables import DELIMITERS, JSON_SUFFIXES, Row


def iter_table(path: Path) -> Iterator[Row]:
    """Yield the rows of a table; the suffix decides how it is read.

    Raises:
        InputError: missing file, text that is not UTF-8, a repeated column.
        RowErrors: lines that are no rows; all of them, raised after the last line.
    """
    return iter_json(path) if path.suffix.lower() in JSON_SUFFIXES else _iter(path, "", _csv_rows)


def iter_json(path: Path) -> Iterator[Row]:
    """Yield the rows of a JSON Lines file, whatever its suffix.

    Raises:
        InputError: missing file, or text that is not UTF-8.
        RowErrors: lines that are not JSON objects; all of them, raised after the last line.
    """
    # only "\n" ends a JSON line
    return _iter(path, "\n", _json_rows)


def _iter(
    path: Path, newline: str, parse: Callable[[Iterator[str], list[RowFault], Path], Iterator[Row]]
) -> Iterator[Row]:
    faults: list[RowFault] = []
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield from parse(file, faults, path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="check the path and the folder you are in") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 throughout", hint="save the file as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if faults:
        raise RowErrors(faults, hint="each line must be one row")


def _json_rows(lines: Iterator[str], faults: list[RowFault], path: Path) -> Iterator[Row]:
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            values = json.loads(text.removesuffix("\n"))
        except json.JSONDecodeError as error:
            faults.append(RowFault(str(path), line, f"column {error.colno}: {error.msg}"))
            continue
        if isinstance(values, dict):
            yield Row(line, values)
        else:
            faults.append(RowFault(str(path), line, "not a JSON object"))


def _csv_rows(lines: Iterator[str], faults: list[RowFault], path: Path) -> Iterator[Row]:
    header = next(lines, "")
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader(itertools.chain([header], lines), delimiter=delimiter)
    columns = [column.strip() for column in next(reader, [])]
    if len(set(columns)) != len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"{path}:1: column {twice!r} stands more than once in the header")
    line = reader.line_num + 1
    for cells in reader:
        if len(cells) > len(columns):
            faults.append(RowFault(str(path), line, f"{len(cells)} cells but {len(columns)} columns"))
        elif any(cells):
            yield Row(line, {c: v for c, v in zip(columns, cells, strict=False) if v != ""})
        line = reader.line_num + 1
