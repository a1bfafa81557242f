"""Confident learning: keys that models deny as surely as they affirm others.

Source: C. Northcutt, L. Jiang and I. Chuang, Confident learning, JAIR 70 (2021). A letter has no
meaning of its own, so one threshold stands for all letters: the mean share of votes that keys get.
The models never learned from the keys, so their votes are out of sample as the method asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.items.answers import NONE, AnswerMatrix
from kina_build.items.model import Item


@dataclass(frozen=True)
class Doubt:
    """A key that confident learning counts as wrong."""

    item_id: str
    key: str
    rival: str
    key_share: float
    """Share of the models that were asked that gave the key."""
    rival_share: float


@dataclass(frozen=True)
class Confident:
    """The doubtful keys, most doubtful first, and the threshold they passed."""

    doubts: tuple[Doubt, ...]
    threshold: float
    items: int
    """Items that any of the models was asked."""


def find_label_faults(
    items: Sequence[Item], matrix: AnswerMatrix, models: Sequence[str] | None = None
) -> Confident:
    """Find keys that are as surely wrong as keys are right on the mean.

    Args:
        items: the pool, in the order of the matrix.
        matrix: letters by item and model.
        models: whose votes count; by default those of all.

    Returns:
        Keys below a rival whose share of votes reaches the threshold, by the margin between the two.

    Raises:
        InputError: a model that is not in the matrix.
    """
    absent = [model for model in models or () if model not in matrix.models]
    if absent:
        raise InputError(f"no responses of model {absent[0]!r}", hint=f"models: {', '.join(matrix.models)}")
    columns = [n for n, model in enumerate(matrix.models) if models is None or model in models]
    letters, asked = matrix.letters[:, columns], matrix.asked[:, columns]
    names = sorted(set(np.unique(letters[asked]).tolist()) - {NONE})
    rows = np.flatnonzero(asked.any(axis=1))
    shares = _shares(letters[rows], asked[rows], names)
    place = {name: n for n, name in enumerate(names)}
    keys = [items[row].correct_answer for row in rows]
    own = np.array([shares[n, place[key]] if key in place else 0.0 for n, key in enumerate(keys)])
    threshold = float(own.mean()) if len(own) else 0.0
    for n, key in enumerate(keys):
        if key in place:
            shares[n, place[key]] = -1.0  # what is left are rivals
    best = shares.argmax(axis=1) if names else np.zeros(0, dtype=int)
    doubts = [
        Doubt(items[row].item_id, keys[n], names[best[n]], round(float(own[n]), 4), round(rival, 4))
        for n, row in enumerate(rows)
        if (rival := float(shares[n, best[n]])) >= threshold and rival > own[n]
    ]
    doubts.sort(key=lambda one: (one.key_share - one.rival_share, one.item_id))
    return Confident(tuple(doubts), threshold, len(rows))


def _shares(letters: NDArray[np.str_], asked: NDArray[np.bool_], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of asked models that gave each letter, shape (items, letters)."""
    counts = np.maximum(asked.sum(axis=1), 1)
    return np.stack([((letters == name) & asked).sum(axis=1) / counts for name in names], axis=1)
