"""Where reasoning over a universe breaks down: accuracy under four kinds of help.

These stages are this toolkit's own; the KnowledgeBerg paper names none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Condition = Literal["question", "universe", "operations", "both"]
CONDITIONS: tuple[str, ...] = get_args(Condition)
"""What the model is given: the question alone; also the gold universe; also the operations; both."""


@dataclass(frozen=True)
class Stages:
    """Accuracy lost at each stage, in [-1, 1]."""

    completeness: float
    """Lost for want of the full universe: accuracy given it minus accuracy of the question alone."""
    awareness: float
    """Lost for want of knowing what to do: accuracy given the operations minus question alone."""
    application: float
    """Lost although universe and operations are given: 1 minus that accuracy."""


def find_stages(accuracy: Mapping[str, float]) -> Stages:
    """Compare the accuracies of the four conditions.

    Raises:
        KeyError: a condition is missing.
    """
    alone = accuracy["question"]
    return Stages(
        completeness=accuracy["universe"] - alone,
        awareness=accuracy["operations"] - alone,
        application=1.0 - accuracy["both"],
    )
