"""What the commands of the tournament are told: settling a batch, and its audits."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal

from kina_build.options import Role, dry_run, option

SEED_VARIABLE = "KINA_AUDIT_SEED"


def batch_file(*names: str) -> Any:
    """Declare --batch-file, under other names too."""
    return option(
        None,
        *names,
        help="A TOML file with these options: reviews, scores, deadline, ledger, ...",
        role=Role.input,
    )


def grade_pay() -> Any:
    """Declare --grade-pay."""
    return option(
        None, help="Pay of an adjudicator for each review graded, such as 1.00; the ledger pays it too."
    )


def scarcity_file() -> Any:
    """Declare --scarcity."""
    return option(
        None,
        help="Table of discipline, items, reviewers: base and bonus are dearer where reviewers are scarce.",
        role=Role.input,
    )


def items_file() -> Any:
    """Declare --items of a command that pays by discipline."""
    return option(
        None, help="Discipline of each item, where pay goes by it: item_id, discipline.", role=Role.input
    )


def seed_file() -> Any:
    """Declare --seed-file."""
    return option(
        None, help=f"File with the secret seed; else the environment's {SEED_VARIABLE}.", role=Role.kept
    )


@dataclass(frozen=True, kw_only=True)
class SettleOptions:
    """Options of `kina review settle`; a batch file holds any of them."""

    batch_file: Path | None = batch_file("--batch", "--batch-file")
    reviews: tuple[Path, ...] = option(
        (),
        help="CSV or JSONL: item_id, reviewer_id, review_score, submitted_at, status; repeatable.",
        role=Role.input,
    )
    scores: tuple[Path, ...] = option(
        (),
        help="Scores of reviews in a file of their own: item_id, reviewer_id and "
        "review_score, or a 0 to 4 mark a criterion; several grader_ids are averaged; repeatable.",
        role=Role.input,
    )
    base: str | None = option(None, help="Pay for a complete review, such as 2.00.")
    bonus: str | None = option(None, help="Pay for winning an item, such as 5.00.")
    grade_pay: str | None = grade_pay()
    currency: str | None = option(None, help="ISO 4217 code.")
    bar: str | None = option(None, help="Least review_score that can win.")
    tie: Literal["split", "strict", "coin"] | None = option(
        None, help="A tie at or above the bar: half each, nobody, or a seeded coin.", role=Role.manner
    )
    rules: Path | None = option(
        None,
        help="Pay rules with dates: version, valid_from, currency, base, bonus, bar, tie, discipline.",
        role=Role.input,
    )
    scarcity: Path | None = scarcity_file()
    items: Path | None = items_file()
    rule_version: str | None = option(
        None, help="Name of the pay rule given by options; 1 if not given.", role=Role.manner
    )
    deadline: str | None = option(
        None,
        help="Last instant in time (UTC): later reviews do not count, and a missing one ends the contest.",
    )
    findings: tuple[Path, ...] = option(
        (), help="Audit findings: item_id, flawed, flaw, failed; repeatable.", role=Role.input
    )
    penalty: str | None = option(None, help="Taken for an item that fails its audit.")
    seed: int | None = option(
        None, help="Seed of coins and odd units of ties; 0 if not given.", role=Role.manner
    )
    ledger: Path | None = option(None, help="Ledger to post to; begun if absent.", role=Role.kept)
    contests: Path | None = option(None, help="Write contests as JSONL.", role=Role.output)
    decisions: Path | None = option(
        None, help="Write decisions on items as JSONL, for `kina export`.", role=Role.output
    )
    awards: Path | None = option(None, help="Write one line a reviewer and item as CSV.", role=Role.output)
    draw: Path | None = option(
        None, help="What `audit draw` wrote: findings on other items are refused.", role=Role.input
    )
    allow_corrections: str | None = option(
        None,
        help="Post changes of pay whose evidence is missing or altered; the reason stands in the ledger.",
    )
    dry_run: bool = dry_run()


@dataclass(frozen=True, kw_only=True)
class CommitOptions:
    """Options of `kina review audit commit`."""

    seed_file: Path | None = seed_file()
    items: Path | None = option(
        None, help="All items of the batch: a table with item_id or id.", role=Role.input
    )
    rate: str | None = option(None, help="Share of approved items to audit, such as 0.1.")


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Options of `kina review audit draw`."""

    decisions: Path = option(
        help="decisions.jsonl of `kina review settle`, or a table of item_id, decision.", role=Role.input
    )
    commitment: str = option(help="What `audit commit` printed before the batch.")
    output: Path = option(MISSING, "-o", help="Where the draw is written (JSON).", role=Role.output)
    items: Path | None = option(
        None, help="All items of the batch: a table with item_id or id.", role=Role.input
    )
    rate: str | None = option(None, help="Share of approved items to audit, such as 0.1.")
    ledger: Path | None = option(None, help="Ledger in which the draw is registered.", role=Role.kept)
    seed_file: Path | None = seed_file()


@dataclass(frozen=True, kw_only=True)
class AssessOptions:
    """Options of `kina review audit assess`."""

    draw: Path = option(help="What `audit draw` wrote.", role=Role.input)
    findings: Path = option(help="CSV or JSONL: item_id, flawed, flaw, failed.", role=Role.input)
    reviews: Path = option(help="The reviews behind the items, for the strikes.", role=Role.input)
