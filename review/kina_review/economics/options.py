"""What the commands of the economics are told: the bonus, the budget, the simulation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kina_build.options import Role, option, seed
from kina_review.tournament.options import grade_pay, scarcity_file

TieRule = Literal["split", "strict", "coin"]


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Options of `kina review calibrate`."""

    pilot: Path | None = option(
        None,
        help="CSV or JSONL: item_id, reviewer_id, effort (H or L), review_score, cost.",
        role=Role.input,
    )
    scenario: Literal["normal"] | None = option(None, help="Assume normal scores instead of a pilot.")
    low_mean: float | None = option(None, help="Scenario: mean score of low effort.")
    high_mean: float | None = option(None, help="Scenario: mean score of high effort.")
    sd: float | None = option(None, help="Scenario: spread of scores at equal effort.")
    delta_p: str | None = option(None, help="A known gap of winning chances, instead of both.")
    cost: str | None = option(None, help="Delta C: extra cost of high effort, such as 1.20.")
    bar: str | None = option(None, help="Bar; -inf for none. Default: where the score densities cross.")
    currency: str | None = option(None, help="ISO 4217 code.")
    tie: TieRule | None = option(None, help="How ties at or above the bar are paid.")
    bonus: str | None = option(None, help="A bonus to be judged, such as 5.00.")
    base: str | None = option(None, help="Pay for a complete review, such as 2.00.")
    grade_pay: str | None = grade_pay()
    no_show_rate: str | None = option(None, help="Share of second reviews never made.")
    audit_rate: float | None = option(None, help="Share of approved items audited.", min=0, max=1)
    penalty: float = option(0.0, help="What a flagged item costs each reviewer, major units.", min=0)
    flagged_low: float = option(0.0, help="Chance an audit flags two low efforts.", min=0, max=1)
    flagged_high: float = option(0.0, help="Chance an audit flags two high efforts.", min=0, max=1)
    flagged_mixed: float | None = option(
        None,
        help="Chance an audit flags one low and one high effort; else as --flagged-high.",
        min=0,
        max=1,
    )
    cost_sd: float | None = option(None, help="Spread of private costs, for the targets.", min=1e-9)
    target_rate: float | None = option(None, help="Wanted share of high effort.")
    target_gain: float | None = option(None, help="Wanted gain in mean quality.")
    quality_gain: float | None = option(None, help="What one high effort adds to mean quality.")
    whitelist_value: float = option(0.0, help="What losing one's place on the list would cost.", min=0)
    items: int | None = option(None, help="Items of the batch, for its spend.", min=1)
    high_rate: float = option(1.0, help="Share of high effort, for the expected spend.", min=0, max=1)
    by_discipline: bool = option(
        False, "--by-discipline", help="A bonus for each discipline of the pilot, from its own items."
    )
    scarcity: Path | None = scarcity_file()
    cheapest: bool = option(
        False,
        "--cheapest",
        help="Search bar, bonus, audit rate and penalty together for the least expected cost.",
    )
    audit_cost: str | None = option(None, help="With --cheapest: what auditing one item costs.")
    budget: str | None = option(
        None, help="With --cheapest: most that --items may cost at worst, such as 850.00."
    )
    seed: int = seed()


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Options of `kina review budget`."""

    items: int = option(help="Items of the batch.", min=1)
    budget: str = option(help="All the money there is, such as 850.00.")
    base: str | None = option(None, help="Pay in major units, such as 2.00.")
    bonus: str | None = option(None, help="Pay in major units, such as 2.00.")
    currency: str | None = option(None, help="ISO 4217 code.")
    grade_pay: str | None = grade_pay()
    scarcity: Path | None = scarcity_file()
    fee: str | None = option(None, help="Provider's fee as a share, such as 0.33.")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """Options of `kina review simulate`; those that are not given are a population's own."""

    items: int | None = option(None, help="Items to review.", min=1)
    bonus: float | None = option(None, help="Bonus, major units.")
    base: float | None = option(None, help="Base pay, major units.")
    bar: float | None = option(None, help="Bar on the score.")
    tie: TieRule | None = option(None, help="How ties at the bar are paid.")
    cost: float | None = option(None, help="Mean extra cost of high effort.")
    cost_sd: float | None = option(None, help="Spread of that cost.")
    ability_sd: float | None = option(None, help="Spread of reviewers.")
    noise_sd: float | None = option(None, help="Spread of the grades.")
    score_step: float | None = option(None, help="Step of the grades.")
    colluding: float | None = option(None, help="Share of acquainted pairs.")
    audit_rate: float | None = option(None, help="Share of items audited.")
    penalty: float | None = option(None, help="For a flagged item, each.")
    no_show_rate: float | None = option(None, help="Reviews not made.")
    plot: Path | None = option(None, help="Write the two distributions as SVG.", role=Role.output)
    seed: int = seed()
