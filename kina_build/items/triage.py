"""Which keys may be wrong: what strong models agree on, and how an item discriminates.

Nothing is changed: the result is a queue for reviewers, most suspicious first. A vote of
8 of the 10 best models for one other option flags 4.4 % of MMLU-Pro.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from kina_build.config import ItemRules
from kina_build.errors import InputError
from kina_build.items.answers import NONE, AnswerMatrix
from kina_build.items.model import Item
from kina_build.shares import bound_share


class Suspicion(BaseModel):
    """Why one item's key should be looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int
    """1 is to be looked at first."""
    item_id: str
    key: str
    flags: tuple[str, ...]
    """agreed_rival, negative_discrimination, undefined_discrimination."""
    rival: str | None
    """The wrong option that most strong models chose."""
    rival_votes: int
    key_votes: int
    voters: int
    """Strong models that were asked."""
    right: int
    asked: int
    """Models asked, weak ones included."""
    p_value: float
    """The item's p-value of classical test theory: the share of models that are right."""
    p_low: float
    """Wilson interval of that share, 95 %."""
    p_high: float
    discrimination: float | None
    """Correlation of being right here with the share right on all other items; none: undefined."""


@dataclass(frozen=True)
class Triage:
    """The queue, and what it was made with."""

    queue: tuple[Suspicion, ...]
    strong: tuple[str, ...]
    """The models whose agreement counts, best first."""
    accuracy: dict[str, float]
    items: int
    """Items that any model was asked."""


def triage_keys(
    items: Sequence[Item],
    matrix: AnswerMatrix,
    rules: ItemRules = ItemRules(),
    strong: Sequence[str] | None = None,
) -> Triage:
    """Rank the items whose keys models contradict.

    Args:
        items: the pool, in the order of the matrix.
        matrix: letters by item and model.
        rules: how many strong models, and how many votes raise the flag.
        strong: names of the strong models; by default the most accurate ones.

    Raises:
        InputError: a strong model that is not in the matrix.
    """
    right = matrix.right(items)
    accuracy = _accuracy(right, matrix)
    chosen = (
        list(strong)
        if strong
        else sorted(matrix.models, key=lambda m: (-accuracy[m], m))[: rules.strong_models]
    )
    missing = [name for name in chosen if name not in matrix.models]
    if missing:
        raise InputError(f"no responses of model {missing[0]!r}", hint=f"models: {', '.join(matrix.models)}")
    columns = [matrix.models.index(name) for name in chosen]
    needed = math.ceil(rules.rival_share * len(chosen))
    correlations = discriminations(right, matrix.asked)
    found = [
        _look_at(items[row], _answers(matrix, right, row), columns, correlations[row], needed)
        for row in np.flatnonzero(matrix.asked.any(axis=1))
    ]
    flagged = sorted((one for one in found if one.flags), key=_gravity)
    queue = tuple(one.model_copy(update={"rank": n}) for n, one in enumerate(flagged, start=1))
    return Triage(queue, tuple(chosen), accuracy, len(found))


def discriminations(right: NDArray[np.bool_], asked: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Correlate being right on each item with the share right on all others.

    Args:
        right: shape (items, models).
        asked: shape (items, models); models not asked an item are left out of its correlation.

    Returns:
        Shape (items,); NaN where fewer than three models were asked or all did alike.
    """
    scores, counts = right.sum(axis=0), asked.sum(axis=0)
    rest = (scores - right) / np.maximum(counts - asked, 1)
    weights = asked.astype(float)
    n = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = right - (right * weights).sum(axis=1, keepdims=True) / n[:, None]
        y = rest - (rest * weights).sum(axis=1, keepdims=True) / n[:, None]
        covariance = (weights * x * y).sum(axis=1)
        spread = np.sqrt((weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1))
        found = np.where((n >= 3) & (spread > 1e-12), covariance / spread, np.nan)
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class _Answers:
    """One item's row of the matrix; each of shape (models,)."""

    letters: NDArray[np.str_]
    asked: NDArray[np.bool_]
    right: NDArray[np.bool_]


def _answers(matrix: AnswerMatrix, right: NDArray[np.bool_], row: int) -> _Answers:
    return _Answers(matrix.letters[row], matrix.asked[row], right[row])


def _accuracy(right: NDArray[np.bool_], matrix: AnswerMatrix) -> dict[str, float]:
    counts = matrix.asked.sum(axis=0)
    return {
        model: float(right[:, column].sum() / counts[column]) if counts[column] else 0.0
        for column, model in enumerate(matrix.models)
    }


def _look_at(
    item: Item, answers: _Answers, columns: Sequence[int], correlation: float, needed: int
) -> Suspicion:
    votes = Counter(str(answers.letters[column]) for column in columns if answers.asked[column])
    voters = votes.total()
    key_votes = votes.pop(item.correct_answer, 0)
    votes.pop(NONE, None)
    rival, rival_votes = min(votes.items(), key=lambda pair: (-pair[1], pair[0]), default=(None, 0))
    asked, hits = int(answers.asked.sum()), int(answers.right.sum())
    low, high = bound_share(hits, asked)
    flags = (
        ("agreed_rival", rival_votes >= needed),
        ("negative_discrimination", correlation < 0),
        ("undefined_discrimination", math.isnan(correlation)),
    )
    return Suspicion(
        rank=0,
        item_id=item.item_id,
        key=item.correct_answer,
        flags=tuple(name for name, raised in flags if raised),
        rival=rival,
        rival_votes=rival_votes,
        key_votes=key_votes,
        voters=voters,
        right=hits,
        asked=asked,
        p_value=round(hits / asked, 4),
        p_low=round(low, 4),
        p_high=round(high, 4),
        discrimination=None if math.isnan(correlation) else round(float(correlation), 4),
    )


def _gravity(one: Suspicion) -> tuple[int, int, float, str]:
    """Order the queue: votes for the rival, few for the key, poor discrimination."""
    return -one.rival_votes, one.key_votes, one.discrimination or 0.0, one.item_id


class Difficulty(BaseModel):
    """How one item fared with the panel."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    wrong: tuple[str, ...]
    """Models that did not give the key, whether they gave another letter or none."""
    missing: tuple[str, ...]
    """Models that were not asked; with any, the item is not admitted."""
    difficulty: float | None
    """D: the share of the panel that is wrong; none where a model is missing."""
    admitted: bool


@dataclass(frozen=True)
class Panel:
    """Difficulties of all items, and the panel they were measured with."""

    difficulties: tuple[Difficulty, ...]
    models: tuple[str, ...]
    low: float
    high: float


def convene_panel(
    items: Sequence[Item], matrix: AnswerMatrix, models: Sequence[str], rules: ItemRules = ItemRules()
) -> Panel:
    """Measure each item's difficulty and admit those inside the interval.

    Args:
        items: the pool, in the order of the matrix.
        matrix: letters by item and model.
        models: the panel, by name.
        rules: the interval of D.

    Raises:
        InputError: a model without responses.
    """
    absent = [model for model in models if model not in matrix.models]
    if absent or not models:
        named = f"model {absent[0]!r}" if absent else "any panel model"
        raise InputError(f"no responses of {named}", hint=f"models: {', '.join(matrix.models)}")
    columns = {model: matrix.models.index(model) for model in models}
    right = matrix.right(items)
    found = []
    for row, item in enumerate(items):
        wrong = tuple(m for m, c in columns.items() if matrix.asked[row, c] and not right[row, c])
        missing = tuple(m for m, c in columns.items() if not matrix.asked[row, c])
        share = None if missing else len(wrong) / len(models)
        admitted = share is not None and rules.difficulty_low <= share <= rules.difficulty_high
        found.append(
            Difficulty(
                item_id=item.item_id, wrong=wrong, missing=missing, difficulty=share, admitted=admitted
            )
        )
    return Panel(tuple(found), tuple(models), rules.difficulty_low, rules.difficulty_high)
