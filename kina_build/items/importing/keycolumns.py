"""The key columns of a file: how each one is read, and the one key that all of them give a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kina_build.errors import InputError
from kina_build.items.importing.columns import Columns
from kina_build.items.importing.keycells import KeyCell, is_blank, read_cell
from kina_build.items.importing.keys import Form, KeyForm, decide_form, is_undecided, read_key
from kina_build.items.importing.optioncells import OptionTexts
from kina_build.items.importing.rawfile import RawRow, RowRefused, look_up
from kina_build.items.text import fold_stem


@dataclass(frozen=True)
class Reading:
    """How the rows of a file are to be understood, as far as the user says."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Item field to column; "" means none."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Item field (or metadata.NAME) to a value that every row takes."""
    key_form: KeyForm | None = None
    """How keys are written; None decides it from the file."""
    several: bool = False
    """Items may have several right answers; else such rows are refused."""


NOTHING_TOLD = Reading()

NEARLY_ALL = 0.9
"""Share of a file's rows that a proposed key column must read."""


@dataclass(frozen=True)
class Partial:
    """A row whose question and options are read and whose key is not yet."""

    row: RawRow
    question: str
    options: OptionTexts


def form_of(
    name: str, column: str, partials: Sequence[Partial], columns: Columns, reading: Reading
) -> KeyForm:
    """Decide how one key column is read, asking the other key columns where it says too little itself."""
    if reading.key_form:
        return reading.key_form
    cells = {id(p): read_cell(look_up(p.row.values, column), p.options) for p in partials}
    given = [cell for cell in cells.values() if not is_blank(cell.value)]
    form = decide_form(given, column) if given else KeyForm("label")
    if is_undecided(given, form):
        raise InputError(
            f"{name}: column {column!r} names options both by their place and by their texts, and the two"
            f" differ",
            hint="say it with --key-form letter, index0, index1 or text",
        )
    if form.form != "index" or form.base is not None:
        return form
    others = [other for other in columns.keys if other != column]
    if not others:
        raise InputError(
            f"{name}: column {column!r} holds indices, and nothing tells whether they count from 0 or from 1",
            hint="say it with --key-form index0 or --key-form index1",
        )
    return KeyForm("index", max((0, 1), key=lambda base: _agreements(partials, column, others, base)))


def _agreements(partials: Sequence[Partial], column: str, others: Sequence[str], base: int) -> int:
    count = 0
    for partial in partials:
        values = partial.row.values
        try:
            mine = _read(values, column, partial, KeyForm("index", base), several=True)
            theirs = [_read(values, o, partial, KeyForm("label"), several=True) for o in others]
        except RowRefused:
            continue
        count += all(mine == one for one in theirs)
    return count


def _read(values: Mapping[str, Any], column: str, partial: Partial, form: KeyForm, *, several: bool) -> str:
    return read_key(read_cell(look_up(values, column), partial.options), form, several=several)


def key_of(partial: Partial, columns: Columns, forms: Mapping[str, KeyForm], *, several: bool = False) -> str:
    """Read all keys a row gives; they must agree, and one is enough. Several right options are "BD"."""
    if partial.options.marks:
        marks = KeyCell(list(partial.options.marks), partial.options)
        return read_key(marks, KeyForm("label"), several=several)
    found: dict[str, str] = {}
    for column in columns.keys:
        value = look_up(partial.row.values, column)
        if not is_blank(value):
            found[column] = _read(partial.row.values, column, partial, forms[column], several=several)
    candidates = sorted(set(found.values()))
    if len(candidates) > 1:
        told = ", ".join(f"{column} says {key}" for column, key in found.items())
        raise RowRefused("answer_fields_disagree", told, candidates=candidates, chosen=None)
    if not candidates:
        raise RowRefused("no_key", "no answer key is given")
    return candidates[0]


def propose_column(
    partials: Sequence[Partial], columns: Columns, forms: Mapping[str, KeyForm], *, several: bool = False
) -> str:
    """Propose the one key column by which nearly all rows can be read, where all of them together fail.

    Columns that disagree with each other are left to people: which of them is right, no file says.
    """

    def reads(partial: Partial, kept: Columns) -> str:
        try:
            return "" if key_of(partial, kept, forms, several=several) else "no_key"
        except RowRefused as fault:
            return fault.reason

    faults = Counter(reads(partial, columns) for partial in partials)
    unread = sum(count for fault, count in faults.items() if fault not in ("", "answer_fields_disagree"))
    if 2 * unread <= len(partials) or faults["answer_fields_disagree"]:
        return ""
    alone = {
        column: sum(not reads(partial, replace(columns, keys=(column,))) for partial in partials)
        for column in columns.keys
    }
    best = max(alone, key=lambda column: alone[column])
    return f"--map correct_answer={best}" if alone[best] >= NEARLY_ALL * len(partials) else ""


def state_form(form: KeyForm) -> str:
    """Say how keys were read."""
    return form.form if form.form != "index" else f"index from {form.base}"


def key_form(word: str) -> KeyForm | None:
    """Read the user's word for a key form: auto, letter, text, index0 or index1."""
    forms: dict[str, tuple[Form, int | None]] = {
        "letter": ("label", None),
        "text": ("text", None),
        "index0": ("index", 0),
        "index1": ("index", 1),
    }
    return KeyForm(*forms[word]) if word in forms else None


VERDICTS = (
    "ok",
    "bad_question_clarity",
    "bad_options_clarity",
    "no_correct_answer",
    "multiple_correct_answers",
    "wrong_groundtruth",
    "expert",
)
"""expert: only an expert of the subject could tell."""


def read_verdict(text: str) -> str:
    """Return the canonical word for a verdict; case, blanks, hyphens and underscores do not matter.

    Raises:
        RowRefused: unknown_verdict.
    """
    word = re.sub(r"[\s_-]+", "_", fold_stem(text)).strip("_")
    if word not in VERDICTS:
        raise RowRefused("unknown_verdict", f"{text!r} is none of: {', '.join(VERDICTS)}", verdict=text)
    return word
