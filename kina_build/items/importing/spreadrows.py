"""Options that stand in one cell with separators, in rows of their own, or beside columns that mark them.

Each function looks at a whole file and changes it only where every row fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from kina_build.items.importing.rawfile import RawFile, RawRow
from kina_build.items.text import fold_name

QUESTIONS = ("question", "stem", "prompt", "questiontext", "questions", "questionstem")
CELLS = (
    "options",
    "choices",
    "answeroptions",
    "answerchoices",
    "alternatives",
    "optionlist",
    "possibleanswers",
)
SEPARATORS = ("\n", "||", "|", ";", "；", "、")
"""What parts options in one cell, the safest first; a comma stands inside options too often."""
TEXTS = ("option", "optiontext", "choice", "choicetext", "answertext", "alternative", "text", "answer")
MARKS = ("iscorrect", "correct", "isright", "right", "isanswer", "label", "score", "truth")
TRUE, FALSE = (
    frozenset(["1", "true", "t", "yes", "y", "x", "✓", "✔", "ja", "oui", "sí", "si", "right", "correct"]),
    frozenset(["0", "false", "f", "no", "n", "", "-", "wrong", "incorrect", "nein", "non"]),
)
MOST_OPTIONS = 26


def cut_cells(file: RawFile) -> RawFile:
    """Cut "iron | copper | zinc": at a separator that gives each row the same number of options."""
    names = {fold_name(name): name for name in file.columns}
    column = next((names[one] for one in CELLS if one in names), None)
    cells = [row.values.get(column) for row in file.rows] if column else []
    if column is None or not all(
        isinstance(cell, str) and cell.strip()[:1] not in ("[", "{", "") for cell in cells
    ):
        return file
    for separator in SEPARATORS:
        parts = [
            [part.strip() for part in str(cell).strip().strip(separator).split(separator)] for cell in cells
        ]
        widths = {len(one) for one in parts}
        if len(widths) == 1 and 2 <= widths.pop() <= MOST_OPTIONS and all(map(all, parts)):
            rows = zip(file.rows, parts, strict=True)
            return replace(file, rows=tuple(RawRow(r.line, {**r.values, column: part}) for r, part in rows))
    return file


def gather_rows(file: RawFile) -> RawFile:
    """Gather rows that hold one option each, with a mark whether it is right, into one row a question."""
    names = {fold_name(name): name for name in file.columns}
    question, text, mark = (
        next((names[one] for one in known if one in names), None) for known in (QUESTIONS, TEXTS, MARKS)
    )
    if question is None or text is None or mark is None or any(one in names for one in CELLS):
        return file
    groups = [list(rows) for _, rows in groupby(file.rows, key=lambda row: row.values.get(question))]
    marks = [[read_mark(row.values.get(mark)) for row in rows] for rows in groups]
    whole = all(
        len(rows) > 1 and None not in said and any(said) for rows, said in zip(groups, marks, strict=True)
    )
    told = [
        isinstance(row.values.get(text), str) and isinstance(row.values.get(question), str)
        for row in file.rows
    ]
    if not groups or not whole or not all(told):
        return file
    made = []
    for rows, said in zip(groups, marks, strict=True):
        options = [{"text": row.values[text], "is_correct": one} for row, one in zip(rows, said, strict=True)]
        shared = {name: value for name, value in rows[0].values.items() if _is_shared(rows, name)}
        made.append(RawRow(rows[0].line, {**shared, "options": options}))
    return replace(file, rows=tuple(made))


def _is_shared(rows: Sequence[RawRow], name: str) -> bool:
    return all(row.values.get(name) == rows[0].values.get(name) for row in rows)


def read_marked_columns(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read options each of which has a column that marks it: "Option 1", "Option 1 correct"; A, is_A."""
    names = {fold_name(name): name for name in values}
    pairs = [
        (name, marker) for fold, name in names.items() if (marker := _marker_of(fold, names)) is not None
    ]
    if len(pairs) < 2 or len({marker for _, marker in pairs}) < len(pairs):
        return None
    marks = [read_mark(values[marker]) for _, marker in pairs]
    given = [
        (values[name], mark)
        for (name, _), mark in zip(pairs, marks, strict=True)
        if values[name] not in (None, "")
    ]
    if None in marks or not all(isinstance(text, str | int | float) for text, _ in given):
        return None
    used = {name for pair in pairs for name in pair}
    rest = {name: value for name, value in values.items() if name not in used}
    return {**rest, "options": [{"text": str(text), "is_correct": mark} for text, mark in given]}


def _marker_of(fold: str, names: Mapping[str, str]) -> str | None:
    """Return the column that says whether the option in another is right."""
    if fold in QUESTIONS or fold in MARKS:
        return None
    forms = (
        f"{fold}correct",
        f"{fold}iscorrect",
        f"is{fold}",
        f"iscorrect{fold}",
        f"is{fold}correct",
        f"correct{fold}",
    )
    return next((names[form] for form in forms if form in names), None)


def read_mark(value: Any) -> bool | None:
    """Return what a cell marks an option as; None where it is no mark."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    said = "" if value is None else str(value).strip().casefold()
    return True if said in TRUE else False if said in FALSE else None


def turn_columns(file: RawFile) -> RawFile:
    """Turn one object of lists, {"question": [...], "answer": [...]}, into rows."""
    if len(file.rows) != 1:
        return file
    values = file.rows[0].values
    question = next((value for name, value in values.items() if fold_name(name) in QUESTIONS), None)
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    if (
        not isinstance(question, list)
        or len(lists) < len(values)
        or fold_name("questions") in map(fold_name, values)
    ):
        return file
    if {len(value) for value in lists.values()} != {len(question)} or not all(
        isinstance(one, str) for one in question
    ):
        return file
    rows = (dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True))
    return replace(file, rows=tuple(RawRow(file.rows[0].line, row) for row in rows))
