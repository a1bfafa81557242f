"""Short forms: so many items of a pool, drawn by a method.

Each method draws from strata in proportion. Two of them look at difficulty, which is what the
teaching models found hard: a model that a form is judged by must not be among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from kina_build.fidelity.responses import Floats, Indices, Responses
from kina_build.selection.balance import cut_bins
from kina_build.selection.budget import apportion

Method = Literal["random", "bins", "spread"]
"""random: stratified random; bins: random in bins of difficulty inside each stratum; spread: every n-th item
of each stratum in the order of difficulty, from a random start."""

Draw = Callable[[Responses, int, int, np.random.Generator], Indices]
"""Responses of the teaching models, items to draw, bins of a stratum, random numbers: to rising positions."""


def draw_random(taught: Responses, size: int, bins: int, rng: np.random.Generator) -> Indices:
    """Draw without replacement, each stratum by largest remainder: what `kina sample` draws."""
    counts = np.bincount(taught.stratum, minlength=len(taught.strata)).tolist()
    supply = dict(zip(taught.strata, counts, strict=True))
    given = apportion(size, supply, supply)
    drawn = [
        rng.choice(np.flatnonzero(taught.stratum == at), size=given[name], replace=False)
        for at, name in enumerate(taught.strata)
    ]
    return np.sort(np.concatenate(drawn))


def draw_bins(taught: Responses, size: int, bins: int, rng: np.random.Generator) -> Indices:
    """Draw without replacement in bins of difficulty inside each stratum.

    A bin's share is rounded up or down by one random offset over all bins in order, so that none is
    favoured and each stratum too gets its share rounded up or down.
    """
    cell = taught.stratum * bins + cut_bins(_difficulty(taught), taught.stratum, bins)
    counts = np.bincount(cell, minlength=len(taught.strata) * bins)
    order = _shuffled_within(cell, rng)
    return np.sort(np.concatenate(_first_of_each(order, counts, _round(counts, size, rng))))


def draw_spread(taught: Responses, size: int, bins: int, rng: np.random.Generator) -> Indices:
    """Take every n-th item in the order of stratum and difficulty, from a random start.

    Difficulty rises in one stratum and falls in the next, so that a late start does not make all harder.
    """
    tie = rng.permutation(len(taught.item_ids))
    turned = np.where(taught.stratum % 2, -1.0, 1.0)
    order = np.lexsort((tie, turned * _difficulty(taught), taught.stratum))
    places = np.floor((np.arange(size) + rng.random()) * len(order) / size).astype(np.int64)
    return np.sort(order[places])


DRAWS: dict[Method, Draw] = {"random": draw_random, "bins": draw_bins, "spread": draw_spread}


def _difficulty(taught: Responses) -> Floats:
    return np.asarray(1 - taught.scores.mean(axis=0))


def _round(counts: Indices, size: int, rng: np.random.Generator) -> Indices:
    """Share a size in proportion to counts, each rounded up or down by one random offset."""
    ends = np.cumsum(counts) * size / counts.sum()
    marks = np.floor(np.append(ends[:-1], size) + rng.random())
    marks[-1] = size
    return np.diff(marks, prepend=0).astype(np.int64)


def _shuffled_within(cell: Indices, rng: np.random.Generator) -> Indices:
    return np.asarray(np.lexsort((rng.permutation(len(cell)), cell)), dtype=np.int64)


def _first_of_each(order: Indices, counts: Indices, wanted: Indices) -> list[Indices]:
    starts = np.cumsum(counts) - counts
    return [order[at : at + n] for at, n in zip(starts.tolist(), wanted.tolist(), strict=True)]
