"""Import: any file of questions to items and rejects; rows in = items + rejects, always."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, UsageError
from kina_build.items.importing.assemble import LEVELS, TEXT_FIELDS, Draft, draft_items
from kina_build.items.importing.binaryrows import (
    find_data_files,
    is_workbook,
    read_arrow,
    read_parquet,
    read_workbook,
)
from kina_build.items.importing.columns import KNOWN_NAMES
from kina_build.items.importing.identity import assign_ids, name_versions, prefixed
from kina_build.items.importing.keycolumns import Reading, key_form
from kina_build.items.importing.quizzes import read_quiz
from kina_build.items.importing.rawfile import Decoded, RawFile, Reject, decode
from kina_build.items.importing.textrows import read_delimited, read_json, read_jsonl
from kina_build.items.options import Format, KeyWord
from kina_build.items.pool import Pool
from kina_build.items.text import fold_name
from kina_build.progress import Progress, collector_paused, silent
from kina_build.rows.source import open_source

SUFFIXES: Mapping[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".arrow": "arrow", ".xlsx": "xlsx", ".gift": "quiz", ".xml": "quiz",
}  # fmt: skip


PARTS = 100
"""Steps of progress a file."""

SETTABLE = (*LEVELS, *TEXT_FIELDS)
"""Item fields that may take one value for all rows."""


@dataclass(frozen=True)
class Layout:
    """How files are laid out, as far as the user says; everything else is found out and stated."""

    format: Format = "auto"
    encoding: str | None = None
    delimiter: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """Item field to column (several, comma-separated, for options); "" for none."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Item field or metadata.NAME to a value for all rows."""
    name_as: str | None = None
    """Item field that takes the file's name without suffix."""
    cut_prefix: str = ""
    """Beginning of file names that is no part of the value of `name_as`."""
    prefix_ids: bool = False
    """Put the file's name before each of its own ids, so that files may number alike."""
    key_form: KeyWord = "auto"
    several_keys: bool = False
    """Take items with several right answers; else such rows are refused."""
    parallel: bool = False
    """The files hold the same items in several languages: by their own ids, else row by row."""


def read_items(path: Path, source: Layout = Layout()) -> Pool:
    """Read one file, or a dataset folder, of questions.

    Raises:
        InputError: the file cannot be read at all: missing, not decodable, no known layout.
        UsageError: the options ask for a field or a column that does not exist.
    """
    return read_all([path], source)


def read_all(paths: Sequence[Path], source: Layout = Layout(), on_progress: Progress = silent) -> Pool:
    """Read several files into one pool; ids are unique over all of them.

    Args:
        paths: files, or dataset folders.
        source: what the user says about them.
        on_progress: told of hundredths of files: one file is 100 of them, however large.

    Raises:
        InputError: as read_items, for the first file that cannot be read.
    """
    with collector_paused():
        return _read_all(paths, source, on_progress)


def _read_all(paths: Sequence[Path], source: Layout, on_progress: Progress) -> Pool:
    _check_constants([*source.constants, *([source.name_as] if source.name_as else [])])
    files = [one for path in paths for one in ([path] if not path.is_dir() else find_data_files(path))]
    drafts: list[Draft] = []
    rejects: list[Reject] = []
    detected: list[dict[str, Any]] = []
    for number, path in enumerate(files):
        given = open_source(path)
        raw = read_raw(given.data, display_name(path), given.suffix, source)
        made = draft_items(raw, _reading(source, path.stem), _within(on_progress, number, len(files)))
        versions = name_versions(raw, made.drafts) if source.parallel else made.drafts
        own = [prefixed(draft, path.stem) if source.prefix_ids else draft for draft in versions]
        drafts += own
        rejects += [*raw.rejects, *made.rejects]
        counts = {"items": len(made.drafts), "rejects": len(raw.rejects) + len(made.rejects)}
        detected.append({"file": raw.name, "columns": raw.columns, **raw.detected, **made.stated, **counts})
    on_progress(PARTS * len(files), PARTS * len(files))
    items, repeated = assign_ids(drafts)
    rejects += repeated
    return Pool(tuple(items), tuple(sorted(rejects, key=_place)), _merge(detected))


def find_rows(paths: Sequence[Path], source: Layout = Layout()) -> dict[str, tuple[str, ...]]:
    """Return the places, FILE:LINE, that each item of some files stands at; equal rows share an id.

    Raises:
        InputError: as read_items, for the first file that cannot be read.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    files = [one for path in paths for one in ([path] if not path.is_dir() else find_data_files(path))]
    for path in files:
        given = open_source(path)
        raw = read_raw(given.data, display_name(path), given.suffix, source)
        for draft in draft_items(raw, _reading(source, path.stem)).drafts:
            own = prefixed(draft, path.stem) if source.prefix_ids else draft
            found[own.item.item_id].append(f"{own.file}:{own.line}")
    return {item_id: tuple(places) for item_id, places in found.items()}


def read_raw(raw: bytes, name: str, suffix: str, source: Layout = Layout()) -> RawFile:
    """Read a file's bytes into rows.

    Raises:
        InputError: empty file, or bytes that are not of the format.
    """
    kind = source.format if source.format != "auto" else SUFFIXES.get(suffix, "auto")
    if not raw.strip():
        raise InputError(f"{name}: the file is empty")
    binary = _read_binary(raw, name, kind, source)
    if binary is not None:
        return binary
    decoded = decode(raw, name, source.encoding)
    if not decoded.text.strip():
        raise InputError(f"{name}: the file is empty")
    return _read_text(decoded, name, suffix, kind, source)


def _read_binary(raw: bytes, name: str, kind: Format, source: Layout) -> RawFile | None:
    if kind == "parquet" or (kind == "auto" and raw.startswith(b"PAR1")):
        return read_parquet(raw, name)
    if kind == "arrow":
        return read_arrow(raw, name)
    if kind == "xlsx" or (kind == "auto" and is_workbook(raw)):
        return read_workbook(raw, name, KNOWN_NAMES | _mapped(source))
    return None


def _read_text(decoded: Decoded, name: str, suffix: str, kind: Format, source: Layout) -> RawFile:
    if kind in ("json", "jsonl", "auto") and decoded.text.lstrip()[:1] in ("{", "["):
        return _read_json_like(decoded, name, kind)
    if kind in ("json", "jsonl"):
        return read_jsonl(decoded, name)
    quiz = (
        read_quiz(decoded, name, suffix, several=source.several_keys)
        if kind in ("auto", "quiz") and not source.delimiter
        else None
    )
    if quiz is not None:
        return quiz
    if kind == "quiz":
        raise InputError(f"{name}: neither Aiken nor GIFT nor Moodle XML")
    delimiter = source.delimiter or ("\t" if kind == "tsv" else None)
    return read_delimited(decoded, name, delimiter, KNOWN_NAMES | _mapped(source))


def display_name(path: Path) -> str:
    """Name a file in outputs: as the user wrote it, but never by an absolute path."""
    return path.name if path.is_absolute() else path.as_posix()


def _within(on_progress: Progress, number: int, files: int) -> Progress:
    """Return what reports rows of one file as parts of all files."""
    return lambda done, total: on_progress(PARTS * number + PARTS * done // total, PARTS * files)


def _reading(source: Layout, stem: str) -> Reading:
    constants = dict(source.constants)
    if source.name_as:
        constants[source.name_as] = stem.removeprefix(source.cut_prefix)
    return Reading(source.columns, constants, key_form(source.key_form), source.several_keys)


def _check_constants(names: Sequence[str]) -> None:
    for name in names:
        if name not in SETTABLE and not name.startswith("metadata."):
            raise UsageError(f"cannot set {name!r}", hint=f"one of: {', '.join(SETTABLE)}, metadata.NAME")


def _read_json_like(decoded: Decoded, name: str, kind: Format) -> RawFile:
    """Read JSON or JSON Lines by what the text is: suffixes lie, one object a line does not."""
    text = decoded.text.strip()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    whole = sum(line.startswith("{") and line.endswith("}") for line in lines)
    if text.startswith("[") or (len(lines) == 1 and kind != "jsonl"):
        return read_json(decoded, name)
    if kind == "jsonl" or whole * 2 > len(lines):
        return read_jsonl(decoded, name)
    return read_json(decoded, name)


def _mapped(source: Layout) -> frozenset[str]:
    return frozenset(fold_name(one) for column in source.columns.values() for one in column.split(",") if one)


def _merge(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """State what all files share, beside what was found in each."""
    merged: dict[str, Any] = {}
    for name in ("format", "encoding", "delimiter", "header", "columns", "mapping", "keys"):
        values = [file.get(name) for file in files]
        merged[name] = values[0] if values and all(value == values[0] for value in values) else None
    return merged | {"files": list(files)}


def _place(reject: Reject) -> tuple[str, int, str]:
    return reject.file, reject.line, reject.reason
