"""One guard around files of columns (Parquet, Arrow): what is damaged, odd or too large is one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kina_build.errors import InputError

MOST_ROWS = 20_000_000
"""Rows of one file read at once: each takes a kilobyte or more as an item."""


@contextmanager
def reading_columns(name: str, kind: str) -> Iterator[None]:
    """Turn what pyarrow raises on a damaged or odd file into one line.

    Raises:
        InputError: the file is damaged, of another kind, too large, or holds values out of all ranges.
    """
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise InputError(
            f"{name}: says to hold more than this machine's memory", hint="give its rows in several files"
        ) from None
    except (pa.ArrowException, OSError, ValueError, ArithmeticError, LookupError) as error:
        if isinstance(error, FileNotFoundError):
            raise InputError(
                f"{name}: no such file", hint="check the path and the folder you are in"
            ) from None
        raise InputError(f"{name}: not a readable {kind} file: {_first_line(error)}") from None


def check_rows(rows: int, name: str) -> None:
    """Refuse a file that says to hold more rows than can be read at once: a few bytes can say so.

    Raises:
        InputError: it does.
    """
    if rows > MOST_ROWS:
        raise InputError(
            f"{name}: says to hold {rows:,} rows; at most {MOST_ROWS:,} are read at once",
            hint="give its rows in several files",
        )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
