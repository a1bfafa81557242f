"""What random sets of the same size and quotas reach, and which anchors and items no longer tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.inputs import Inputs
from kina_build.selection.labels import code_items
from kina_build.selection.records import Selection
from kina_build.support.matrix import SPREAD, SupportMatrix
from kina_build.support.sparse import SparseLevels, best_levels, rows_of

Indices = NDArray[np.int64]

REDUNDANCY = "redundancy"
LOW, HIGH = 5, 95
"""Percentiles of the random sets between which a selection is as good as random."""
DECIMALS = 6
"""Digits kept of cosines, whose last ones depend on the machine."""


@dataclass(frozen=True)
class Beside:
    """One measure of the selection beside that of random sets."""

    measure: str
    """coverage (F), strata reached, or redundancy: the mean cosine of two items' support, least best."""
    own: float
    mean: float
    low: float
    """5 % of the random sets are below."""
    high: float
    """5 % of the random sets are above."""
    draws: int
    verdict: str
    """better | within | worse."""


@dataclass(frozen=True)
class _Part:
    """The items of one domain that may be drawn, and how many of which stratum."""

    rows: Indices
    codes: Indices
    """Stratum of each row."""
    size: int
    lower: Indices
    upper: Indices
    bounded: bool


def draw_beside(selection: Selection, inputs: Inputs, *, draws: int, seed: int) -> list[Beside]:
    """Draw random sets of the selection's sizes within its quotas, and measure them like it.

    Conflicts and must-include items are not looked at, which keeps draws uniform.

    Args:
        selection: the set.
        inputs: what it was made from.
        draws: number of sets.
        seed: of the draws.
    """
    rng, matrix = np.random.default_rng(seed), inputs.matrix
    parts, strata = _parts(selection, inputs), inputs.strata
    codes = None if strata is None else code_items(strata, matrix.item_ids)[1]
    own = [part.rows[np.isin(part.rows, matrix.rows(selection.item_ids))] for part in parts]
    values = _measure(matrix, codes, own)
    sets = [_measure(matrix, codes, [_draw(part, rng) for part in parts]) for _ in range(draws)]
    return [_beside(name, value, [one[name] for one in sets]) for name, value in values.items()]


def _parts(selection: Selection, inputs: Inputs) -> list[_Part]:
    names, domain = inputs.domain_codes
    strata, codes = code_items(inputs.strata, inputs.matrix.item_ids)
    open_items = np.ones(len(codes), dtype=bool)
    open_items[inputs.matrix.rows(inputs.closed)] = False
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[inputs.matrix.rows(selection.item_ids)] = True
    found = []
    for name in [name for part in selection.domains for name in part.sizes]:
        here = np.full(len(codes), not name) if name not in names else domain == names.index(name)
        rows, size = np.flatnonzero(here & (open_items | chosen)), int((here & chosen).sum())
        lower, upper = np.zeros(len(strata), dtype=np.int64), np.full(len(strata), size)
        quotas = [q for q in inputs.quotas if q.stratum in strata and (q.k is None or q.domain == name)]
        for quota in quotas:
            at = strata.index(quota.stratum)
            lower[at], upper[at] = quota.lower, size if quota.upper is None else min(quota.upper, size)
        found.append(_Part(rows, codes[rows], size, lower, upper, bool(quotas)))
    return found


def _draw(part: _Part, rng: np.random.Generator) -> Indices:
    """Draw a set: in random order first what lower quotas need, then what upper ones let in."""
    if not part.bounded:
        return part.rows[rng.choice(len(part.rows), part.size, replace=False, shuffle=False)]
    order = rng.permutation(len(part.rows))
    codes = part.codes[order]
    by_stratum = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[by_stratum], np.arange(len(part.lower)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[by_stratum] = np.arange(len(order)) - starts[codes[by_stratum]]
    claimed = rank < part.lower[codes]
    spare = order[~claimed & (rank < part.upper[codes])]
    drawn: Indices = part.rows[np.concatenate([order[claimed], spare])[: part.size]]
    return drawn


def _beside(measure: str, value: float, drawn: Sequence[float]) -> Beside:
    low, high = np.percentile(drawn, [LOW, HIGH]).tolist()
    below, above = ("better", "worse") if measure == REDUNDANCY else ("worse", "better")
    verdict = below if value < low else above if value > high else "within"
    return Beside(measure, value, math.fsum(drawn) / len(drawn), low, high, len(drawn), verdict)


def _measure(matrix: SupportMatrix, codes: Indices | None, drawn: Sequence[Indices]) -> dict[str, float]:
    """Return the measures of a set, given domain by domain: its levels are read once."""
    parts = [rows_of(matrix.levels, rows) for rows in drawn if len(rows)]
    covered = sum(int(part.max(axis=0).astype(np.int64) @ matrix.weights) for part in parts)
    found = {"coverage": covered / matrix.unit}
    if codes is not None:
        found["strata reached"] = float(len(np.unique(codes[np.concatenate(drawn)])))
    return found | {REDUNDANCY: _redundancy(parts)}


def _redundancy(parts: Sequence[NDArray[Any]]) -> float:
    """Return the mean cosine of the support of two items: from the length of the sum of unit rows."""
    total: NDArray[np.float64] = np.zeros(1)
    count = lone = 0
    for part in parts:
        summed, told = _sum_units(part)
        total, count, lone = total + summed, count + len(part), lone + told
    pairs = count * (count - 1)
    return round((float(total @ total) - lone) / pairs, DECIMALS) if pairs else 0.0


def _sum_units(part: Any) -> tuple[NDArray[np.float64], int]:
    """Add up rows of length 1, and count the rows that have a length."""
    if isinstance(part, SparseLevels):
        rows, columns, values = part.pairs()
        squares = np.bincount(rows, weights=values.astype(np.float64) ** 2, minlength=len(part))
        shares = values / np.sqrt(squares)[rows]
        summed = np.bincount(columns, weights=shares, minlength=part.shape[1]).astype(np.float64)
        return summed, int((squares > 0).sum())
    levels = part.astype(np.float64)
    lengths = np.sqrt((levels**2).sum(axis=1, keepdims=True))
    unit = np.divide(levels, lengths, out=np.zeros_like(levels), where=lengths > 0)
    return unit.sum(axis=0), int((lengths > 0).sum())


@dataclass(frozen=True)
class Survey:
    """Which anchors and items no longer tell sets apart."""

    full: tuple[str, ...]
    """Anchors of experts that no eligible item supports more than the set does."""
    bare: tuple[str, ...]
    """Anchors with weight that no eligible item supports."""
    silent: tuple[str, ...]
    """Chosen items that support no anchor."""
    silent_eligible: int
    """Eligible items that support no anchor."""


def survey(matrix: SupportMatrix, item_ids: Iterable[str], exclude: Iterable[str] = ()) -> Survey:
    """Name the anchors that are full, those that nothing supports, and chosen items that support nothing.

    Args:
        matrix: the support.
        item_ids: the selected items.
        exclude: items that could not be taken.
    """
    chosen = matrix.rows(item_ids)
    weighty = (matrix.weights > 0) & ~np.array([a.startswith(SPREAD) for a in matrix.anchor_ids])
    open_items = np.ones(len(matrix.item_ids), dtype=bool)
    open_items[matrix.rows(exclude)] = False
    open_items[chosen] = True
    reach = np.zeros(len(matrix.weights), dtype=np.int64)
    silent = np.zeros(len(open_items), dtype=bool)
    for rows in matrix.slices():
        levels = matrix.levels[rows]
        reach = np.maximum(reach, levels[open_items[rows]].max(axis=0, initial=0))
        silent[rows] = ~(levels[:, weighty] > 0).any(axis=1)
    cover = best_levels(matrix.levels, np.array(chosen, dtype=np.int64))
    return Survey(
        full=_named(matrix, weighty & (reach > 0) & (cover == reach)),
        bare=_named(matrix, weighty & (reach == 0)),
        silent=tuple(matrix.item_ids[row] for row in chosen if silent[row]),
        silent_eligible=int((silent & open_items).sum()),
    )


def _named(matrix: SupportMatrix, mask: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(matrix.anchor_ids[column] for column in np.flatnonzero(mask).tolist())
