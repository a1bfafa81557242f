"""How much an order would change on other items: rank correlations, halves, thinning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.ranking.board import Board
from kina_build.ranking.bootstrap import Resamples
from kina_build.ranking.intervals import Floats, cluster_codes
from kina_build.ranking.ranks import average_ranks

TOP = 10
"""Models in a "top ten" figure."""

CHUNK_ROWS = 1000


@dataclass(frozen=True)
class Agreement:
    """Agreement of resampled orders with the full one, as means over resamples."""

    tau: float | None
    """Kendall's tau-b; None where an order has no two distinct values."""
    spearman: float | None
    top_overlap: float
    """Share of the full top ten that is in the resampled top ten."""
    leader_kept: float
    """Share of resamples that the full leader leads, ties shared out."""


@dataclass(frozen=True)
class Thinning:
    """The paper's stability figures at one subsampling rate."""

    rate: float
    items: int
    """Items in each subsample."""
    top_tau: float | None
    """Mean tau-b over the full top ten."""
    leader_kept: float
    variance_ratio: float
    """Its variance over a bootstrap's: (1 - rate) / rate, so that .9 shows only 11 %."""


def measure_agreement(board: Board, resamples: Resamples) -> Agreement:
    """Compare every resampled order with the full one."""
    full = board.accuracy
    ranks = average_ranks(resamples.means)
    top = min(TOP, len(full))
    best = np.argsort(-full, kind="stable")[:top]
    leader = resamples.means[:, best[0]]
    peak = resamples.means.max(axis=1)
    ties = (resamples.means == peak[:, None]).sum(axis=1)
    return Agreement(
        tau=mean_or_none(kendall_tau_b(resamples.means, full)),
        spearman=mean_or_none(_row_correlation(ranks, average_ranks(full[None, :]))),
        top_overlap=float((ranks[:, best] < top + 1).mean()),
        leader_kept=float(np.where(leader == peak, 1 / ties, 0.0).mean()),
    )


def split_half(board: Board, splits: int, seed: int) -> tuple[float | None, float | None]:
    """Return mean tau-b and mean Spearman between the orders of two random halves.

    Args:
        board: the scores.
        splits: random splits.
        seed: of the splits.
    """
    rng = np.random.default_rng(seed)
    items = len(board.item_ids)
    masks = np.zeros((splits, items))
    for mask in masks:
        mask[rng.permutation(items)[: items // 2]] = 1.0
    ones = np.ones_like(masks)
    first = (masks @ board.scores.T) / (items // 2)
    second = ((ones - masks) @ board.scores.T) / (items - items // 2)
    # sums of thirds differ in the last bit between BLAS builds: equal must stay equal
    first, second = first.round(12), second.round(12)
    return (
        mean_or_none(kendall_tau_b(first, second)),
        mean_or_none(_row_correlation(average_ranks(first), average_ranks(second))),
    )


def thin(board: Board, rate: float, samples: int, seed: int) -> Thinning:
    """Repeat the paper's stability check: subsamples without replacement, within disciplines.

    Each discipline gives round(rate * n_h) of its items, at least one.

    Args:
        board: the scores.
        rate: share of items kept.
        samples: subsamples.
        seed: of the draws.
    """
    full = board.accuracy
    best = np.argsort(-full, kind="stable")[:TOP]
    codes = cluster_codes(board.disciplines)
    rows = list(_subsamples(codes, rate, samples, np.random.default_rng(seed)))
    means = np.stack([board.scores[:, kept].mean(axis=1) for kept in rows]).round(12)
    leading = means[:, best[0]] >= means.max(axis=1)
    return Thinning(
        rate=rate,
        items=len(rows[0]),
        top_tau=mean_or_none(kendall_tau_b(means[:, best], full[best])),
        leader_kept=float(leading.mean()),
        variance_ratio=len(codes) / len(rows[0]) - 1,
    )


def kendall_tau_b(first: Floats, second: Floats) -> Floats:
    """Return Kendall's tau-b of each row of `first` with `second` (one row, or as many).

    Args:
        first: shape (rows, models).
        second: shape (models,) or (rows, models).

    Returns:
        Shape (rows,); NaN where a row is all ties.
    """
    other = np.broadcast_to(second, first.shape)
    out = np.empty(len(first))
    for start in range(0, len(first), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        out[part] = _tau_block(np.ascontiguousarray(first[part]), np.ascontiguousarray(other[part]))
    return out


def mean_or_none(values: Floats) -> float | None:
    """Average what is defined; None if nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _tau_block(x: Floats, y: Floats) -> Floats:
    agree, used_x, used_y = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
    for i in range(x.shape[1] - 1):
        sign_x = np.sign(x[:, i, None] - x[:, i + 1 :])
        sign_y = np.sign(y[:, i, None] - y[:, i + 1 :])
        used_x += np.count_nonzero(sign_x, axis=1)
        used_y += np.count_nonzero(sign_y, axis=1)
        agree += np.einsum("ij,ij->i", sign_x, sign_y)
    scale = np.sqrt(used_x * used_y)
    return np.asarray(np.divide(agree, scale, out=np.full(len(x), np.nan), where=scale > 0))


def _row_correlation(first: Floats, second: Floats) -> Floats:
    x = first - first.mean(axis=1, keepdims=True)
    y = second - second.mean(axis=1, keepdims=True)
    scale = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    product = (x * y).sum(axis=1)
    return np.asarray(np.divide(product, scale, out=np.full(len(scale), np.nan), where=scale > 0))


def _subsamples(
    codes: NDArray[np.intp], rate: float, samples: int, rng: np.random.Generator
) -> Iterator[NDArray[np.intp]]:
    sizes = np.bincount(codes)
    quota = np.maximum(1, np.floor(rate * sizes + 0.5).astype(np.intp))
    within = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = within < np.repeat(quota, sizes)
    for _ in range(samples):
        yield np.lexsort((rng.random(len(codes)), codes))[keep]
