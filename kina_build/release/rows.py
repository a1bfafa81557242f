"""The released row: one item as every harness reads it, and as KINA's own JSON has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from kina_build.items.model import LETTERS, SEVERAL_JOIN, Item, Option, named_keys

PATH_SEPARATOR = " / "
"""Joins discipline, field and subfield in KINA's JSON."""


class Row(BaseModel):
    """One released item; every split has the same columns, texts are never null."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    choices: tuple[str, ...]
    """Option texts; the first one is A."""
    answer: str | None
    """Letter of the right option, of several all of them ("BD"); null where a split's answers are private."""
    answer_index: int | None
    """0-based place of the right option in `choices`; null as `answer`, and where several are right."""
    discipline: str = ""
    field: str = ""
    subfield: str = ""
    source: str = ""
    license: str = ""
    canary: str = ""
    material: str = ""
    """The passage, table or code the question is about."""
    language: str = ""
    explanation: str = ""
    option_explanations: tuple[str, ...] = ()
    """One a choice, or none at all."""
    several: bool = False
    """More than one option is right, and all of them are wanted."""

    @property
    def correct_text(self) -> str | None:
        """Return the right option's text, of several all of them; None where it is private."""
        right = named_keys(self.answer or "", LETTERS[: len(self.choices)])
        return SEVERAL_JOIN.join(self.choices[LETTERS.index(key)] for key in right) if right else None


OPTIONAL = ("material", "language", "explanation", "option_explanations", "several")
"""Columns that a release has only if one of its rows fills them."""

EXTRAS = ("explanation", "question_source", "question_material", "license", "language")
"""Fields of an item beyond KINA's own that its JSON carries where they are given."""


class Answer(BaseModel):
    """The part of a row that is kept apart where answers are private."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    answer: str
    answer_index: int | None
    explanation: str = ""
    option_explanations: tuple[str, ...] = ()


def to_row(item: Item, canary: str = "") -> Row:
    """Turn an item with its final letters into a row.

    Raises:
        ValueError: the key names no option.
    """
    explained = any(option.explanation for option in item.options)
    return Row(
        id=item.item_id,
        question=item.question,
        choices=tuple(option.answer for option in item.options),
        answer=item.correct_answer,
        answer_index=None if item.several else [o.key for o in item.options].index(item.correct_answer),
        discipline=item.discipline,
        field=item.field,
        subfield=item.subfield,
        source=item.question_source or "",
        license=item.license or "",
        canary=canary,
        material=item.question_material or "",
        language=item.language or "",
        explanation=item.explanation or "",
        option_explanations=tuple(o.explanation or "" for o in item.options) if explained else (),
        several=item.several,
    )


def to_item(row: Row) -> Item:
    """Turn a row back into an item; a private answer becomes the empty key."""
    explanations = row.option_explanations or ("",) * len(row.choices)
    told = {
        "item_id": row.id,
        "discipline": row.discipline,
        "field": row.field,
        "subfield": row.subfield,
        "question": row.question,
        # checked together with the item, options take half the time
        "options": [
            {"key": key, "answer": text, "explanation": why or None}
            for key, text, why in zip(LETTERS, row.choices, explanations, strict=False)
        ],
        "correct_answer": row.answer or "",
        "explanation": row.explanation or None,
        "question_source": row.source or None,
        "question_material": row.material or None,
        "license": row.license or None,
        "language": row.language or None,
    }
    return Item.model_validate(told)


def hide_answer(row: Row) -> Row:
    """Take the key, and the explanations that would give it away, out of a row."""
    hidden = {"answer": None, "answer_index": None, "explanation": "", "option_explanations": ()}
    return row.model_copy(update=hidden)


def take_answer(row: Row) -> Answer:
    """Return what hide_answer takes out.

    Raises:
        ValidationError: the row's answer is hidden already.
    """
    return Answer.model_validate({name: getattr(row, name) for name in Answer.model_fields})


def put_back(row: Row, answer: Answer) -> Row:
    """Undo hide_answer."""
    return row.model_copy(update=answer.model_dump())


def columns(rows: Sequence[Row]) -> list[str]:
    """List the columns of a release: the fixed ones, and the optional ones that any row fills."""
    return [
        name for name in Row.model_fields if name not in OPTIONAL or any(getattr(row, name) for row in rows)
    ]


def to_kina(item: Item) -> dict[str, Any]:
    """Write an item as an entry of KINA.json: index, joined path, keyed options, key.

    Ids that are whole numbers are written as numbers, as KINA has them. Explanations,
    sources and the like appear where they are given; a private key is null.
    """
    counted = re.fullmatch(r"0|[1-9]\d*", item.item_id, re.ASCII)
    entry: dict[str, Any] = {
        "index": int(item.item_id) if counted else item.item_id,
        "discipline": PATH_SEPARATOR.join(item.path),
        "question": item.question,
        "options": [_given(option, ("key", "answer", "explanation", "source")) for option in item.options],
        "correct_answer": item.correct_answer or None,
    }
    return entry | _given(item, EXTRAS)


def _given(record: Item | Option, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(record, name)) is not None}
