"""kina review budget, simulate: what a batch can cost, and flat pay against the tournament."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_review.economics.simulate import Comparison, Outcome

Tie = Annotated[
    Literal["split", "strict", "coin"] | None, typer.Option("--tie", help="How ties at the bar are paid.")
]
Amount = Annotated[str | None, typer.Option(help="Pay in major units, such as 2.00.")]


def budget(
    run: Run,
    *,
    items: Annotated[int, typer.Option("--items", min=1, help="Items of the batch.")],
    money: Annotated[str, typer.Option("--budget", help="All the money there is, such as 850.00.")],
    base: Amount = None,
    bonus: Amount = None,
    currency: Annotated[str | None, typer.Option("--currency", help="ISO 4217 code.")] = None,
    fee: Annotated[str | None, typer.Option("--fee", help="Provider's fee as a share, such as 0.33.")] = None,
) -> None:
    """Hold the worst case of a batch against the budget before it opens (exit code 1: beyond)."""
    from dataclasses import asdict

    from kina_review.economics.budget import check_budget, plan_budget
    from kina_review.money import parse_amount

    numbers = review_rules(run.settings)
    code = currency or numbers.currency
    share = numbers.fee if fee is None else _share("--fee", fee)
    plan = plan_budget(
        items,
        parse_amount(money, code),
        parse_amount(base if base is not None else numbers.base, code),
        parse_amount(bonus if bonus is not None else numbers.bonus, code),
        share,
    )
    check_budget(plan, code)
    run.report(asdict(plan) | {"currency": code}, _show_budget)


def _show_budget(report: dict[str, Any], console: Console) -> None:
    from kina_review.money import format_amount

    code = report["currency"]
    console.line(
        f"{report['items']} items cost at most {format_amount(report['worst_case_minor'], code)} {code} of "
        f"{format_amount(report['budget_minor'], code)}; {report['most_items']} items would fit"
    )


def simulate(
    run: Run,
    *,
    items: Annotated[int | None, typer.Option("--items", min=1, help="Items to review.")] = None,
    bonus: Annotated[float | None, typer.Option("--bonus", help="Bonus, major units.")] = None,
    base: Annotated[float | None, typer.Option("--base", help="Base pay, major units.")] = None,
    bar: Annotated[float | None, typer.Option("--bar", help="Bar on the score.")] = None,
    tie: Tie = None,
    cost: Annotated[float | None, typer.Option("--cost", help="Mean extra cost of high effort.")] = None,
    cost_sd: Annotated[float | None, typer.Option("--cost-sd", help="Spread of that cost.")] = None,
    ability_sd: Annotated[float | None, typer.Option("--ability-sd", help="Spread of reviewers.")] = None,
    noise_sd: Annotated[float | None, typer.Option("--noise-sd", help="Spread of the grades.")] = None,
    score_step: Annotated[float | None, typer.Option("--score-step", help="Step of the grades.")] = None,
    colluding: Annotated[float | None, typer.Option("--colluding", help="Share of acquainted pairs.")] = None,
    audit_rate: Annotated[float | None, typer.Option("--audit-rate", help="Share of items audited.")] = None,
    penalty: Annotated[float | None, typer.Option("--penalty", help="For a flagged item, each.")] = None,
    no_show_rate: Annotated[float | None, typer.Option("--no-show-rate", help="Reviews not made.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the two distributions as SVG.")] = None,
    seed: options.Seed = 0,
) -> None:
    """Compare flat pay with the tournament at equal budget, and check first-order dominance."""
    from kina_build.config import check_section
    from kina_review.economics.simulate import Population, compare_schemes

    given: dict[str, Any] = {"items": items, "bonus": bonus, "base": base, "bar": bar, "tie": tie}
    given |= {"cost": cost, "cost_sd": cost_sd, "ability_sd": ability_sd, "noise_sd": noise_sd}
    given |= {"score_step": score_step, "colluding": colluding, "no_show_rate": no_show_rate}
    given |= {"audit_rate": audit_rate, "penalty": penalty}
    population = check_section(Population, {k: v for k, v in given.items() if v is not None}, "option")
    confidence = review_rules(run.settings).confidence
    params = {"population": population.model_dump(), "seed": seed, "confidence": confidence}
    if plot is None:
        run.report(_comparison(compare_schemes(population, seed, confidence)), _show_comparison)
        return
    stage = run.stage("review simulate", inputs=[], outputs=[plot], params=params, show=_show_comparison)
    if stage.up_to_date():
        return
    from kina_build.jsonl import write_text
    from kina_review.economics.figures import draw_comparison

    comparison = compare_schemes(population, seed, confidence)
    write_text(plot, draw_comparison(comparison))
    stage.finish(_comparison(comparison), packages=["matplotlib", "numpy"])


def _comparison(comparison: Comparison) -> dict[str, Any]:
    from dataclasses import asdict

    from kina_review.economics.simulate import collusion_threshold

    dominance = {
        key: value if isinstance(value, bool) or math.isfinite(value) else None
        for key, value in asdict(comparison.dominance).items()
    }
    return {
        "flat": _outcome(comparison.flat),
        "tournament": _outcome(comparison.tournament),
        "dominance": dominance,
        "flat_pay": comparison.flat_pay,
        "b_coal": collusion_threshold(comparison.population),
        "population": comparison.population.model_dump(),
        "seed": comparison.seed,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    keys = ("high_rate", "mean_quality", "reviews", "released", "spend", "tie_rate", "shirking_pairs")
    values = {key: getattr(outcome, key) for key in keys}
    return {key: None if value != value else value for key, value in values.items()}  # noqa: PLR0124  NaN


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


def _share(option: str, text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        raise UsageError(f"{option} {text!r} is not a number") from None
    if not share.is_finite() or share < 0:
        raise UsageError(f"{option} {text!r} must be a share such as 0.33")
    return share


def register(group: typer.Typer) -> None:
    """Add `budget` and `simulate` to `kina review`."""
    command(group, "budget", example="kina review budget --items 94 --budget 850.00")(budget)
    command(group, "simulate", example="kina review simulate --bonus 5 --plot flat-or-tournament.svg")(
        simulate
    )
