"""kina review calibrate, budget, simulate: how large the bonus must be, and what a batch can cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_review.economics.options import BudgetOptions, CalibrateOptions, SimulateOptions


def calibrate(run: Run, options: CalibrateOptions) -> None:
    """Say how large the bonus must be, against lone shirking and against pairs that agree to shirk.

    From a pilot with assigned efforts the lower bound of the gap is used, and a pilot too
    small is refused with the size that would do. Without a bar, half of the pilot
    chooses one and the other half estimates with it. This proves neither truthfulness nor
    the absence of collusion.
    """
    from kina_review.economics.calibrating import calibrate
    from kina_review.rubric import rules_of

    run.report(calibrate(options, rules_of(run.settings)).report, _show_advice)


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
    _show_offer(report, console)
    _show_disciplines(report, console)
    for key, value in report.get("spend", {}).items():
        console.line(f"spend, {key.replace('_', ' ')}: {value}")
    rows = [[name, at["bar"], at["delta_p_min"]] for name, at in report["bars"].items()]
    if rows:
        console.table("bars", ["by", "bar", "gap there"], rows)
    console.line(f"source: {report['source']}; not proved: {', '.join(report['not_proved'])}")


def _show_disciplines(report: dict[str, Any], console: Console) -> None:
    if "disciplines" in report:
        rows = [
            [name, one["items"], one["bonus"] or "", one["reason"] or ""]
            for name, one in report["disciplines"].items()
        ]
        console.table("bonus by discipline", ["discipline", "items", "bonus", "why none"], rows)
    if "scarcity" in report:
        rows = [[name, one["factor"], one["base"], one["bonus"]] for name, one in report["scarcity"].items()]
        console.table("pay where reviewers are scarce", ["discipline", "factor", "base", "bonus"], rows)


def _show_offer(report: dict[str, Any], console: Console) -> None:
    if "cheapest" not in report:
        return
    told, code = report["cheapest"], report["currency"]
    console.line(
        f"cheapest terms: bar {told['bar']:g}, bonus {told['bonus']}, audit {told['audit_rate']:.0%}, "
        f"penalty {told['penalty']}: {told['expected_an_item']} {code} expected an item, "
        f"{told['worst_an_item']} at worst"
    )


def _threshold(value: float | None) -> str:
    return "no finite bonus" if value is None else f"{value:.4f}"


def budget(run: Run, options: BudgetOptions) -> None:
    """Hold the worst case of a batch against the budget before it opens (exit code 1: beyond)."""
    from kina_review.economics.budget import hold_budget
    from kina_review.rubric import rules_of

    run.report(hold_budget(options, rules_of(run.settings)), _show_budget)


def _show_budget(report: dict[str, Any], console: Console) -> None:
    from kina_review.money import format_amount

    code = report["currency"]
    console.line(
        f"{report['items']} items cost at most {format_amount(report['worst_case_minor'], code)} {code} of "
        f"{format_amount(report['budget_minor'], code)}; {report['most_items']} items would fit"
    )


def simulate(run: Run, options: SimulateOptions) -> None:
    """Compare flat pay with the tournament at equal budget, and check first-order dominance."""
    from kina_build.rows.jsonl import write_text
    from kina_review.economics.figures import draw_comparison, population_of, report_comparison
    from kina_review.economics.simulate import compare_schemes
    from kina_review.rubric import rules_of

    population, confidence = population_of(options), rules_of(run.settings).confidence
    if options.plot is None:
        comparison = compare_schemes(population, options.seed, confidence)
        run.report(report_comparison(comparison), _show_comparison)
        return
    params = {"population": population.model_dump(), "confidence": confidence}
    stage = run.start("review simulate", options, show=_show_comparison, params=params)
    if stage.up_to_date():
        return
    comparison = compare_schemes(population, options.seed, confidence)
    write_text(options.plot, draw_comparison(comparison))
    stage.finish(report_comparison(comparison), packages=["matplotlib", "numpy"])


def _show_comparison(report: dict[str, Any], console: Console) -> None:
    dominance = report["dominance"]
    verdict = "holds" if dominance["holds"] else "is contradicted"
    gain = dominance["mean_gain"]
    console.line(
        f"weak first-order dominance {verdict}"
        + (
            ""
            if gain is None
            else f": mean released quality {gain:+.3f}, worst excess {dominance['worst']:.4f} "
            f"within a band of {dominance['band']:.4f}"
        )
    )
    rows = [[key, report["flat"][key], report["tournament"][key]] for key in report["flat"]]
    console.table("at equal budget", ["", "flat pay", "tournament"], rows)
    console.line(f"a flat review would earn {report['flat_pay']:.2f}")
    console.line("an invented population: a check of the theory, not a forecast")


EXAMPLES: Mapping[str, tuple[Callable[..., None], str]] = {
    "calibrate": (calibrate, "--scenario normal --low-mean 0 --high-mean 1 --sd 1 --cost 1 --bar 1"),
    "budget": (budget, "--items 94 --budget 850.00"),
    "simulate": (simulate, "--bonus 5 --plot flat-or-tournament.svg"),
}


def register(group: typer.Typer) -> None:
    """Add `calibrate`, `budget` and `simulate` to `kina review`."""
    for name, (function, rest) in EXAMPLES.items():
        command(group, name, example=f"kina review {name} {rest}")(function)
