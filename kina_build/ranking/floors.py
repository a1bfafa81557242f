"""What a model scores without knowledge: chance, one letter for all, letter habits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AnswerKey:
    """The right letters and option counts of a set of items, in the order of its ids."""

    item_ids: tuple[str, ...]
    keys: tuple[str, ...]
    option_counts: tuple[int, ...]


@dataclass(frozen=True)
class Floors:
    """Scores that need no knowledge of the items."""

    chance: float
    """Mean over items of 1 / options."""
    letter: str
    """The best letter to give every time; the first of equals."""
    letter_accuracy: float
    habits: dict[str, float]
    """Model to the score its letter frequencies alone would earn; empty without letters."""


def find_floors(key: AnswerKey, letters: dict[str, Sequence[str]] | None = None) -> Floors:
    """Compute the floors of a board.

    Args:
        key: of the ranked items.
        letters: model to one letter an item, in the key's order.
    """
    counts = Counter(key.keys)
    letter = min(counts, key=lambda c: (-counts[c], c))
    return Floors(
        chance=float(np.mean([1 / n for n in key.option_counts])),
        letter=letter,
        letter_accuracy=counts[letter] / len(key.keys),
        habits={model: letter_habit(row, key) for model, row in (letters or {}).items()},
    )


def letter_habit(letters: Sequence[str], key: AnswerKey) -> float:
    """Return the expected score if a model's letters were dealt anew to other items.

    Letters are permuted among items with the same number of options; the mean over all
    permutations is a sum of products of letter frequencies.

    Args:
        letters: one an item, in the key's order; a letter outside the options never scores.
        key: of the same items.
    """
    given: Counter[tuple[int, str]] = Counter(zip(key.option_counts, letters, strict=True))
    right: Counter[tuple[int, str]] = Counter(zip(key.option_counts, key.keys, strict=True))
    sizes = Counter(key.option_counts)
    hits = sum(count * right[cell] / sizes[cell[0]] for cell, count in given.items())
    return hits / len(key.keys)
