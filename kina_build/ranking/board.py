"""The score board: models by items, complete and sorted, and who is left off it."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from kina_build.errors import InputError, Refusal

Scores = NDArray[np.float64]

Missing = Literal["wrong", "common", "bounds"]
"""What becomes of a missing score: it counts as wrong; its item is left out for all; wrong, with bounds."""

USED_IN_FILTER = "used in the filter"


class NotRanked(BaseModel):
    """Name a model that has scores but takes no part in the ranking."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    reason: str
    items: int
    """Items it has a score for."""
    of: int
    """Items on the board."""
    accuracy: float | None
    """Mean over the items it has; not comparable with the standings."""


@dataclass(frozen=True)
class Board:
    """Scores in [0, 1] of every ranked model on every item; rows and columns sorted by name."""

    models: tuple[str, ...]
    item_ids: tuple[str, ...]
    scores: Scores
    """Shape (models, items), no gaps."""
    disciplines: tuple[str, ...]
    """One an item; the empty string where none is given."""
    clusters: tuple[str, ...]
    """One an item: items that share it (a passage) are not independent; alone, its own id."""
    not_ranked: tuple[NotRanked, ...] = ()
    coverage: tuple[float, ...] = ()
    """Share of the items that were asked for which each model has a score; empty: all of them."""
    best: tuple[float, ...] = ()
    """Accuracy of each model had it been right wherever it has no score; empty: nothing is missing."""

    @functools.cached_property
    def accuracy(self) -> Scores:
        """Return each model's mean score, shape (models,)."""
        return np.asarray(self.scores.mean(axis=1))

    @functools.cached_property
    def binary(self) -> bool:
        """Tell whether every score is 0 or 1 (one answer an item, right or wrong)."""
        return bool(np.isin(self.scores, (0.0, 1.0)).all())

    @functools.cached_property
    def clustered(self) -> bool:
        """Tell whether some items share a cluster."""
        return len(set(self.clusters)) < len(self.clusters)


def build_board(
    models: Sequence[str],
    item_ids: Sequence[str],
    scores: Scores,
    disciplines: Sequence[str] | None = None,
    *,
    clusters: Mapping[str, str] | None = None,
    filter_models: Collection[str] = (),
    only: Iterable[str] | None = None,
    known: Scores | None = None,
    missing: Missing | None = None,
) -> Board:
    """Sort a matrix into a board and set aside models that cannot be ranked fairly.

    A model with gaps is not ranked (its mean is over other items than the rest's) unless `missing`
    says what becomes of them, nor is one that helped to pick the items.

    Args:
        models: unique names, one a row.
        item_ids: unique ids, one a column.
        scores: shape (models, items), in [0, 1], NaN where a model has none.
        disciplines: one an item.
        clusters: item_id to cluster, for items that share a passage or a template.
        filter_models: models whose failures chose the items.
        only: the items to rank on, before gaps are looked for; default all.
        known: share of an item's samples behind each score, where some brought no answer; shape as
            scores. Under wrong and bounds the others count as wrong.
        missing: what becomes of gaps; None: a model that has some is not ranked.

    Raises:
        InputError: repeated names, a score outside [0, 1], an unknown filter model or item.
        Refusal: fewer than two items, or no model left to rank.
    """
    _check(models, item_ids, scores, filter_models)
    columns = wanted = _columns(item_ids, only)
    if len(columns) < 2:
        raise Refusal("a ranking needs at least two items")
    share = np.where(np.isnan(scores), 0.0, 1.0 if known is None else known)
    if missing == "common":
        columns = _common(columns, models, scores, filter_models)
    ids = tuple(item_ids[c] for c in columns)
    fields = tuple((disciplines or [""] * len(item_ids))[c] for c in columns)
    ranked: list[int] = []
    aside: list[NotRanked] = []
    for row in sorted(range(len(models)), key=models.__getitem__):
        reason = _reason_against(models[row], scores[row, columns], filter_models, missing)
        if reason:
            aside.append(_set_aside(models[row], scores[row, columns], reason))
        else:
            ranked.append(row)
    if not ranked:
        raise Refusal(
            "no model can be ranked: " + "; ".join(f"{a.model}: {a.reason}" for a in aside[:3]),
            hint="score all on the same items, or say what becomes of gaps: --missing wrong|common|bounds",
        )
    grid = np.ix_(ranked, columns)
    filled = _fill(scores[grid], share[grid], missing)
    asked = share[np.ix_(ranked, wanted)].mean(axis=1)
    return Board(
        models=tuple(models[row] for row in ranked),
        item_ids=ids,
        scores=np.ascontiguousarray(filled),
        disciplines=fields,
        clusters=tuple((clusters or {}).get(item_id, item_id) for item_id in ids),
        not_ranked=tuple(aside),
        coverage=tuple(map(float, asked)) if (asked < 1).any() else (),
        best=_best(filled, share[grid], missing),
    )


def _fill(scores: Scores, share: Scores, missing: Missing | None) -> Scores:
    """Count what brought no answer as wrong, where that is wanted."""
    return np.nan_to_num(scores) * share if missing in ("wrong", "bounds") else scores


def _best(filled: Scores, share: Scores, missing: Missing | None) -> tuple[float, ...]:
    if missing != "bounds":
        return ()
    return tuple(float(value) for value in (filled + 1 - share).mean(axis=1))


def _common(
    columns: list[int], models: Sequence[str], scores: Scores, filter_models: Collection[str]
) -> list[int]:
    """Return the items for which every model to be ranked has a score.

    Raises:
        Refusal: fewer than two are left.
    """
    rows = [row for row, model in enumerate(models) if model not in filter_models]
    gaps = np.isnan(scores[np.ix_(rows, columns)])
    left = [column for column, lacking in zip(columns, gaps.sum(axis=0), strict=True) if not lacking]
    if len(left) < 2:
        worst = int(gaps.sum(axis=1).argmax()) if rows else 0
        raise Refusal(
            f"{len(left)} items are scored for every model",
            hint=f"{models[rows[worst]]!r} lacks {int(gaps[worst].sum())} of {len(columns)}: leave it out"
            if rows
            else "no model is left to rank",
        )
    return left


def _check(
    models: Sequence[str], item_ids: Sequence[str], scores: Scores, filter_models: Collection[str]
) -> None:
    for kind, names in (("model", models), ("item_id", item_ids)):
        if len(set(names)) != len(names):
            raise InputError(f"a {kind} stands more than once on the board")
    known = scores[~np.isnan(scores)]
    if known.size and (known.min() < 0 or known.max() > 1):
        raise InputError("a score is outside [0, 1]", hint="divide percents by 100")
    strangers = sorted(set(filter_models).difference(models))
    if strangers:
        raise InputError(f"filter model {strangers[0]!r} has no scores", hint=f"known: {', '.join(models)}")


def _columns(item_ids: Sequence[str], only: Iterable[str] | None) -> list[int]:
    wanted = set(item_ids if only is None else only)
    unknown = sorted(wanted.difference(item_ids))
    if unknown:
        raise InputError(f"{len(unknown)} items to rank on have no scores, first {unknown[0]!r}")
    return sorted((c for c, i in enumerate(item_ids) if i in wanted), key=item_ids.__getitem__)


def _reason_against(model: str, row: Scores, filter_models: Collection[str], missing: Missing | None) -> str:
    if model in filter_models:
        return USED_IN_FILTER
    scored = int((~np.isnan(row)).sum())
    if missing in ("wrong", "bounds") and scored:
        return ""
    return "" if scored == len(row) else f"scores for {scored} of {len(row)} items"


def _set_aside(model: str, row: Scores, reason: str) -> NotRanked:
    known = row[~np.isnan(row)]
    accuracy = round(float(known.mean()), 6) if known.size else None
    return NotRanked(model=model, reason=reason, items=known.size, of=len(row), accuracy=accuracy)
