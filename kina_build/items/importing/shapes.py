"""Known layouts of question files, brought into the one that columns are looked for in.

Each recogniser looks at all rows of a file: it changes them only where every one fits.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kina_build.items.importing.rawfile import RawFile, RawRow
from kina_build.items.importing.spreadrows import cut_cells, gather_rows, read_marked_columns, turn_columns
from kina_build.items.text import fold_name

STEMS = ("stem", "text", "question", "question_text")
CHOICES = ("choices", "options")
RIGHT = ("correctanswer", "rightanswer", "correct", "bestanswer", "answer", "key")
WRONG_LISTS = ("incorrectanswers", "distractors", "wronganswers")
WRONG_ONE = re.compile(r"(?:distractor|incorrectanswer|wronganswer|incorrect|wrong)(\d{1,2}|[a-j])")
"""Folded names of columns that hold one wrong answer each: distractor1, "Incorrect Answer 2"."""
SCORES = ("target_scores", "mc1_targets")
"""Columns of objects that give each option's text 1 or 0."""
LISTS = ("questions", "options", "answers")
"""Columns of a passage's parallel lists, as in RACE."""
MATERIALS = ("article", "passage", "context", "paragraph")

Recogniser = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
"""Returns a row in the plain layout, or None where it is not of the recogniser's."""


def recognise(file: RawFile, told: Mapping[str, str]) -> RawFile:
    """Bring the rows of a known layout into the plain one.

    Args:
        file: its rows.
        told: fields that the user maps to columns: what is told is not recognised.
    """
    file = _share_material(_spread_passages(turn_columns(file))) if "question" not in told else file
    if not {"question", "options"} & told.keys():
        file = _apply(_apply(file, _lift_question), _lift_messages)
    if not {"options", "correct_answer"} & told.keys():
        file = gather_rows(file)
        for recogniser in (_gather_wrong, _read_scores, read_marked_columns):
            file = _apply(file, recogniser)
    return file if "options" in told else cut_cells(file)


def _apply(file: RawFile, recogniser: Recogniser) -> RawFile:
    """Change all rows, or none."""
    changed: list[RawRow] = []
    for row in file.rows:
        values = recogniser(row.values)
        if values is None:
            return file
        changed.append(RawRow(row.line, values))
    return replace(file, rows=tuple(changed)) if changed else file


def _lift_question(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Lift {"question": {"stem": ..., "choices": [...]}}, as ARC and CommonsenseQA have it."""
    inner = values.get("question")
    if not isinstance(inner, Mapping):
        return None
    stem = next((name for name in STEMS if isinstance(inner.get(name), str)), None)
    choices = next((name for name in CHOICES if isinstance(inner.get(name), list | Mapping)), None)
    if stem is None or choices is None or CHOICES[0] in values or CHOICES[1] in values:
        return None
    rest = {name: value for name, value in inner.items() if name not in (stem, choices)}
    kept = {name if name not in values else f"question.{name}": value for name, value in rest.items()}
    return {**values, **kept, "question": inner[stem], "choices": inner[choices]}


def _lift_messages(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Lift the question and its answer out of a chat: {"messages": [{"role": "user", ...}, ...]}."""
    messages = values.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, Mapping) for one in messages):
        return None
    said = [(one.get("role"), one.get("content")) for one in messages if one.get("role") != "system"]
    if [role for role, _ in said] != ["user", "assistant"] or not all(
        isinstance(text, str) for _, text in said
    ):
        return None
    rest = {name: value for name, value in values.items() if name != "messages"}
    return {**rest, "question": said[0][1], "answer": said[1][1]}


def _gather_wrong(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Gather a right answer and its wrong ones, which stand apart, into marked options.

    They have no order of their own; they are put into one that their texts alone decide.
    """
    names = {fold_name(name): name for name in values}
    right = next((names[one] for one in RIGHT if one in names), None)
    if right is None or not isinstance(values[right], str | int | float) or isinstance(values[right], bool):
        return None
    listed = next((names[one] for one in WRONG_LISTS if one in names), None)
    single = sorted((m[1].rjust(2), name) for fold, name in names.items() if (m := WRONG_ONE.fullmatch(fold)))
    wrong = values[listed] if listed else [values[name] for _, name in single]
    if not isinstance(wrong, list) or not wrong or any(name in names for name in CHOICES):
        return None
    wrong = [one for one in wrong if one is not None and one != ""]
    used = {right, listed, *(name for _, name in single)}
    rest = {name: value for name, value in values.items() if name not in used}
    clean = html.unescape if {"type", "difficulty", "category"} <= values.keys() else str
    texts = [(clean(str(values[right])), True), *((clean(str(one)), False) for one in wrong)]
    if isinstance(question := rest.get("question"), str):
        rest["question"] = clean(question)
    marked = [{"text": text, "is_correct": mark} for text, mark in sorted(texts, key=_by_text)]
    return {**rest, "options": marked}


def _by_text(pair: tuple[str, bool]) -> str:
    return hashlib.sha256(pair[0].encode()).hexdigest()


def _read_scores(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read {"target_scores": {"yes": 1, "no": 0}}, as BIG-bench and TruthfulQA have it."""
    column = next((name for name in SCORES if isinstance(values.get(name), Mapping)), "")
    scores = values.get(column)
    if not scores or not all(isinstance(one, int | float) and one in (0, 1) for one in scores.values()):
        return None
    rest = {name: value for name, value in values.items() if name not in (column, "target")}
    return {**rest, "options": [{"text": text, "is_correct": bool(one)} for text, one in scores.items()]}


def _spread_passages(file: RawFile) -> RawFile:
    """Make a row of each question of a passage: RACE's parallel lists, QuALITY's list of questions."""
    spread = [list(_questions_of(row.values)) for row in file.rows]
    if not spread or not all(spread):
        return file
    rows = [
        RawRow(row.line, one) for row, questions in zip(file.rows, spread, strict=True) for one in questions
    ]
    return replace(file, rows=tuple(rows))


def _questions_of(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    questions = values.get("questions")
    if not isinstance(questions, list) or not questions:
        return
    outer = {name: value for name, value in values.items() if name not in LISTS}
    own = next((name for name in ("id", "example_id", "article_id") if name in outer), None)
    for number, inner in enumerate(_inner_rows(values, questions), start=1):
        ids = {"id": f"{outer[own]}-{number}"} if own and "id" not in inner else {}
        yield {**outer, **inner, **ids}


def _inner_rows(values: Mapping[str, Any], questions: Sequence[Any]) -> list[Mapping[str, Any]]:
    if all(isinstance(one, Mapping) and "question" in one for one in questions):
        return [dict(one) for one in questions]
    lists = [values.get(name) for name in LISTS]
    fits = all(isinstance(one, list) and len(one) == len(questions) for one in lists)
    if not fits or not all(isinstance(one, list) for one in values["options"]):
        return []
    columns = zip(questions, values["options"], values["answers"], strict=True)
    return [dict(zip(("question", "options", "answer"), row, strict=True)) for row in columns]


def _share_material(file: RawFile) -> RawFile:
    """Give a passage that stands once in the file to every row."""
    name = next((one for one in MATERIALS if isinstance(file.shared.get(one), str)), None)
    if name is None or any(one in row.values for row in file.rows for one in MATERIALS):
        return file
    rows = tuple(RawRow(row.line, {**row.values, name: file.shared[name]}) for row in file.rows)
    shared = {key: value for key, value in file.shared.items() if key != name}
    return replace(file, rows=rows, shared=shared)
