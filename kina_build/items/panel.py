"""The difficulty panel: admit items that most of a few named models answer wrongly.

Source: KINA's difficulty filter (arXiv 2606.05104): five models, at least three wrong.
The panel's models have seen which items they fail, so a leaderboard must mark them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from kina_build.config import ItemRules
from kina_build.errors import InputError
from kina_build.items.answers import AnswerMatrix
from kina_build.items.model import Item


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
