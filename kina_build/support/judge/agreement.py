"""How far judges agree with each other and with experts, and who agrees by chance only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.errors import Refusal
from kina_build.support.judge.ratings import (
    Pair,
    Rating,
)

NORMAL_95 = 1.6449
"""Standard normal quantile of one-sided 95 % bounds."""

Mark = tuple[Pair, str, int]
"""A pair, who rated it, and the rating."""


def compare_judges(ratings: Sequence[Rating]) -> list[dict[str, Any]]:
    """Compare every two judges on the pairs both rated.

    Returns:
        Objects of `judges`, `pairs`, `exact`, `within_one` (shares), `kappa` (quadratically
        weighted, Cohen 1968; None where a judge gave one rating only) and `kappa_low` (its
        one-sided 95 % lower bound).
    """
    marks = [((r.item_id, r.anchor_id), r.judge, r.rating) for r in ratings]
    return compare_crossed([cross_marks(marks)])


@dataclass(frozen=True)
class Crossed:
    """Who rated at all, and how often two judges gave a pair two ratings, by the judges."""

    judges: frozenset[str]
    counts: Mapping[tuple[str, str], Counter[tuple[int, int]]]


def cross_marks(marks: Iterable[Mark]) -> Crossed:
    """Count what every two judges gave the pairs both rated; marks of one pair must come together."""
    by_pair: dict[Pair, dict[str, int]] = defaultdict(dict)
    for pair, judge, rating in marks:
        by_pair[pair][judge] = rating
    counts: dict[tuple[str, str], Counter[tuple[int, int]]] = defaultdict(Counter)
    for given in by_pair.values():
        for one, two in combinations(sorted(given), 2):
            counts[one, two][given[one], given[two]] += 1
    return Crossed(frozenset(judge for given in by_pair.values() for judge in given), counts)


def compare_crossed(parts: Sequence[Crossed]) -> list[dict[str, Any]]:
    """Compare every two judges, as `compare_judges`, by the counts of all parts."""
    judges = sorted(frozenset().union(*(part.judges for part in parts)))
    rows = []
    for two in combinations(judges, 2):
        total = sum((part.counts.get(two, Counter()) for part in parts), Counter[tuple[int, int]]())
        cells = sorted(total)
        both = np.array(cells, dtype=float).reshape(-1, 2)
        rows.append({"judges": list(two), **_compare(both, np.array([total[cell] for cell in cells]))})
    return rows


def refuse_chance(
    agreement: Sequence[Mapping[str, Any]], rules: SupportRules = SupportRules(), who: str = "judge"
) -> None:
    """Stop where somebody agrees with nobody else better than by chance.

    Raises:
        Refusal: all that a judge shares with others, `rules.agreement_pairs` pairs or more, is at chance.
    """
    told = [row for row in agreement if row["pairs"] >= rules.agreement_pairs]
    backed = {name for row in told if not is_chance(row, rules) for name in row["judges"]}
    alone = next(iter(sorted({name for row in told for name in row["judges"]} - backed)), None)
    if alone is None:
        return
    best = max((row for row in told if alone in row["judges"]), key=lambda row: row["kappa"] or 0.0)
    other = next(name for name in best["judges"] if name != alone)
    raise Refusal(
        f"{who} {alone!r} agrees with no other better than by chance ({_kappa_of(best)} with {other!r}); "
        "nothing was written",
        hint=_ALLOW,
    )


def compare_or_refuse(
    marks: Iterable[Mark], rules: SupportRules = SupportRules(), who: str = "judge"
) -> list[dict[str, Any]]:
    """Compare every two who marked anything, and stop where one agrees with no other but by chance.

    Raises:
        Refusal: as refuse_chance.
    """
    agreement = compare_crossed([cross_marks(marks)])
    refuse_chance(agreement, rules, who)
    return agreement


def refuse_strangers(experts: Mapping[str, Any], rules: SupportRules = SupportRules()) -> None:
    """Stop where the judges' median agrees with the experts' no better than by chance.

    Raises:
        Refusal: so it is, on `rules.agreement_pairs` pairs or more.
    """
    if experts["pairs"] >= rules.agreement_pairs and is_chance(experts, rules):
        raise Refusal(
            f"the judges agree with the experts no better than by chance ({_kappa_of(experts)}); "
            "nothing was written",
            hint=_ALLOW,
        )


_ALLOW = "take other judges, or --allow-disagreement to use these all the same"


def is_chance(row: Mapping[str, Any], rules: SupportRules = SupportRules()) -> bool:
    """Tell whether a comparison's lower bound is at the floor or below.

    Two that gave one and the same rating throughout are not held to be at chance.
    """
    if rules.agreement_floor <= -1:
        return False
    if row["kappa_low"] is None:
        return bool(row["exact"] != 1)
    return bool(row["kappa_low"] <= rules.agreement_floor)


def _kappa_of(row: Mapping[str, Any]) -> str:
    kappa = "undefined, one of them rates all alike" if row["kappa"] is None else f"{row['kappa']:.3f}"
    return f"weighted kappa {kappa} on {row['pairs']} pairs"


def compare_experts(medians: Mapping[Pair, float], labels: Mapping[Pair, float]) -> dict[str, Any]:
    """Compare the judges' median with the experts' on the pairs both rated.

    Returns:
        `pairs`, `exact`, `within_one`, `kappa`, `bias` (mean of judges minus experts, in
        rating points) and `far_apart` (pairs two or more points apart, widest first).
    """
    shared = sorted(medians.keys() & labels.keys())
    gaps = {pair: medians[pair] - labels[pair] for pair in shared}
    both = np.array([(medians[pair], labels[pair]) for pair in shared], dtype=float).reshape(-1, 2)
    far = sorted((pair for pair in shared if abs(gaps[pair]) >= 2), key=lambda pair: (-abs(gaps[pair]), pair))
    return {
        **_compare(both, np.ones(len(both), dtype=np.int64)),
        "bias": round(float(np.mean(list(gaps.values()))), 4) if shared else None,
        "far_apart": [
            {"item_id": pair[0], "anchor_id": pair[1], "judges": medians[pair], "experts": labels[pair]}
            for pair in far
        ],
    }


def _compare(both: NDArray[np.float64], times: NDArray[np.int64]) -> dict[str, Any]:
    """Compare two raters.

    Args:
        both: what they gave a pair, shape (cells, 2).
        times: how many pairs they gave it, shape (cells,).
    """
    gap, pairs = np.abs(both[:, 0] - both[:, 1]), int(times.sum())
    kappa, low = _weighted_kappa(both, times)
    return {
        "pairs": pairs,
        "exact": round(float(times[gap == 0].sum()) / pairs, 4) if pairs else None,
        "within_one": round(float(times[gap <= 1].sum()) / pairs, 4) if pairs else None,
        "kappa": kappa,
        "kappa_low": low,
    }


def _weighted_kappa(both: NDArray[np.float64], times: NDArray[np.int64]) -> tuple[float | None, float | None]:
    """Return 1 - observed / expected squared difference and its lower bound; None where not defined.

    It is the correlation times a factor of means and spreads (Lin 1989), so that the bound is
    Fisher's for the correlation times that factor: above 0 just where the correlation's is.
    """
    if len(both) < 2 or np.ptp(both, axis=0).min() == 0:
        return None, None
    mean = np.average(both, axis=0, weights=times)
    off = both - mean
    one, two = np.average(off**2, axis=0, weights=times)
    shared = float(np.average(off[:, 0] * off[:, 1], weights=times))
    expected = float(one + two + (mean[0] - mean[1]) ** 2)
    kappa, pairs = round(2 * shared / expected, 4), int(times.sum())
    if pairs < 4:
        return kappa, None
    spread = float(np.sqrt(one * two))
    correlation = float(np.clip(shared / spread, -1 + 1e-12, 1 - 1e-12))
    low = 2 * spread / expected * np.tanh(np.arctanh(correlation) - NORMAL_95 / np.sqrt(pairs - 3))
    return kappa, round(float(low), 4)
