"""The letters that models gave: one matrix of items by models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.items.model import LETTERS, Item

NONE = "-"
"""No answer, or none that could be read; it counts as wrong."""


@dataclass(frozen=True)
class AnswerMatrix:
    """Letters by item and model."""

    item_ids: tuple[str, ...]
    models: tuple[str, ...]
    letters: NDArray[np.str_]
    """Shape (items, models), one character each, or all that were chosen together ("BD"); "-" for none."""
    asked: NDArray[np.bool_]
    """Shape (items, models): whether the model was asked at all."""

    def right(self, items: Sequence[Item]) -> NDArray[np.bool_]:
        """Return where models answered with the key, shape (items, models).

        Args:
            items: in the order of item_ids.
        """
        keys = np.array([item.correct_answer or NONE for item in items])
        return np.asarray((self.letters == keys[:, None]) & (self.letters != NONE), dtype=bool)


def build_matrix(items: Sequence[Item], given: Mapping[str, Mapping[str, str]]) -> AnswerMatrix:
    """Arrange answers by item and model.

    Args:
        items: the pool; answers to other items are left out.
        given: model to item_id to letter ("-" for none).

    Raises:
        InputError: no model answered any of the items.
    """
    models = sorted(model for model, answers in given.items() if answers)
    ids = [item.item_id for item in items]
    width = max((len(letter or "") for answers in given.values() for letter in answers.values()), default=1)
    letters = np.full((len(ids), len(models)), NONE, dtype=f"<U{max(width, 1)}")
    asked = np.zeros((len(ids), len(models)), dtype=bool)
    for column, model in enumerate(models):
        answers = given[model]
        asked[:, column] = [item_id in answers for item_id in ids]
        letters[:, column] = [answers.get(item_id, NONE) or NONE for item_id in ids]
    if not asked.any():
        raise InputError(
            "no response is about an item of the pool", hint="are these the ids of `kina import`?"
        )
    return AnswerMatrix(tuple(ids), tuple(models), letters, asked)


def read_letter(row: Mapping[str, Any], place: str) -> tuple[str, str, str | None]:
    """Return the model, item and letter of a row; no letter is None, "" or "-".

    Raises:
        InputError: a letter that is none.
    """
    letter = row["letter"]
    if letter is not None and not (isinstance(letter, str) and len(letter) <= 1):
        raise InputError(f"{place}: letter: {str(letter)[:40]!r} is not one letter", hint="'-' for none")
    return str(row["model"]), str(row["item_id"]), letter


def gather_letters(rows: Iterable[tuple[str, str, str | None]]) -> dict[str, dict[str, str]]:
    """Gather (model, item_id, letter) rows; of several samples the most frequent letter counts.

    A tie between letters is no answer.
    """
    samples: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for model, item_id, letter in rows:
        samples[model, item_id][letter or NONE] += 1
    given: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for (model, item_id), counts in samples.items():
        best, *others = counts.most_common(2)
        given[model][item_id] = NONE if others and others[0][1] == best[1] else best[0]
    return dict(given)


class Named(Protocol):
    """Anything that has an item's id."""

    @property
    def item_id(self) -> str:
        """Return the id."""


def spread_strings(rows: Sequence[Mapping[str, Any]], items: Sequence[Named]) -> dict[str, dict[str, str]]:
    """Read rows {model, answers} whose answers are one letter an item, in the order of the items.

    Raises:
        InputError: a string of another length than there are items, or other than letters and "-".
    """
    given: dict[str, dict[str, str]] = {}
    for row in rows:
        model, answers = str(row["model"]), str(row["answers"])
        if len(answers) != len(items):
            raise InputError(f"model {model!r}: {len(answers)} answers for {len(items)} items")
        if not set(answers) <= {*LETTERS, NONE}:
            raise InputError(f"model {model!r}: answers are letters, or '-' for none")
        given[model] = {item.item_id: letter for item, letter in zip(items, answers, strict=True)}
    return given
