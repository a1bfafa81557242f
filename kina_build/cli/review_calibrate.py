"""kina review calibrate: how large the bonus must be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from kina_review.economics.advice import Advice, Question
    from kina_review.economics.pilot import PilotRow
    from kina_review.rubric import ReviewRules

TieRule = Literal["split", "strict", "coin"]
Pilot = Annotated[
    Path | None,
    typer.Option("--pilot", help="CSV or JSONL: item_id, reviewer_id, effort (H or L), review_score, cost."),
]
ScenarioKind = Annotated[
    Literal["normal"] | None, typer.Option("--scenario", help="Assume normal scores instead of a pilot.")
]
LowMean = Annotated[float | None, typer.Option("--low-mean", help="Scenario: mean score of low effort.")]
HighMean = Annotated[float | None, typer.Option("--high-mean", help="Scenario: mean score of high effort.")]
Sd = Annotated[float | None, typer.Option("--sd", help="Scenario: spread of scores at equal effort.")]
DeltaP = Annotated[
    str | None, typer.Option("--delta-p", help="A known gap of winning chances, instead of both.")
]
Cost = Annotated[str | None, typer.Option("--cost", help="Delta C: extra cost of high effort, such as 1.20.")]
Bar = Annotated[
    str | None,
    typer.Option("--bar", help="Bar; -inf for none. Default: where the score densities cross."),
]
Currency = Annotated[str | None, typer.Option("--currency", help="ISO 4217 code.")]
Tie = Annotated[TieRule | None, typer.Option("--tie", help="How ties at or above the bar are paid.")]
Bonus = Annotated[str | None, typer.Option("--bonus", help="A bonus to be judged, such as 5.00.")]
Base = Annotated[str | None, typer.Option("--base", help="Pay for a complete review, such as 2.00.")]
NoShow = Annotated[str | None, typer.Option("--no-show-rate", help="Share of second reviews never made.")]
AuditRate = Annotated[
    float | None, typer.Option("--audit-rate", min=0, max=1, help="Share of approved items audited.")
]
Penalty = Annotated[
    float, typer.Option("--penalty", min=0, help="What a flagged item costs each reviewer, major units.")
]
FlaggedLow = Annotated[
    float, typer.Option("--flagged-low", min=0, max=1, help="Chance an audit flags two low efforts.")
]
FlaggedHigh = Annotated[
    float, typer.Option("--flagged-high", min=0, max=1, help="Chance an audit flags two high efforts.")
]
FlaggedMixed = Annotated[
    float | None,
    typer.Option(
        "--flagged-mixed",
        min=0,
        max=1,
        help="Chance an audit flags one low and one high effort; else as --flagged-high.",
    ),
]
CostSd = Annotated[
    float | None, typer.Option("--cost-sd", min=1e-9, help="Spread of private costs, for the targets.")
]
TargetRate = Annotated[float | None, typer.Option("--target-rate", help="Wanted share of high effort.")]
TargetGain = Annotated[float | None, typer.Option("--target-gain", help="Wanted gain in mean quality.")]
QualityGain = Annotated[
    float | None, typer.Option("--quality-gain", help="What one high effort adds to mean quality.")
]
Whitelist = Annotated[
    float, typer.Option("--whitelist-value", min=0, help="What losing one's place on the list would cost.")
]
Items = Annotated[int | None, typer.Option("--items", min=1, help="Items of the batch, for its spend.")]
HighRate = Annotated[
    float, typer.Option("--high-rate", min=0, max=1, help="Share of high effort, for the expected spend.")
]


def calibrate(
    run: Run,
    *,
    pilot: Pilot = None,
    scenario: ScenarioKind = None,
    low_mean: LowMean = None,
    high_mean: HighMean = None,
    sd: Sd = None,
    delta_p: DeltaP = None,
    cost: Cost = None,
    bar: Bar = None,
    currency: Currency = None,
    tie: Tie = None,
    bonus: Bonus = None,
    base: Base = None,
    no_show_rate: NoShow = None,
    audit_rate: AuditRate = None,
    penalty: Penalty = 0.0,
    flagged_low: FlaggedLow = 0.0,
    flagged_high: FlaggedHigh = 0.0,
    flagged_mixed: FlaggedMixed = None,
    cost_sd: CostSd = None,
    target_rate: TargetRate = None,
    target_gain: TargetGain = None,
    quality_gain: QualityGain = None,
    whitelist_value: Whitelist = 0.0,
    items: Items = None,
    high_rate: HighRate = 1.0,
    seed: options.Seed = 0,
) -> None:
    """Say how large the bonus must be, against lone shirking and against pairs that agree to shirk.

    From a pilot with assigned efforts the lower bound of the gap is used, and a pilot too
    small is refused with the size that would do. Without a bar, half of the pilot
    chooses one and the other half estimates with it. This proves neither truthfulness nor
    the absence of collusion.
    """
    from kina_review.economics.bonus import Watch

    if sum(source is not None for source in (pilot, scenario, delta_p)) != 1:
        raise UsageError("give one of --pilot, --scenario and --delta-p")
    numbers = review_rules(run.settings)
    rate = float(numbers.audit_rate) if audit_rate is None else audit_rate
    ask = {
        "currency": currency or numbers.currency,
        "no_show_rate": _fraction("--no-show-rate", no_show_rate or str(numbers.no_show_rate)),
        "watch": Watch(rate, penalty, flagged_low, flagged_high, flagged_mixed),
        "whitelist_value": whitelist_value,
        "bonus": None if bonus is None else _fraction("--bonus", bonus),
        "cost_sd": cost_sd,
        "target_rate": target_rate,
        "target_gain": target_gain,
        "quality_gain": quality_gain,
    }
    delta_cost = None if cost is None else _fraction("--cost", cost)
    if pilot:
        report = _from_pilot(pilot, bar, delta_cost, ask, tie=tie or numbers.tie, numbers=numbers, seed=seed)
    elif scenario:
        report = _from_scenario(_given(low_mean, high_mean, sd), bar, _needed(delta_cost), ask)
    else:
        gap = _fraction("--delta-p", delta_p or "")
        report = _from_gap(gap, _needed(delta_cost), ask)
    if items is not None:
        report["spend"] = _spend(report, items, base=base, bonus=bonus, high_rate=high_rate, numbers=numbers)
    run.report(report, _show_advice)


def _given(low: float | None, high: float | None, sd: float | None) -> tuple[float, float, float]:
    if low is None or high is None or sd is None:
        raise UsageError("--scenario normal needs --low-mean, --high-mean and --sd")
    return low, high, sd


def _needed(cost: Fraction | None) -> Fraction:
    if cost is None:
        raise UsageError("without a pilot --cost must be given")
    return cost


def _fraction(option: str, text: str) -> Fraction:
    from decimal import Decimal, InvalidOperation
    from fractions import Fraction

    try:
        return Fraction(Decimal(text))
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(f"{option} {text!r} is not a number") from None


def _from_scenario(
    given: tuple[float, float, float], bar: str | None, cost: Fraction, ask: dict[str, Any]
) -> dict[str, Any]:
    from fractions import Fraction

    from kina_review.economics.advice import Question, advise
    from kina_review.economics.bonus import drops_of
    from kina_review.economics.calibration import NormalScores, normal_bars, normal_gaps, normal_pass_rates

    bars = normal_bars(NormalScores(*given, bar=0.0))
    scores = NormalScores(*given, bar=bars["crossing"] if bar is None else _bar(bar))
    gaps, rates = normal_gaps(scores), normal_pass_rates(scores)
    asked = Question(delta_cost=cost, **ask)
    report = {
        "source": "scenario: assumed, not measured",
        "bar": scores.bar if math.isfinite(scores.bar) else None,
        "delta_p": {"L": gaps.low, "H": gaps.high, "min": gaps.least},
        "alpha": {"LL": rates.ll, "HL": rates.hl, "HH": rates.hh},
        "bars": {
            name: {"bar": at, "delta_p_min": normal_gaps(NormalScores(*given, bar=at)).least}
            for name, at in bars.items()
        },
    }
    return report | _advice(advise(Fraction(gaps.least), drops_of(rates), asked), asked)


def _bar(text: str) -> float:
    try:
        bar = float(text)
    except ValueError:
        raise UsageError(f"--bar {text!r} is not a number") from None
    if math.isnan(bar) or bar == math.inf:
        raise UsageError(f"--bar {text!r}: a bar is a number, or -inf for none")
    return bar


def _from_gap(gap: Fraction, cost: Fraction, ask: dict[str, Any]) -> dict[str, Any]:
    from kina_review.economics.advice import Question, advise

    asked = Question(delta_cost=cost, **ask)
    report = {"source": "given gap", "bar": None, "delta_p": {"min": float(gap)}, "alpha": None, "bars": {}}
    return report | _advice(advise(gap, None, asked), asked)


def _from_pilot(
    path: Path,
    bar: str | None,
    cost: Fraction | None,
    ask: dict[str, Any],
    *,
    tie: TieRule,
    numbers: ReviewRules,
    seed: int,
) -> dict[str, Any]:
    from fractions import Fraction

    from kina_build.tables import read_typed
    from kina_review.economics.advice import Question, advise
    from kina_review.economics.calibration import pilot_bars
    from kina_review.economics.gaps import (
        check_cells,
        check_gaps,
        count_cells,
        estimate_gaps,
        pass_drops,
        pass_rates,
        tie_rate,
    )
    from kina_review.economics.pilot import PilotRow, extra_cost, split_pilot

    rows = read_typed(path, PilotRow)
    check_cells(count_cells(rows, -math.inf), numbers)
    choosing, estimating = (rows, rows) if bar is not None else split_pilot(rows, seed)
    bars = {name: float(at) for name, at in pilot_bars(choosing).items()}
    at = bars["crossing"] if bar is None else _bar(bar)
    cells = count_cells(estimating, at, tie)
    gaps = estimate_gaps(cells, numbers)
    check_gaps(cells, gaps, numbers)
    rates = pass_rates(cells)
    asked = Question(delta_cost=extra_cost(rows, numbers) if cost is None else cost, **ask)
    drops = pass_drops(cells, numbers)
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
            name: {"bar": x, "delta_p_min": _bound_at(estimating, x, tie, numbers)}
            for name, x in bars.items()
        },
    }
    return report | _advice(advice, asked)


def _bound_at(rows: Sequence[PilotRow], bar: float, tie: TieRule, numbers: ReviewRules) -> float:
    from kina_review.economics.gaps import count_cells, estimate_gaps

    return estimate_gaps(count_cells(rows, bar, tie), numbers).least.lower


def _advice(advice: Advice, asked: Question) -> dict[str, Any]:
    from kina_review.money import format_amount

    reasons = {}
    if advice.b_ic is None:
        reasons["b_ic"] = "no finite bonus works: effort does not raise the chance of winning"
    if advice.b_coal is None:
        reasons["b_coal"] = (
            "unknown without pass rates"
            if advice.deviations is None
            else "infinite or not shown: a pair that shirks loses nothing, or too little for a pilot to show"
        )
    check = advice.check
    return {
        "delta_cost": float(asked.delta_cost),
        "currency": asked.currency,
        "b_ic": advice.b_ic,
        "bonus": None if advice.bonus_minor is None else format_amount(advice.bonus_minor, asked.currency),
        "b_coal": advice.b_coal,
        "deviations": {
            "one_shirks": advice.deviations and advice.deviations.one_shirks,
            "both_shirk": advice.deviations and advice.deviations.both_shirk,
        },
        "closing_audit_rate": advice.closing_audit_rate,
        "incentive_compatible": None if check is None else check.compatible,
        "incentive_reason": None if check is None else check.reason,
        "flat_rate": advice.flat_rate,
        "b_for_rate": advice.b_for_rate,
        "b_for_gain": advice.b_for_gain,
        "reasons": reasons,
        "not_proved": ["truthfulness", "absence of collusion"],
    }


def _spend(
    report: dict[str, Any],
    items: int,
    *,
    base: str | None,
    bonus: str | None,
    high_rate: float,
    numbers: ReviewRules,
) -> dict[str, Any]:
    from kina_review.economics.budget import worst_case
    from kina_review.economics.calibration import PassRates
    from kina_review.money import format_amount, parse_amount

    currency = report["currency"]
    paid = bonus if bonus is not None else report["bonus"]
    if paid is None:
        raise UsageError("there is no finite bonus to reckon the spend with: give --bonus")
    each = parse_amount(paid, currency)
    ground = parse_amount(base if base is not None else numbers.base, currency)
    worst = worst_case(items, ground, each, numbers.fee)
    spend: dict[str, Any] = {"items": items, "worst_case": format_amount(worst, currency)}
    if report["alpha"]:
        rates = PassRates(report["alpha"]["LL"], report["alpha"]["HL"], report["alpha"]["HH"])
        mean = items * (2 * ground + rates.expected_bonus(each, high_rate)) * (1 + float(numbers.fee))
        spend |= {"expected": format_amount(round(mean), currency), "high_rate": high_rate}
    return spend


def _show_advice(report: dict[str, Any], console: Console) -> None:
    least = report["bonus"]
    gap = report.get("lower_bounds", report["delta_p"])
    if least is None:
        console.line(f"no bonus works: {report['reasons']['b_ic']}")
    else:
        console.line(
            f"pay a bonus of at least {least} {report['currency']} (threshold {report['b_ic']:.4f}, "
            f"extra cost {report['delta_cost']:g}, gap {gap['min']:.4f})"
        )
    together, apart = report["b_coal"], report["deviations"]
    console.line(
        "against a pair that agrees to shirk: "
        + (report["reasons"]["b_coal"] if together is None else f"more than {together:.4f}")
        + f" (one of them {_threshold(apart['one_shirks'])}, both {_threshold(apart['both_shirk'])})"
    )
    if report["closing_audit_rate"] is not None:
        console.line(f"audit rate at which the same bonus deters both: {report['closing_audit_rate']:.3f}")
    if report["incentive_reason"] is not None:
        console.line(f"the bonus given: {report['incentive_reason']}")
    for key, what in (
        ("flat_rate", "high effort under flat pay"),
        ("b_for_rate", "bonus for the target rate"),
        ("b_for_gain", "bonus for the target gain"),
    ):
        if report[key] is not None:
            console.line(f"{what}: {report[key]:.4f}")
    for key, value in report.get("spend", {}).items():
        console.line(f"spend, {key.replace('_', ' ')}: {value}")
    rows = [[name, at["bar"], at["delta_p_min"]] for name, at in report["bars"].items()]
    if rows:
        console.table("bars", ["by", "bar", "gap there"], rows)
    console.line(f"source: {report['source']}; not proved: {', '.join(report['not_proved'])}")


def _threshold(value: float | None) -> str:
    return "no finite bonus" if value is None else f"{value:.4f}"


def register(group: typer.Typer) -> None:
    """Add `calibrate` to `kina review`."""
    command(
        group,
        "calibrate",
        example="kina review calibrate --scenario normal --low-mean 0 --high-mean 1 --sd 1 --cost 1 --bar 1",
    )(calibrate)
