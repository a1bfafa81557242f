"""What many models scored on the items of a pool, as one table without gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError, Refusal, RowErrors
from kina_build.fidelity.options import ResponseOptions
from kina_build.ranking.files.sources import ScoreTable, read_scores
from kina_build.rows.tables import need_rows
from kina_build.selection.labels import levels, read_labels

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Responses:
    """Scores of models on items, both sorted by name."""

    models: tuple[str, ...]
    item_ids: tuple[str, ...]
    scores: Floats
    """Shape (models, items), in [0, 1]."""
    strata: tuple[str, ...]
    """Names, sorted."""
    stratum: Indices
    """Position of each item's stratum in `strata`, shape (items,)."""

    @property
    def whole(self) -> Floats:
        """Return what each model scores on all items, shape (models,)."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def shares(self) -> Floats:
        """Return the share of the items that each stratum holds, shape (strata,)."""
        counts = np.bincount(self.stratum, minlength=len(self.strata))
        return np.asarray(counts / len(self.item_ids))

    def of(self, models: Indices) -> Responses:
        """Return the responses of some models."""
        names = tuple(self.models[at] for at in models.tolist())
        return Responses(names, self.item_ids, self.scores[models], self.strata, self.stratum)

    def find(self, item_ids: tuple[str, ...]) -> Indices:
        """Return the positions of some items.

        Raises:
            InputError: one has no responses.
        """
        place = {item_id: at for at, item_id in enumerate(self.item_ids)}
        lacking = [item_id for item_id in item_ids if item_id not in place]
        if lacking:
            raise InputError(f"item {lacking[0]!r} has no responses ({len(lacking)} such items)")
        return np.array([place[item_id] for item_id in item_ids], dtype=np.int64)


def read_responses(path: Path, strata: Mapping[str, str] | None = None) -> Responses:
    """Read scores.jsonl (rows item_id, model, score) or a matrix of one column a model.

    Raises:
        InputError: unreadable file, or an item without a stratum.
        RowErrors: faulty rows.
        Refusal: a model that lacks items, or fewer than three models.
    """
    return lay_out(read_scores(path), strata, str(path))


def lay_out(table: ScoreTable, strata: Mapping[str, str] | None = None, name: str = "scores") -> Responses:
    """Sort a table and refuse gaps: an error would be told of other items than were answered.

    Args:
        table: as it was read.
        strata: item to stratum; None: the disciplines of the table.
        name: of the file, for messages.

    Raises:
        InputError: an item without a stratum.
        Refusal: a model that lacks items, or fewer than three models.
    """
    if len(table.models) < LEAST_MODELS:
        raise Refusal(f"{name}: {len(table.models)} models: leaving one out takes {LEAST_MODELS} at least")
    gaps = np.argwhere(~np.isfinite(table.scores))
    if len(gaps):
        model, item = gaps[0].tolist()
        raise Refusal(
            f"{name}: {len(gaps)} scores are missing, first of {table.models[model]!r} for item "
            f"{table.item_ids[item]!r}",
            hint="leave out the models or the items that lack scores",
        )
    rows = sorted(range(len(table.models)), key=table.models.__getitem__)
    columns = sorted(range(len(table.item_ids)), key=table.item_ids.__getitem__)
    ids = tuple(table.item_ids[at] for at in columns)
    if strata is None:
        labels = [table.disciplines[at] if table.disciplines else "" for at in columns]
    else:
        lacking = [item_id for item_id in ids if item_id not in strata]
        if lacking:
            raise InputError(f"item {lacking[0]!r} has responses but no stratum ({len(lacking)} such items)")
        labels = [strata[item_id] for item_id in ids]
    names, codes = np.unique(np.array(labels, dtype=np.str_), return_inverse=True)
    return Responses(
        models=tuple(table.models[at] for at in rows),
        item_ids=ids,
        scores=np.ascontiguousarray(table.scores[np.ix_(rows, columns)]),
        strata=tuple(names.tolist()),
        stratum=codes.astype(np.int64),
    )


LEAST_MODELS = 5
"""Models without which nothing can be said of one that was left out."""


def read_responses_of(options: ResponseOptions) -> Responses:
    """Read responses with the strata that options name."""
    strata = options.strata
    labels = None if strata is None else read_labels(strata, *levels("stratum", options.by))
    return read_responses(options.responses, labels)


def read_families(path: Path) -> dict[str, str]:
    """Read rows of model, family.

    Raises:
        InputError: missing or empty file.
        RowErrors: a row without one of them.
    """
    rows = need_rows(path)
    faults = [
        row.fault(f"{name}: missing")
        for row in rows
        for name in ("model", "family")
        if not str(row.values.get(name) or "").strip()
    ]
    if faults:
        raise RowErrors(faults, hint="needed columns: model, family")
    return {str(row.values["model"]): str(row.values["family"]) for row in rows}
