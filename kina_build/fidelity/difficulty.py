"""`kina difficulty` as a function: how hard items are, how well they tell models apart, and how surely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from kina_build.config import FidelityRules
from kina_build.fidelity.irt import fit, fit_squares
from kina_build.fidelity.responses import Responses
from kina_build.ranking.itemanalysis import rest_correlation
from kina_build.rows.jsonl import write_records

MISFIT = 2.0
"""Infit or outfit above which an item's answers are noise beside the model (Wright and Linacre 1994)."""


class ItemDifficulty(BaseModel):
    """How hard one item is, and how it separates models."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    item_id: str
    p: float
    """Mean score over models."""
    rest_correlation: float | None
    """Of its scores with those on all other items; None where all models score the same."""
    difficulty: float
    """b of the 1PL: the ability at which half get it right, in standard deviations of models."""
    difficulty_low: float
    difficulty_high: float
    discrimination: float
    """a of the 2PL."""
    discrimination_low: float
    discrimination_high: float
    infit: float
    """Of the 1PL."""
    outfit: float
    flags: tuple[str, ...] = ()
    """all right | all wrong | wrong sign (better models miss it: read its key again) | misfit."""


@dataclass(frozen=True)
class Difficulties:
    """The figures of all items, and what may be said of them."""

    items: Sequence[ItemDifficulty]
    slope: float
    """Discrimination that all items of the 1PL share."""
    models: int
    settled: bool
    """Whether both fits came to rest."""
    warnings: tuple[str, ...]

    @property
    def report(self) -> dict[str, Any]:
        """Return what is told of them."""
        counts: dict[str, int] = {}
        for item in self.items:
            for flag in item.flags:
                counts[flag] = counts.get(flag, 0) + 1
        return {
            "items": len(self.items),
            "models": self.models,
            "shared_discrimination": round(self.slope, 4),
            "settled": self.settled,
            "flags": dict(sorted(counts.items())),
            "warnings": list(self.warnings),
            "hardest": [one.item_id for one in sorted(self.items, key=lambda one: -one.difficulty)[:10]],
        }

    def write(self, path: Path) -> None:
        """Write a row an item, by id."""
        write_records(path, self.items)

    def __str__(self) -> str:
        """Say how many items were looked at, and what to read again."""
        flags = ", ".join(f"{name} {count}" for name, count in self.report["flags"].items())
        return "\n".join(
            (f"{len(self.items)} items by {self.models} models; {flags or 'no flags'}", *self.warnings)
        )


def measure_difficulty(responses: Responses, rules: FidelityRules = FidelityRules()) -> Difficulties:
    """Measure items by classical figures, the 1PL and the 2PL.

    Args:
        responses: of all models.
        rules: level of intervals, and the models below which a warning is due.
    """
    from scipy.stats import norm

    easy = fit(responses.scores, "1PL")
    sharp = fit(responses.scores, "2PL", easy)
    infit, outfit = fit_squares(responses.scores, easy)
    z = float(norm.ppf((1 + rules.level) / 2))
    p, rest = responses.scores.mean(axis=0), rest_correlation(responses.scores)
    items = [
        ItemDifficulty(
            item_id=item_id,
            p=round(float(p[at]), 6),
            rest_correlation=None if np.isnan(rest[at]) else round(float(rest[at]), 6),
            **_interval("difficulty", easy.difficulty[at], easy.difficulty_error[at], z),
            **_interval("discrimination", sharp.slope[at], sharp.slope_error[at], z),
            infit=round(float(infit[at]), 4),
            outfit=round(float(outfit[at]), 4),
            flags=_flags(
                p[at],
                rest[at],
                steepest=sharp.slope[at] + z * sharp.slope_error[at],
                square=max(infit[at], outfit[at]),
            ),
        )
        for at, item_id in enumerate(responses.item_ids)
    ]
    settled = easy.settled and sharp.settled
    return Difficulties(
        items, float(easy.slope[0]), len(responses.models), settled, _warn(responses, rules, settled)
    )


def _interval(name: str, value: float, error: float, z: float) -> dict[str, Any]:
    ends = {name: value, f"{name}_low": value - z * error, f"{name}_high": value + z * error}
    return {key: round(float(end), 4) for key, end in ends.items()}


def _flags(p: float, rest: float, *, steepest: float, square: float) -> tuple[str, ...]:
    found = {
        "all right": p == 1,
        "all wrong": p == 0,
        "wrong sign": bool(rest < 0 and steepest < 0),
        "misfit": bool(square > MISFIT),
    }
    return tuple(name for name, holds in found.items() if holds)


def _warn(responses: Responses, rules: FidelityRules, settled: bool) -> tuple[str, ...]:
    count = len(responses.models)
    told = []
    if count < rules.models_1pl:
        told.append(
            f"{count} models are few for a difficulty: {rules.models_1pl} or more give useful intervals"
        )
    if count < rules.models_2pl:
        told.append(
            f"{count} models are few for a discrimination ({rules.models_2pl} or more): "
            "it rests on its prior as much as on them"
        )
    if not settled:
        told.append("the fit did not come to rest")
    return tuple(told)
