"""A rule of `kina check`: what it means, how grave it is, and an example on either side of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kina_build.items.model import LETTERS, Item, Option


@dataclass(frozen=True)
class Sketch:
    """A few items in a line: what a rule's example differs in from a sound question."""

    question: str = "Which gas do plants give off in daylight?"
    options: str = "oxygen|argon|neon|xenon"
    """Texts, parted by "|"."""
    keys: str = "A"
    """Right option of each item: as many items as letters."""
    also: str = ""
    """More right options of each item."""
    labels: str = LETTERS
    """Keys of the options, in order."""
    alike: bool = True
    """Several items ask one question; otherwise each has a number of its own."""
    one_id: bool = False
    explanation: str | None = None
    each: str | None = None
    """Explanation of each option."""
    source: str | None = None
    discipline: str = ""
    version: str = ""
    """The question of a second item, the first in another language."""
    fewer: bool = False
    """The second item lacks the last option."""

    def items(self) -> list[Item]:
        """Return the items."""
        texts = self.options.split("|")
        options = tuple(
            Option(key=key, answer=text, explanation=self.each)
            for key, text in zip(self.labels, texts, strict=False)
        )
        return [
            Item(
                item_id="q" if self.one_id else f"q{n}",
                discipline=self.discipline,
                question=self._question(n),
                options=options[:-1] if n and self.fewer else options,
                correct_answer=key + self.also,
                explanation=self.explanation,
                question_source=self.source,
                metadata={"parallel": "q"} if self.version else {},
            )
            for n, key in enumerate(self.keys)
        ]

    def _question(self, n: int) -> str:
        if self.version:
            return self.version if n else self.question
        return self.question if self.alike else f"Plate {n}. {self.question}"

    def __str__(self) -> str:
        """Return what the sketch differs in from a sound question."""
        usual = Sketch()
        question = "" if self.question == usual.question else self.question.strip() or '""'
        options = "" if self.options == usual.options else self.options.replace("|", " / ")
        parts = [question, options]
        if len(self.keys) > 1 or self.keys != usual.keys:
            wordings = "" if self.alike else ", questions differ"
            parts.append(f"{len(self.keys)} items, keys {self.keys[:8]}{wordings}")
        parts += [f"options {self.keys[0]} and {self.also} keyed"] if self.also else []
        if self.labels != LETTERS:
            parts.append(f"options {self.labels}")
        parts += [f"explanation: {self.explanation}"] if self.explanation else []
        parts += [f"each option: {self.each}"] if self.each else []
        parts += [f"beside: {self.version}"] if self.version else []
        parts += ["with an option less"] if self.fewer else []
        parts += [f"source: {self.source}"] if self.source else []
        return " — ".join(" ".join(part.split()) for part in parts if part) or "a sound question"


@dataclass(frozen=True)
class Rule:
    """A rule's meaning, its severity by profile (None: not looked for), and its examples."""

    meaning: str
    kina: Severity | None
    generic: Severity | None
    fires: Sketch
    spares: Sketch


Severity = Literal["error", "warning", "info"]
ProfileName = Literal["kina", "generic"]

POOL = "*"
"""The item_id of findings about the pool as a whole."""


class Finding(BaseModel):
    """One thing that is wrong, or may be, with an item or with the pool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    """The item; "*" for the pool."""
    rule: str
    severity: Severity
    """error: a gate, `kina check` leaves with 1; warning: look at it; info: good to know."""
    field: str
    """Where: question, options.B, correct_answer, pool, ..."""
    message: str
    evidence: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """A finding before its severity is known: that depends on the profile."""

    rule: str
    field: str
    message: str
    evidence: Mapping[str, Any] = field_(default_factory=dict)
