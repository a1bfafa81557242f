"""Rows to items: question, options, key; whatever else a row says goes to metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina_build.errors import InputError
from kina_build.items.importing.columns import Columns, find_columns
from kina_build.items.importing.keycells import is_blank
from kina_build.items.importing.keycolumns import (
    NOTHING_TOLD,
    Partial,
    Reading,
    form_of,
    key_of,
    propose_column,
    read_verdict,
    state_form,
)
from kina_build.items.importing.keys import KeyForm
from kina_build.items.importing.labels import split_block
from kina_build.items.importing.optioncells import OptionTexts, as_text, read_option_cells, read_options
from kina_build.items.importing.proposal import find_unread, propose_map
from kina_build.items.importing.rawfile import RawFile, RawRow, Reject, RowRefused, look_up, unwrap
from kina_build.items.importing.shapes import recognise
from kina_build.items.model import LETTERS, Item, content_id
from kina_build.items.text import squeeze
from kina_build.progress import Progress, silent

EMBEDDED = re.compile(r"\n\s*(?:answer\s+)?(?:options|choices)\s*[:：]\s*\n", re.IGNORECASE)
"""The line before options that stand inside the question, as in BIG-Bench Hard."""

FIRST_LABEL = re.compile(r"(?:^|\s)(?=[(（\[]?[Aa]\s?[)）\].．、:：]\s*\S)")
"""Where options may begin inside a question: "A." or "(A)"; in "vitamin A is" nothing begins."""

LEVELS = ("discipline", "field", "subfield")
TEXT_FIELDS = ("explanation", "question_source", "question_material", "author_id", "license", "language")
GIVEN_FIELDS = frozenset((*LEVELS, *TEXT_FIELDS))
"""Item fields that are a cell of their own, taken as it stands."""
PATH_SEPARATOR = re.compile(r"\s+[/>›]\s+")
"""What joins a taxonomy path written in one cell."""

PAIRED = (("names", "ids"), ("ObjectEntities", "ObjectEntitiesID"))
"""List columns that name the same things twice and must be equally long."""

PROGRESS_STEP = 500
"""Rows between two reports of progress."""


@dataclass(frozen=True)
class Draft:
    """An item and where it comes from."""

    item: Item
    file: str
    line: int
    own_id: bool
    """The id is the source's own, not a content hash."""


@dataclass(frozen=True)
class Drafts:
    """What one file gave."""

    drafts: tuple[Draft, ...]
    rejects: tuple[Reject, ...]
    stated: Mapping[str, Any]
    """Which column was read as what, and how keys were written."""


def draft_items(file: RawFile, reading: Reading = NOTHING_TOLD, on_progress: Progress = silent) -> Drafts:
    """Turn the rows of a file into items, or into rejects; none is lost.

    Args:
        file: its rows.
        reading: what the user says of them.
        on_progress: told of rows done.

    Raises:
        InputError: no column for the question, or index keys whose base nothing decides.
        UsageError: a mapping to a field or a column that does not exist.
    """
    rejects: list[Reject] = []
    file = recognise(unwrap(file), reading.columns)
    rows = _keep(file, file.rows, check_pairs, rejects)
    columns = find_columns(RawFile(file.name, tuple(row for row, _ in rows), (), {}), reading.columns)
    if rows and "question" not in columns.fields:
        raise InputError(
            f"{file.name}: no column holds the question; there are: {', '.join(file.columns)}",
            hint=propose_map(file) or "name it with --map question=COLUMN",
        )
    partials = [
        p for _, p in _keep(file, [r for r, _ in rows], lambda row: _read_partial(row, columns), rejects)
    ]
    forms = {column: form_of(file.name, column, partials, columns, reading) for column in columns.keys}
    made = _keep(
        file, partials, lambda partial: _finish(partial, file, columns, forms, reading), rejects, on_progress
    )
    drafts = tuple(
        Draft(item, file.name, partial.row.line, own_id=_own_id(partial.row, columns) != "")
        for partial, item in made
    )
    stated: dict[str, Any] = {
        "mapping": columns.stated(),
        "keys": {column: state_form(form) for column, form in forms.items()},
        "unread": find_unread(file, columns),
    }
    if rejects and not drafts and not file.rejects:
        stated["proposed"] = propose_map(file)
    elif len(columns.keys) > 1 and 2 * len(rejects) > len(rows):
        stated["proposed"] = propose_column(partials, columns, forms, several=reading.several)
    return Drafts(drafts, tuple(rejects), stated)


def check_pairs(row: RawRow) -> None:
    """Refuse a row whose paired lists differ in length: a name was cut at a comma inside it.

    Raises:
        RowRefused: names_ids_length_mismatch, with the joined name as a suggestion.
    """
    for names_column, ids_column in PAIRED:
        names, ids = row.values.get(names_column), row.values.get(ids_column)
        if isinstance(names, list) and isinstance(ids, list) and len(names) != len(ids):
            joined = ", ".join(map(str, names)) if len(ids) == 1 else None
            message = f"{len(names)} names but {len(ids)} ids" + (
                f"; perhaps one name: {joined}" if joined else ""
            )
            found = {"names": len(names), "ids": len(ids), "suggestion": joined}
            raise RowRefused("names_ids_length_mismatch", message, **found)


def _keep(
    file: RawFile, rows: Sequence[Any], work: Any, rejects: list[Reject], on_progress: Progress = silent
) -> list[tuple[Any, Any]]:
    """Apply a step to each row; rows it refuses go to the rejects."""
    kept: list[tuple[Any, Any]] = []
    for done, row in enumerate(rows):
        if done % PROGRESS_STEP == 0:
            on_progress(done, len(rows))
        try:
            kept.append((row, work(row)))
        except RowRefused as fault:
            raw = row.row if isinstance(row, Partial) else row
            own = raw.values.get("item_id", raw.values.get("id"))
            rejects.append(fault.at(file.name, raw.line, None if own is None else str(own)))
    return kept


def _read_partial(row: RawRow, columns: Columns) -> Partial:
    question = look_up(row.values, columns.fields["question"])
    if not isinstance(question, str):
        raise RowRefused("no_question", "the question is missing or no text")
    if not columns.options:
        return _split_question(row, question)
    cells = [look_up(row.values, column) for column in columns.options]
    if len(cells) > 1:
        options = read_option_cells(cells, columns.options)
    elif is_blank(cells[0]):
        return _split_question(row, question)
    else:
        options = read_options(cells[0], look_up(row.values, columns.labels) if columns.labels else None)
    if not options.texts:
        raise RowRefused("no_options", "no options: a question with a free answer")
    return Partial(row, question, options)


def _split_question(row: RawRow, question: str) -> Partial:
    """Cut options off the end of a question: behind a heading, or from "A." on, where nothing is in doubt."""
    headings = list(EMBEDDED.finditer(question))
    if headings:
        stem, block = question[: headings[-1].start()], question[headings[-1].end() :]
        return Partial(row, stem.rstrip(), read_options(block))
    for first in reversed(list(FIRST_LABEL.finditer(question))):
        stem, block = question[: first.start()].rstrip(), question[first.start() :].strip()
        if stem and len(split_block(block)) > 1:
            return Partial(row, stem, read_options(block))
    raise RowRefused("no_options", "no options: a question with a free answer")


def _finish(
    partial: Partial, file: RawFile, columns: Columns, forms: Mapping[str, KeyForm], reading: Reading
) -> Item:
    values, options = partial.row.values, partial.options
    letters = _letters_of(options)
    key = key_of(partial, columns, forms, several=reading.several)
    made: dict[str, Any] = _fields_of(values, columns)
    metadata = _metadata_of(file, values, columns)
    for name, value in reading.constants.items():
        target, _, rest = name.partition(".")
        if rest:
            metadata[rest] = value
        else:
            made[target] = value
    made["question"] = partial.question
    made["correct_answer"] = "".join(_own_letter(one, letters) for one in key)
    made["options"] = [_option(options, at, letter) for at, letter in enumerate(letters)]
    texts, material = list(options.texts), made.get("question_material")
    own = _own_id(partial.row, columns)
    made["item_id"] = own or content_id(partial.question, texts, made["correct_answer"], material)
    return Item(**made, metadata=metadata)


def _option(options: OptionTexts, at: int, letter: str) -> dict[str, str | None]:
    """Return the fields of one option: all are checked at once, with the item."""
    return {
        "key": letter,
        "answer": options.texts[at],
        "explanation": options.explanations[at] if options.explanations else None,
        "source": options.sources[at] if options.sources else None,
    }


def _own_letter(place: str, letters: Sequence[str]) -> str:
    """Return the letter of the option at a place; a place that no option has stays as it is."""
    at = LETTERS.index(place)
    return letters[at] if at < len(letters) else place


def _letters_of(options: OptionTexts) -> list[str]:
    """Keep the source's letters where it has distinct ones, else letter by position."""
    own = [label.upper() for label in options.labels]
    if len(set(options.labels)) < len(options.labels):
        raise RowRefused("option_labels_repeated", f"labels {', '.join(options.labels)}")
    if own and all(label in LETTERS and len(label) == 1 for label in own) and len(set(own)) == len(own):
        return own
    return list(LETTERS[: len(options.texts)])


def _own_id(row: RawRow, columns: Columns) -> str:
    value = look_up(row.values, columns.fields["item_id"]) if "item_id" in columns.fields else None
    return as_text(value).strip() if isinstance(value, str | int) else ""


def _fields_of(values: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, column in columns.fields.items():
        value = look_up(values, column) if name in GIVEN_FIELDS else None
        if isinstance(value, str | int | float) and not is_blank(value):
            made[name] = squeeze(as_text(value)) if name in LEVELS else as_text(value)
    levels = PATH_SEPARATOR.split(made.get("discipline", ""))
    if 1 < len(levels) <= len(LEVELS) and not {"field", "subfield"} & made.keys():
        made |= dict(zip(LEVELS, levels, strict=False))
    return made


def _metadata_of(file: RawFile, values: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    metadata = {name: value for name, value in file.shared.items() if not is_blank(value)}
    own = values.get("metadata")
    if isinstance(own, Mapping):
        metadata |= own
    for name, value in values.items():
        if name != "metadata" and not columns.consumes(name, value) and not is_blank(value):
            metadata[name] = value
    verdict = look_up(values, columns.fields["verdict"]) if "verdict" in columns.fields else None
    if not is_blank(verdict):
        metadata["verdict"] = read_verdict(str(verdict))
    return metadata
