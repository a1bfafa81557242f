"""How large the bonus must be, from a pilot, an assumed scenario or a known gap: the whole report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from kina_build.errors import UsageError
from kina_build.rows.tables import read_typed
from kina_review.economics.advice import Question, advise, report_advice
from kina_review.economics.bonus import Watch, drops_of
from kina_review.economics.budget import reckon_spend
from kina_review.economics.calibration import (
    NormalScores,
    normal_bars,
    normal_gaps,
    normal_pass_rates,
)
from kina_review.economics.cheapest import (
    Costs,
    Offer,
    find_cheapest,
    normal_points,
    pilot_point,
    pilot_points,
)
from kina_review.economics.disciplines import bonus_by_discipline, scarce_pay
from kina_review.economics.gaps import (
    check_cells,
    check_gaps,
    count_cells,
    estimate_gaps,
    pass_drops,
    pass_rates,
    tie_rate,
)
from kina_review.economics.options import CalibrateOptions
from kina_review.economics.pilot import PilotRow, extra_cost, pilot_bars, split_pilot
from kina_review.money import parse_pay
from kina_review.rubric import ReviewRules
from kina_review.tournament.payrules import pay_of


@dataclass(frozen=True)
class Calibration:
    """How large the bonus must be, with all that the number rests on."""

    report: dict[str, Any]

    @property
    def bonus(self) -> str | None:
        """Return the least bonus against lone shirking, major units; None where none works."""
        found: str | None = self.report["bonus"]
        return found

    @property
    def b_coal(self) -> float | None:
        """Return the threshold against a pair that agrees to shirk; None where no bonus is enough."""
        found: float | None = self.report["b_coal"]
        return found

    def __str__(self) -> str:
        """Return both numbers in a line."""
        least = "no bonus works" if self.bonus is None else f"bonus {self.bonus} {self.report['currency']}"
        pair = "none known" if self.b_coal is None else f"more than {self.b_coal:.4f}"
        return f"{least}; against a pair that agrees to shirk: {pair} ({self.report['source']})"


def calibrate(options: CalibrateOptions, rules: ReviewRules = ReviewRules()) -> Calibration:
    """Work out the least bonus against lone shirking and against pairs that agree to shirk, with reasons.

    Amounts are in major units of the currency; a threshold is None where no finite bonus works.

    Raises:
        InputError: an unreadable pilot, or a target out of reach.
        Refusal: a pilot too small to show that effort raises the chance of winning.
        UsageError: not exactly one of pilot, scenario and gap, or what one of them needs is missing.
    """
    if sum(source is not None for source in (options.pilot, options.scenario, options.delta_p)) != 1:
        raise UsageError("give one of --pilot, --scenario and --delta-p")
    _check_cheapest(options)
    cost = None if options.cost is None else read_fraction("--cost", options.cost)
    if options.pilot is not None:
        report = _from_pilot(options, cost, rules)
    elif cost is None:
        raise UsageError("without a pilot --cost must be given")
    elif options.scenario:
        report = _from_scenario(options, cost, rules)
    else:
        report = _from_gap(options, cost, rules)
    if options.scarcity is not None:
        report["scarcity"] = scarce_pay(report, options, rules)
    if options.items is not None and not options.cheapest:
        report["spend"] = reckon_spend(report, options.items, options, rules)
    return Calibration(report)


def _check_cheapest(options: CalibrateOptions) -> None:
    if not options.cheapest and (options.audit_cost is not None or options.budget is not None):
        raise UsageError("--audit-cost and --budget belong to --cheapest")
    if options.by_discipline and options.pilot is None:
        raise UsageError("--by-discipline needs a --pilot with the column discipline")
    if options.cheapest and (options.delta_p is not None or options.bar is not None):
        raise UsageError("--cheapest looks for the bar itself: give --pilot or --scenario, and no --bar")


def _question(options: CalibrateOptions, cost: Fraction, rules: ReviewRules) -> Question:
    rate = float(rules.audit_rate) if options.audit_rate is None else options.audit_rate
    caught = (options.flagged_low, options.flagged_high, options.flagged_mixed)
    return Question(
        delta_cost=cost,
        currency=rules.currency if options.currency is None else options.currency,
        no_show_rate=_no_show_rate(options, rules),
        watch=Watch(rate, options.penalty, *caught),
        whitelist_value=options.whitelist_value,
        bonus=None if options.bonus is None else read_fraction("--bonus", options.bonus),
        cost_sd=options.cost_sd,
        target_rate=options.target_rate,
        target_gain=options.target_gain,
        quality_gain=options.quality_gain,
    )


def _no_show_rate(options: CalibrateOptions, rules: ReviewRules) -> Fraction:
    given = options.no_show_rate
    rate = Fraction(rules.no_show_rate) if given is None else read_fraction("--no-show-rate", given)
    if not 0 <= rate < 1:
        raise UsageError(f"--no-show-rate {given!r} is no share of the reviews", hint="from 0 to below 1")
    return rate


def read_fraction(option: str, text: str) -> Fraction:
    """Read an exact number that an option gives.

    Raises:
        UsageError: it is none.
    """
    try:
        return Fraction(Decimal(text))
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(f"{option} {text!r} is not a number") from None


def read_bar(text: str) -> float:
    """Read a bar: a number, or -inf for none.

    Raises:
        UsageError: it is none.
    """
    try:
        bar = float(text)
    except ValueError:
        raise UsageError(f"--bar {text!r} is not a number") from None
    if math.isnan(bar) or bar == math.inf:
        raise UsageError(f"--bar {text!r}: a bar is a number, or -inf for none")
    return bar


def _from_scenario(options: CalibrateOptions, cost: Fraction, rules: ReviewRules) -> dict[str, Any]:
    low, high, sd = options.low_mean, options.high_mean, options.sd
    if low is None or high is None or sd is None:
        raise UsageError("--scenario normal needs --low-mean, --high-mean and --sd")
    bars = normal_bars(NormalScores(low, high, sd, bar=0.0))
    asked = _question(options, cost, rules)
    offer = None
    if options.cheapest:
        offer = find_cheapest(normal_points(low, high, sd), asked, _costs(options, rules))
        bars |= {"cheapest": offer.bar}
    at = offer.bar if offer else bars["crossing"] if options.bar is None else read_bar(options.bar)
    scores = NormalScores(low, high, sd, bar=at)
    gaps, rates = normal_gaps(scores), normal_pass_rates(scores)
    report = {
        "source": "scenario: assumed, not measured",
        "bar": scores.bar if math.isfinite(scores.bar) else None,
        "delta_p": {"L": gaps.low, "H": gaps.high, "min": gaps.least},
        "alpha": {"LL": rates.ll, "HL": rates.hl, "HH": rates.hh},
        "bars": {
            name: {"bar": x, "delta_p_min": normal_gaps(NormalScores(low, high, sd, bar=x)).least}
            for name, x in bars.items()
        },
    }
    told = _offered(offer, options, rules) if offer else {}
    return report | told | report_advice(advise(Fraction(gaps.least), drops_of(rates), asked), asked)


def _from_gap(options: CalibrateOptions, cost: Fraction, rules: ReviewRules) -> dict[str, Any]:
    gap = read_fraction("--delta-p", options.delta_p or "")
    asked = _question(options, cost, rules)
    report = {"source": "given gap", "bar": None, "delta_p": {"min": float(gap)}, "alpha": None, "bars": {}}
    return report | report_advice(advise(gap, None, asked), asked)


def _from_pilot(options: CalibrateOptions, cost: Fraction | None, rules: ReviewRules) -> dict[str, Any]:
    rows = read_typed(options.pilot, PilotRow) if options.pilot else []
    tie, bar = options.tie or rules.tie, options.bar
    check_cells(count_cells(rows, -math.inf), rules)
    choosing, estimating = (rows, rows) if bar is not None else split_pilot(rows, options.seed)
    bars = {name: float(at) for name, at in pilot_bars(choosing).items()}
    asked = _question(options, extra_cost(rows, rules) if cost is None else cost, rules)
    if options.cheapest:
        bars["cheapest"] = find_cheapest(
            pilot_points(choosing, tie, rules), asked, _costs(options, rules)
        ).bar
    at = bars["cheapest" if options.cheapest else "crossing"] if bar is None else read_bar(bar)
    cells = count_cells(estimating, at, tie)
    gaps = estimate_gaps(cells, rules)
    check_gaps(cells, gaps, rules)
    rates, drops = pass_rates(cells), pass_drops(cells, rules)
    advice = advise(Fraction(gaps.least.lower), drops, asked, Fraction(gaps.least.upper))
    report = {
        "source": "pilot",
        "bar": at if math.isfinite(at) else None,
        "delta_p": {"L": gaps.low.estimate, "H": gaps.high.estimate, "min": gaps.least.estimate},
        "lower_bounds": {"L": gaps.low.lower, "H": gaps.high.lower, "min": gaps.least.lower},
        "confidence": gaps.confidence,
        "cells": {"HH": cells.hh, "HL": cells.mixed, "LL": cells.ll},
        "items_choosing_bar": len(choosing) // 2 if bar is None else 0,
        "tie_rate": tie_rate(estimating, at),
        "alpha": {"LL": rates.ll, "HL": rates.hl, "HH": rates.hh},
        "alpha_drop_bounds": {"one_shirks": drops.one_shirks, "both_shirk": drops.both_shirk},
        "bars": {
            name: {
                "bar": x,
                "delta_p_min": estimate_gaps(count_cells(estimating, x, tie), rules).least.lower,
            }
            for name, x in bars.items()
        },
    }
    if options.by_discipline:
        report["disciplines"] = bonus_by_discipline(estimating, asked, at, tie=tie, rules=rules)
    if options.cheapest:  # the half that chose the bar would be too hopeful about it
        point = pilot_point(estimating, at, tie, rules)
        offer = find_cheapest([point], asked, _costs(options, rules))
        report |= _offered(offer, options, rules)
    return report | report_advice(advice, asked)


def _costs(options: CalibrateOptions, rules: ReviewRules) -> Costs:
    if options.audit_cost is None or options.budget is None or options.items is None:
        raise UsageError(
            "--cheapest needs --items, --budget and --audit-cost",
            hint="without a budget a bonus beyond all bounds that is almost never paid would be the cheapest",
        )
    currency = rules.currency if options.currency is None else options.currency
    return Costs(
        base_minor=pay_of("base", options.base, currency, rules),
        audit_minor=parse_pay(options.audit_cost, currency, "--audit-cost"),
        items=options.items,
        budget_minor=parse_pay(options.budget, currency, "--budget"),
        grade_minor=pay_of("grade_pay", options.grade_pay, currency, rules),
        fee=Fraction(rules.fee),
    )


def _offered(offer: Offer, options: CalibrateOptions, rules: ReviewRules) -> dict[str, Any]:
    currency = rules.currency if options.currency is None else options.currency
    return {"cheapest": offer.report(currency), "spend": offer.spend(_costs(options, rules), currency)}
