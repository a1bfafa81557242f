"""The same replies by every rule of reading letters: ours, and those of published evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kina_build.scoring.multiple_choice import ItemScore
from kina_build.scoring.public import EXTRACTORS, RANDOM_FALLBACK
from kina_build.scoring.questions import Question
from kina_build.scoring.reports import ModelReport

Mark = Callable[[str], tuple[list[ItemScore], list[ModelReport]]]
"""Marks all models by the rule of this name."""


@dataclass(frozen=True)
class RuleRow:
    """One model under one rule of reading letters."""

    model: str
    extractor: str
    accuracy: float
    """AVG@k over the answered items."""
    rank: int
    """1 + models with a higher accuracy under this rule."""
    unread: int
    """Answered samples without a letter among the options."""
    with_random: float | None
    """For rules whose publishers guess what they cannot read: the accuracy that is then expected."""
    other_letters: int
    """Answered samples whose letter is another than ours."""


def compare_rules(mark: Mark, questions: Mapping[str, Question]) -> list[RuleRow]:
    """Mark all models by every rule, and tell what differs."""
    found: list[RuleRow] = []
    ours: dict[tuple[str, str], ItemScore] = {}
    for extractor in EXTRACTORS:
        scores, reports = mark(extractor)
        ours = ours or {(row.model, row.item_id): row for row in scores}
        accuracies = {report.model: report.accuracy_answered or 0.0 for report in reports}
        for model, accuracy in accuracies.items():
            own = [row for row in scores if row.model == model]
            found.append(
                RuleRow(
                    model=model,
                    extractor=extractor,
                    accuracy=accuracy,
                    rank=1 + sum(other > accuracy for other in accuracies.values()),
                    unread=sum(letter is None for row in own for letter in row.letters),
                    with_random=_with_random(own, questions) if extractor in RANDOM_FALLBACK else None,
                    other_letters=sum(
                        letter != mine
                        for row in own
                        for letter, mine in zip(
                            row.letters, ours[row.model, row.item_id].letters, strict=True
                        )
                    ),
                )
            )
    return found


def _with_random(rows: Sequence[ItemScore], questions: Mapping[str, Question]) -> float:
    """Return the accuracy to expect where letters that were not read are guessed."""
    expected = [
        row.score
        + (row.statuses.get("unreadable", 0) + row.statuses.get("empty", 0))
        / len(row.letters)
        / len(questions[row.item_id].choices)
        for row in rows
    ]
    return sum(expected) / len(expected) if expected else 0.0
