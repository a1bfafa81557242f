"""Kinds of files, known by their first bytes or by the form of a row; one guard around files of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kina_build.errors import InputError


@dataclass(frozen=True)
class Kind:
    """A kind of file, and what to do with one."""

    name: str
    """With its article: "a Parquet file"."""
    hint: str


SAVE_AS = "save it as CSV (UTF-8) or JSON Lines"

SIGNATURES: tuple[tuple[bytes, Kind], ...] = (
    (b"PAR1", Kind("a Parquet file", "`kina import` and tables of rows read Parquet; give rows here")),
    (b"ARROW1", Kind("an Arrow file", SAVE_AS)),
    (b"SQLite format 3\x00", Kind("an SQLite database", "a ledger is given with --ledger")),
    (b"PK\x03\x04", Kind("a zip container (such as .npz, .xlsx or .eval)", SAVE_AS)),
    (b"\xd0\xcf\x11\xe0", Kind("an old Office file (such as .xls)", SAVE_AS)),
    (b"\x28\xb5\x2f\xfd", Kind("a zstd file", "unpack it first: zstd -d")),
    (b"BZh", Kind("a bzip2 file", "unpack it first: bunzip2")),
    (b"\xfd7zXZ\x00", Kind("an xz file", "unpack it first: unxz")),
    (b"%PDF", Kind("a PDF", SAVE_AS)),
    (b"\x80\x04\x95", Kind("a Python pickle", "pickles are never read: " + SAVE_AS)),
    (b"\x93NUMPY", Kind("a NumPy array", SAVE_AS)),
    (b"\xff\xfe", Kind("UTF-16 text", "save the file as UTF-8")),
    (b"\xfe\xff", Kind("UTF-16 text", "save the file as UTF-8")),
)


def name_kind(head: bytes) -> Kind | None:
    """Name a file that is no UTF-8 text by its first bytes; None where they say nothing."""
    return next((kind for mark, kind in SIGNATURES if head.startswith(mark)), None)


def _is_columns(row: Mapping[str, Any]) -> bool:
    columns = list(row.values())
    return bool(columns) and all(isinstance(c, dict) and c.keys() == columns[0].keys() for c in columns)


def _is_flat_argilla(row: Mapping[str, Any]) -> bool:
    return any(f"{key}.users" in row for key in row if key.endswith(".responses"))


def _is_nested_argilla(row: Mapping[str, Any]) -> bool:
    return {"fields", "responses"} <= row.keys() and isinstance(row["responses"], dict)


def _is_doccano(row: Mapping[str, Any]) -> bool:
    label = row.get("label")
    texts = isinstance(label, list) and all(isinstance(one, str) for one in label)
    return texts and "text" in row and isinstance(row.get("id"), int)


READS = "`kina review settle --reviews` and `kina review agreement` read its reviews"
LABEL_STUDIO = Kind("an export of Label Studio", READS)
LABEL_STUDIO_MIN = Kind("an export of Label Studio (JSON_MIN)", READS)
ARGILLA = Kind("an export of Argilla (flat)", READS)
ARGILLA_NESTED = Kind(
    "an export of Argilla that does not say which responses were submitted",
    "export it with records.to_list(flatten=True)",
)
PRODIGY = Kind("an export of Prodigy", READS)
DOCCANO = Kind("an export of doccano", READS)

FORMS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Kind], ...] = (
    (lambda row: "annotations" in row and "data" in row, LABEL_STUDIO),
    (lambda row: {"annotation_id", "annotator"} <= row.keys(), LABEL_STUDIO_MIN),
    (_is_flat_argilla, ARGILLA),
    (_is_nested_argilla, ARGILLA_NESTED),
    (lambda row: {"_input_hash", "_task_hash", "answer"} <= row.keys(), PRODIGY),
    (_is_doccano, DOCCANO),
    (
        lambda row: {"columns", "index", "data"} <= row.keys() or {"schema", "data"} == set(row),
        Kind("a data frame of pandas by its parts", "export it with orient='records'"),
    ),
    (
        lambda row: {"eval", "samples"} <= row.keys(),
        Kind("a log of Inspect", "see `kina results` for logs of other tools"),
    ),
    (
        lambda row: {"doc_id", "resps", "filtered_resps"} <= row.keys(),
        Kind("samples of lm-evaluation-harness", "see `kina results` for logs of other tools"),
    ),
    (
        lambda row: {"features", "rows"} <= row.keys(),
        Kind("a page of the Hub's data viewer", "take the objects under rows[].row"),
    ),
    (_is_columns, Kind("a data frame of pandas by columns", "export it with orient='records'")),
)
"""What other tools write, by the keys of a row."""


def name_form(row: Mapping[str, Any]) -> Kind | None:
    """Name the tool that writes rows of this form; None where it is not known."""
    return next((kind for fits, kind in FORMS if fits(row)), None)


@contextmanager
def reading_as(name: str, kind: str) -> Iterator[None]:
    """Turn what trips the reader of a foreign form into one line: the file only begins like it.

    Raises:
        InputError: a field is missing, or of another type than the form says.
    """
    try:
        yield
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{name}: begins like {kind}, but goes on in another form") from error


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
