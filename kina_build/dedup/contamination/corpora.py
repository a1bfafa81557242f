"""Other corpora: any files and folders, as a stream of texts, and as questions where they hold some.

A corpus is looked through for questions that stand in it, so nothing of it is refused
for being no good question: a row without a key keeps its options, a row whose options
cannot be told, or that asks for a free answer, is compared as text. Only what holds no
text at all is left out, and counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from kina_build.dedup.contamination.packed import Tally
from kina_build.dedup.contamination.running import Text
from kina_build.dedup.contamination.stream import list_files, read_stream
from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.importing.assemble import Draft, draft_items
from kina_build.items.importing.binaryrows import find_data_files
from kina_build.items.importing.columns import find_columns
from kina_build.items.importing.files import read_items, read_raw
from kina_build.items.importing.identity import assign_ids
from kina_build.items.importing.keycolumns import Reading
from kina_build.items.importing.rawfile import RawFile, look_up, unwrap
from kina_build.items.model import Item, content_id
from kina_build.items.pool import read_pool
from kina_build.items.questions import is_pool
from kina_build.rows.jsonl import read_bytes, read_json, read_text
from kina_build.rows.outputs import refuse_strangers
from kina_build.rows.source import STREAM, is_stream

RELEASE = "release.json"
"""The file by which a folder that `kina export` wrote is known; it names the splits."""

BYTES_A_BYTE = 40
"""Memory that a byte of a corpus takes once its questions are read and folded (measured, with room)."""

NO_COLUMNS: Mapping[str, str] = MappingProxyType({})

TEXT_COLUMNS = ("text", "content")
"""Where corpora of plain texts keep them."""


@dataclass(frozen=True)
class Texts:
    """Texts to be compared with, and how many rows held none."""

    items: tuple[Item, ...]
    """With unique ids; FILE:ID where there are several files."""
    unread: int = 0


def read_questions(path: Path) -> list[Item]:
    """Read what shall be checked: a pool, a release folder, or any file of questions.

    Raises:
        InputError: missing, empty or unreadable file.
        RowErrors: rows that are no questions.
    """
    if path == STREAM or is_pool(path):
        return read_pool(path)
    if (path / RELEASE).is_file() or path.suffix.lower() == ".txt":
        return list(read_texts(path).items)
    result = read_items(path)
    if result.rejects:
        faults = [RowFault(str(path), reject.line or 1, reject.message) for reject in result.rejects]
        raise RowErrors(faults, hint="`kina import --keep-going` writes the rows that can be read")
    if not result.items:
        raise InputError(f"{path}: holds no questions")
    return list(result.items)


def read_texts(path: Path, told: Mapping[str, str] = NO_COLUMNS, *, plain: bool = True) -> Texts:
    """Read a corpus: a pool, any file of questions or texts, a folder of such, a release, a .txt file.

    Args:
        path: the file or folder.
        told: item field to column, for files that name their columns in their own way.
        plain: whether running text and rows of plain text are read too, or questions only.

    Raises:
        InputError: missing or empty file, no column that holds a question, or no text at all.
        UsageError: a column that no row has.
    """
    if path == STREAM:
        return Texts(tuple(read_pool(path)))
    if not path.is_dir():
        texts = _read_file(path, told, plain=plain)
    else:
        files = _splits(path) if (path / RELEASE).is_file() else find_data_files(path)
        parts = {file: _read_file(file, told, plain=plain) for file in files}
        items = [
            item if len(parts) == 1 else item.model_copy(update={"item_id": f"{file.stem}:{item.item_id}"})
            for file, part in parts.items()
            for item in part.items
        ]
        texts = Texts(_with_unique_ids(items), sum(part.unread for part in parts.values()))
    if not texts.items:
        raise InputError(f"{path}: holds no text")
    return texts


@dataclass(frozen=True)
class Corpus:
    """What a pool is compared with."""

    items: tuple[Item, ...]
    """Its questions and paragraphs, to be compared as questions; empty where it is only looked through."""
    texts: Callable[[Tally], Iterator[Text]]
    """Begin to read all its texts, and count them."""
    size: int
    """Bytes of its files."""


def open_corpus(
    path: Path, room: float = math.inf, told: Mapping[str, str] = NO_COLUMNS, *, near: bool = True
) -> Corpus:
    """Open a corpus; its questions are read if they fit in memory, its texts are never held.

    Args:
        path: a file or folder of any form.
        room: bytes that its questions may take.
        told: as read_texts.
        near: whether near copies are looked for: without, plain text tells nothing that its letters do
            not.

    Raises:
        InputError: missing, or something else than a pool on standard input.
    """
    files = _splits(path) if path.is_dir() and (path / RELEASE).is_file() else list_files(path)
    size = sum(0 if is_stream(file) else _size_of(file) for file in files)
    items: tuple[Item, ...] = ()
    if path == STREAM:
        items = read_texts(path).items
    elif size * BYTES_A_BYTE <= room:
        with suppress(InputError, RowErrors):
            items = read_texts(path, told, plain=near).items
    names = {file: file.relative_to(path).as_posix() if path.is_dir() else "" for file in files}
    return Corpus(items, partial(_stream, names), size)


def _stream(names: Mapping[Path, str], tally: Tally) -> Iterator[Text]:
    for file, name in names.items():
        yield from read_stream(file, tally, name)


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise InputError(
            f"{file}: {error.strerror}", hint="check the path and the folder you are in"
        ) from None


def of_items(items: Iterable[Item]) -> Corpus:
    """Make a corpus of items that are in memory."""
    kept = tuple(items)

    def texts(tally: Tally) -> Iterator[Text]:
        for item in kept:
            tally.texts += 1
            parts = [item.question_material or "", item.question, *(option.answer for option in item.options)]
            yield Text(item.item_id, 0, "\n".join(parts))

    return Corpus(kept, texts, 0)


def _read_file(path: Path, told: Mapping[str, str], *, plain: bool) -> Texts:
    if path.suffix.lower() == ".txt":
        return Texts(tuple(_paragraphs(path)) if plain else ())
    if is_pool(path):
        return Texts(tuple(read_pool(path)))
    raw = unwrap(read_raw(read_bytes(path), path.name, path.suffix.lower()))
    # rows are numbered: all rows of one JSON document may stand on one line
    numbered = tuple(replace(row, line=number) for number, row in enumerate(raw.rows))
    if (column := _text_column(raw, told)) is not None:
        texts = _as_texts(raw, column) if plain else []
        return Texts(_with_unique_ids(texts), len(raw.rejects) + len(raw.rows) - len(texts))
    reading = Reading(columns=told)
    made = draft_items(replace(raw, rows=numbered), reading)
    refused = {reject.line: reject.reason for reject in made.rejects}
    keyless = [row for row in numbered if refused.get(row.line) == "no_key"]
    found = [
        *(draft.item for draft in made.drafts),
        *_without_key(replace(raw, rows=tuple(keyless)), reading),
    ]
    others = tuple(row for row in numbered if row.line in refused.keys() - {row.line for row in keyless})
    column = find_columns(raw, told).fields.get("question")
    if column is None:
        raise InputError(f"{path}: no column of it holds questions")
    texts = _as_texts(replace(raw, rows=others), column)
    unread = len(raw.rejects) + len(raw.rows) - len(found) - len(texts)
    return Texts(_with_unique_ids([*found, *texts]), unread)


def _without_key(file: RawFile, reading: Reading) -> list[Item]:
    """Read questions that give no key, as a private split does: a made-up one is put in and taken out."""
    if not file.rows:
        return []
    rows = tuple(replace(row, values={**row.values, "answer": "A"}) for row in file.rows)
    made = draft_items(replace(file, rows=rows), reading)
    return [draft.item.model_copy(update={"correct_answer": ""}) for draft in made.drafts]


def _text_column(file: RawFile, told: Mapping[str, str]) -> str | None:
    """Return the column of a corpus of plain texts; None where a column holds questions."""
    if "question" in find_columns(file, told).fields:
        return None
    return next((column for column in TEXT_COLUMNS if column in file.columns), None)


def _as_texts(file: RawFile, column: str) -> list[Item]:
    """Take one cell of each row as it stands: a question's options and all."""
    texts = [look_up(row.values, column) for row in file.rows]
    return [
        _text(content_id(text, [], "", None), text)
        for text in texts
        if isinstance(text, str) and text.strip()
    ]


def _text(item_id: str, text: str) -> Item:
    return Item(item_id=item_id, question=text, options=(), correct_answer="")


def _with_unique_ids(items: Sequence[Item]) -> tuple[Item, ...]:
    """Count ids up that stand on several rows; which row gets which does not depend on their order."""
    unique, _ = assign_ids([Draft(item, "", 0, own_id=False) for item in items])
    return tuple(unique)


def _splits(folder: Path) -> list[Path]:
    refuse_strangers(folder)
    try:
        splits = sorted(map(str, read_json(folder / RELEASE)["counts"]))
    except (InputError, KeyError, TypeError):
        splits = []
    if not splits or not all(map(str.isidentifier, splits)):  # a name is part of a path
        raise InputError(f"{folder / RELEASE}: names no splits", hint="`kina verify` checks a release")
    return [folder / f"{split}.jsonl" for split in splits]


def _paragraphs(path: Path) -> list[Item]:
    texts = [text.strip() for text in re.split(r"\n\s*\n", read_text(path).replace("\r\n", "\n"))]
    return [_text(f"{path.stem}:{number}", text) for number, text in enumerate(texts, start=1) if text]
