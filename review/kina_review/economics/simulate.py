"""Flat pay against the tournament at equal budget, on an invented but stated population.

Theorem 1 of the paper says that the released quality under the tournament dominates that
under flat pay in the weak first-order sense. The simulation checks it on samples, with
the Dvoretzky-Kiefer-Wolfowitz band that says how far two samples may differ by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kina_build.config import Section
from kina_review.economics.bonus import Watch, collusion_bonus, drops_of, flat_rate
from kina_review.economics.calibration import NormalScores, PassRates, normal_gaps, normal_pass_rates
from kina_review.economics.dominance import Dominance, Floats, check_dominance
from kina_review.rubric import REPLY_ROUNDS, Tie

Scheme = Literal["flat", "tournament"]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Population(Section):
    """Who reviews, what effort does, and how work is paid: all numbers of a scenario."""

    items: Annotated[int, Field(gt=0, le=2_000_000)] = 20_000
    low_quality: float = 0.0
    """Mean quality of a low-effort review."""
    high_quality: float = 1.0
    quality_sd: NonNegative = 0.6
    """Spread of quality among reviews of equal effort."""
    ability_sd: NonNegative = 0.3
    """Spread of reviewers' own level, on top."""
    noise_sd: Annotated[float, Field(gt=0)] = 0.75
    """Spread of the adjudicator's grade around the quality."""
    score_step: NonNegative = 0.0
    """Step of the grades; 0 is a continuous scale, on which ties have probability 0."""
    cost: float = 1.0
    """Mean of kappa, the private extra cost of high effort, major units."""
    cost_sd: NonNegative = 0.5
    base: NonNegative = 2.0
    bonus: NonNegative = 5.0
    bar: float = 0.5
    tie: Tie = "split"
    no_show_rate: Share = 0.0
    colluding: Share = 0.0
    """Share of items whose two reviewers know each other and shirk together where that pays."""
    audit_rate: Share = 0.0
    penalty: NonNegative = 0.0
    flagged_low: Share = 0.6
    """Chance that an audit flags an item of two low-effort reviews."""
    flagged_high: Share = 0.1
    release_bar: float = 0.5
    """An item is released when the mean quality of its reviews, as graded, reaches this."""


@dataclass(frozen=True)
class Outcome:
    """One scheme's run."""

    scheme: Scheme
    high_rate: float
    """Share of reviewers who choose high effort."""
    mean_quality: float
    """Of the released items' reviews."""
    reviews: int
    """Handed in."""
    released: int
    spend: float
    """Major units, base, bonuses and penalties."""
    tie_rate: float
    shirking_pairs: int
    """Items whose two reviewers agreed to shirk."""
    quality: Floats
    """Quality behind each released item, sorted; shape (released,)."""


@dataclass(frozen=True)
class Comparison:
    """Both schemes on the same items at the same expected budget."""

    population: Population
    seed: int
    flat: Outcome
    tournament: Outcome
    dominance: Dominance
    flat_pay: float
    """What a flat review earns so that both schemes cost the same, major units."""


def compare_schemes(population: Population, seed: int = 0, confidence: float = 0.95) -> Comparison:
    """Run both schemes on the same draws of items, abilities, costs and noise."""
    flat = run_scheme(population, "flat", seed)
    tournament = run_scheme(population, "tournament", seed)
    return Comparison(
        population=population,
        seed=seed,
        flat=replace(flat, spend=tournament.spend),
        tournament=tournament,
        dominance=check_dominance(flat.quality, tournament.quality, confidence),
        flat_pay=tournament.spend / max(1, tournament.reviews),
    )


def run_scheme(population: Population, scheme: Scheme, seed: int = 0) -> Outcome:
    """Run one scheme: choices of effort, qualities, grades, pay, release."""
    rng = np.random.default_rng(seed)
    shape = (population.items, 2)
    costs = rng.normal(population.cost, population.cost_sd, shape)
    level = rng.normal(0.0, population.ability_sd, shape) + rng.normal(0.0, population.quality_sd, shape)
    noise = rng.normal(0.0, population.noise_sd, shape)
    present = rng.random(shape) >= population.no_show_rate
    acquainted = rng.random(population.items) < population.colluding
    audited = rng.random(population.items) < population.audit_rate
    luck = rng.random(population.items)
    coin = rng.random(population.items) < 0.5

    gain = 0.0 if scheme == "flat" else effort_gain(population)
    high = costs <= gain
    shirking = acquainted & (scheme == "tournament") & _shirking_pays(population, costs)
    high &= ~shirking[:, None]
    quality = np.where(high, population.high_quality, population.low_quality) + level
    score = _on_step(quality + noise, population.score_step)
    bonuses, tied = _bonuses(score, present, coin, population)
    flagged = audited & (luck < np.where(high.any(axis=1), population.flagged_high, population.flagged_low))
    released = present.all(axis=1) & (score.mean(axis=1) >= population.release_bar) & ~flagged
    spend = population.base * float(present.sum())
    if scheme == "tournament":
        spend += float(bonuses.sum()) - _penalties(flagged, present, bonuses, population)
    return Outcome(
        scheme=scheme,
        high_rate=float(high.mean()),
        mean_quality=float(quality[released].mean()) if released.any() else math.nan,
        reviews=int(present.sum()),
        released=int(released.sum()),
        spend=spend,
        tie_rate=float(tied.mean()),
        shirking_pairs=int(shirking.sum()),
        quality=np.sort(quality.mean(axis=1)[released]),
    )


def effort_gain(population: Population) -> float:
    """Return what high effort adds to expected pay in equilibrium, major units.

    Best replies from flat pay upward: B times Delta p at the present mix, until it stands
    still. The least equilibrium is the cautious one. Reviewers reckon with a continuous
    scale, whatever the step of the grades.
    """
    scores = grade_scale(population)
    gaps = normal_gaps(scores)
    costs = NormalDist(population.cost, max(population.cost_sd, 1e-12))
    rate = flat_rate(costs)
    prize = population.bonus * (1 - population.no_show_rate)
    for _ in range(REPLY_ROUNDS):
        reply = costs.cdf(prize * (rate * gaps.high + (1 - rate) * gaps.low))
        if abs(reply - rate) < 1e-12:
            break
        rate = reply
    return prize * (rate * gaps.high + (1 - rate) * gaps.low)


def grade_scale(population: Population) -> NormalScores:
    """Return the normal scores that a population's reviews get."""
    spread = math.hypot(population.quality_sd, population.ability_sd, population.noise_sd)
    return NormalScores(population.low_quality, population.high_quality, spread, population.bar)


def collusion_threshold(population: Population) -> float | None:
    """Return B_coal of a population at its mean cost; None if no bonus deters."""
    return collusion_bonus(population.cost, drops_of(_pass_rates(population)), _watch(population)).worst


def sweep_bonus(population: Population, bonuses: Sequence[float], seed: int = 0) -> list[Outcome]:
    """Run the tournament at several bonuses."""
    return [
        run_scheme(population.model_copy(update={"bonus": bonus}), "tournament", seed) for bonus in bonuses
    ]


def _shirking_pays(population: Population, costs: Floats) -> NDArray[np.bool_]:
    rates, watch = _pass_rates(population), _watch(population)
    kept = population.bonus * (rates.hh - rates.ll) + watch.deterrence
    pays: NDArray[np.bool_] = costs.sum(axis=1) > kept
    return pays


def _pass_rates(population: Population) -> PassRates:
    return normal_pass_rates(grade_scale(population))


def _watch(population: Population) -> Watch:
    low, high = population.flagged_low, population.flagged_high
    # an item of one low and one high effort is taken to lie half way
    return Watch(population.audit_rate, population.penalty, low, high, flagged_hl=(low + high) / 2)


def _on_step(score: Floats, step: float) -> Floats:
    return np.round(score / step) * step if step > 0 else score


def _bonuses(
    score: Floats, present: NDArray[np.bool_], coin: NDArray[np.bool_], population: Population
) -> tuple[Floats, NDArray[np.bool_]]:
    contest = present.all(axis=1) & (score.max(axis=1) >= population.bar)
    tied = contest & (score[:, 0] == score[:, 1])
    first = np.where(score[:, 0] > score[:, 1], 1.0, 0.0)
    shares = np.stack([first, 1.0 - first], axis=1)
    if population.tie == "split":
        shares[tied] = 0.5
    elif population.tie == "strict":
        shares[tied] = 0.0
    else:
        shares[tied] = np.stack([coin[tied], ~coin[tied]], axis=1)
    return population.bonus * shares * contest[:, None], tied


def _penalties(
    flagged: NDArray[np.bool_], present: NDArray[np.bool_], bonuses: Floats, population: Population
) -> float:
    pay = population.base + bonuses
    taken = np.minimum(population.penalty, pay) * (flagged[:, None] & present)
    return float(taken.sum())
