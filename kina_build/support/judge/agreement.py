"""How far judges agree with each other and with experts, and a calibration on the experts."""

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
from kina_build.support.judge.prompts import TOP_RATING
from kina_build.support.judge.ratings import (
    Pair,
    Rating,
)

NORMAL_95 = 1.6449
"""Standard normal quantile of one-sided 95 % bounds."""

Mark = tuple[Pair, str, int]
"""A pair, who rated it, and the rating."""

HALF_STEPS = tuple(step / 2 for step in range(2 * TOP_RATING + 1))
"""Every value a median of ratings can take."""


@dataclass(frozen=True)
class Calibration:
    """What a median rating of the judges is worth on the experts' scale."""

    values: tuple[float, ...]
    """Calibrated rating for each of HALF_STEPS; never decreasing."""
    labels: int
    """Pairs that both the judges and the experts rated."""
    error_before: float | None
    """Mean absolute difference from the experts, in rating points, before calibration."""
    error_after: float | None
    """The same after, each label predicted from the labels of other items."""
    applied: bool
    """False: too few labels, or no gain on held-out items; the values are then the identity."""

    def apply(self, medians: Mapping[Pair, float]) -> dict[Pair, float]:
        """Return calibrated ratings."""
        return {pair: self.values[round(2 * value)] for pair, value in medians.items()}


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


def calibrate_ratings(
    medians: Mapping[Pair, float], labels: Mapping[Pair, float], rules: SupportRules = SupportRules()
) -> Calibration:
    """Fit a monotone map from the judges' ratings to the experts'.

    Isotonic regression over the nine values of a median, each of which also holds
    `rules.calibration_prior` imagined labels that agree with the judges, so that a level
    with few labels stays near itself. It is applied only with at least
    `rules.calibration_labels` labels and where it lowers the error on held-out items.

    Args:
        medians: the judges' median ratings.
        labels: the experts' median ratings.
        rules: the two numbers above.
    """
    shared = sorted(medians.keys() & labels.keys())
    judged = np.array([medians[pair] for pair in shared])
    expert = np.array([labels[pair] for pair in shared])
    before = round(float(np.abs(judged - expert).mean()), 4) if shared else None
    if len(shared) < max(rules.calibration_labels, 2):
        return Calibration(HALF_STEPS, len(shared), before, None, applied=False)
    groups = np.unique([item_id for item_id, _ in shared], return_inverse=True)[1] % rules.calibration_folds
    predicted = np.empty(len(shared))
    for fold in np.unique(groups):
        held = groups == fold
        values = _isotonic(judged[~held], expert[~held], rules.calibration_prior)
        predicted[held] = values[np.rint(2 * judged[held]).astype(int)]
    after = round(float(np.abs(predicted - expert).mean()), 4)
    applied = before is not None and after < before
    values = _isotonic(judged, expert, rules.calibration_prior) if applied else np.array(HALF_STEPS)
    return Calibration(tuple(round(float(v), 6) for v in values), len(shared), before, after, applied=applied)


def _isotonic(judged: NDArray[np.float64], expert: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    from scipy.optimize import isotonic_regression

    steps = np.array(HALF_STEPS)
    at = np.concatenate([np.rint(2 * judged).astype(int), np.arange(len(steps))])
    weights = np.concatenate([np.ones(len(judged)), np.full(len(steps), prior)])
    mass = np.bincount(at, weights)
    mean = np.bincount(at, weights * np.concatenate([expert, steps])) / mass
    return np.asarray(isotonic_regression(mean, weights=mass).x)


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
