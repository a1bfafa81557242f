"""The item: one multiple-choice question with its options, key and provenance."""

from __future__ import annotations

import hashlib
import string
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.rows.jsonl import canonical

LETTERS = string.ascii_uppercase
"""Option keys in order; an item has at most 26 options."""

ID_HEX_DIGITS = 16
"""Length of a content-hash item id: 64 bits, collisions below 1e-9 at 100,000 items."""

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
    """Key of the right option; whether it names one is for `kina check` to say."""
    explanation: str | None = None
    question_source: str | None = None
    question_material: str | None = None
    """The passage, table or code the question is about."""
    author_id: str | None = None
    license: str | None = None
    language: str | None = None
    """BCP 47 tag."""
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def correct_text(self) -> str | None:
        """Return the text of the keyed option, or None where the key names none."""
        return next((o.answer for o in self.options if o.key == self.correct_answer), None)

    @property
    def path(self) -> tuple[str, ...]:
        """Return the taxonomy levels that are given, coarse to fine."""
        return tuple(level for level in (self.discipline, self.field, self.subfield) if level)


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
