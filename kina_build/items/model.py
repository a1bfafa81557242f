"""The item: one multiple-choice question with its options, key and provenance."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from kina_build.rows.jsonl import canonical

LETTERS = string.ascii_uppercase
"""Option keys in order; an item has at most 26 options."""

ID_HEX_DIGITS = 16
"""Length of a content-hash item id: 64 bits, collisions below 1e-9 at 100,000 items."""

BETWEEN_KEYS = " ,;/"
"""What may part the keys of several right options; written by ourselves they stand side by side."""

SEVERAL_JOIN = "; "
"""Parts the texts of several right options where they are shown as one."""

PARALLEL = "parallel"
"""Key of the metadata that versions of one item in several languages share."""


class Option(BaseModel):
    """One answer option."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """Its letter, A to Z."""
    answer: str
    """Its text, as it is shown."""
    explanation: str | None = None
    source: str | None = None


class Item(BaseModel):
    """One multiple-choice question.

    The taxonomy path is discipline > field > subfield, coarse to fine; a level that
    the source does not give is the empty string.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str = Field(min_length=1)
    """Stable id of the source, else a content hash."""
    discipline: str = ""
    field: str = ""
    subfield: str = ""
    question: str
    options: tuple[Option, ...]
    correct_answer: str
    """Key of the right option, of several all of them ("BD"); whether it names one is for `kina check`."""
    explanation: str | None = None
    question_source: str | None = None
    question_material: str | None = None
    """The passage, table or code the question is about."""
    author_id: str | None = None
    license: str | None = None
    language: str | None = None
    """BCP 47 tag."""
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("correct_answer")
    @classmethod
    def _side_by_side(cls, said: str, info: ValidationInfo) -> str:
        """Write several keys in one way, so that they can be compared: "D, B" becomes "BD"."""
        if len(said) < 2 or "options" not in info.data:
            return said
        return "".join(named_keys(said, [option.key for option in info.data["options"]])) or said

    @property
    def right_keys(self) -> tuple[str, ...]:
        """Return the keys of the right options, in the options' order; none where the key names none."""
        return named_keys(self.correct_answer, [option.key for option in self.options])

    @property
    def several(self) -> bool:
        """Tell whether more than one option is right: an answer then has to name them all."""
        return len(self.right_keys) > 1

    @property
    def ways(self) -> int:
        """Return how many answers can be given: the options, or where several are right any set of them."""
        return 2 ** len(self.options) - 1 if self.several else len(self.options)

    @property
    def correct_text(self) -> str | None:
        """Return the text of the keyed option, of several all of them; None where the key names none."""
        right = self.right_keys
        return SEVERAL_JOIN.join(o.answer for o in self.options if o.key in right) if right else None

    @property
    def path(self) -> tuple[str, ...]:
        """Return the taxonomy levels that are given, coarse to fine."""
        return tuple(level for level in (self.discipline, self.field, self.subfield) if level)


def named_keys(said: str, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the keys that an answer names, in their own order: one, or several as in "BD" and "B, D".

    What names anything else beside them, or one of them twice, names none.
    """
    if said in tuple(keys):
        return (said,)
    letters = [sign for sign in said if sign not in BETWEEN_KEYS]
    known = len(letters) > 1 and len(set(letters)) == len(letters) and set(letters) <= set(keys)
    return tuple(key for key in keys if key in letters) if known else ()


def content_id(question: str, options: list[str], correct_answer: str, material: str | None = None) -> str:
    """Hash what makes an item itself into an id that survives reordering of the file.

    Args:
        question: the stem.
        options: the option texts in order.
        correct_answer: the key.
        material: the passage, if any.
    """
    body = canonical([question, options, correct_answer, material])
    return hashlib.sha256(body.encode()).hexdigest()[:ID_HEX_DIGITS]
