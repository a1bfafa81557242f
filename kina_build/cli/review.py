"""kina review: the sub-app of the review side, its settings, and settling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli import (
    options,
    review_agreement,
    review_assign,
    review_audit,
    review_calibrate,
    review_desk,
    review_ledger,
    review_pay,
    review_simulate,
)
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import read_instant, review_rules
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kina_review.records import Decision, Finding, LedgerEntry, PayRule
    from kina_review.rubric import ReviewRules
    from kina_review.tournament.batch import Batch
    from kina_review.tournament.settlement import Settlement, Terms

BatchFile = Annotated[
    Path | None,
    typer.Option("--batch", help="A TOML file with these options: reviews, scores, deadline, ..."),
]
TieSeed = Annotated[
    int | None, typer.Option("--seed", help="Seed of coins and odd units of ties; 0 if not given.")
]
Reviews = Annotated[
    list[Path] | None,
    typer.Option(
        "--reviews",
        help="CSV or JSONL: item_id, reviewer_id, review_score, submitted_at, status; repeatable.",
    ),
]
Scores = Annotated[
    list[Path] | None,
    typer.Option(
        "--scores",
        help="Scores of reviews in a file of their own: item_id, reviewer_id and "
        "review_score, or a 0 to 4 mark a criterion; several grader_ids are averaged; repeatable.",
    ),
]
Base = Annotated[str | None, typer.Option("--base", help="Pay for a complete review, such as 2.00.")]
Bonus = Annotated[str | None, typer.Option("--bonus", help="Pay for winning an item, such as 5.00.")]
Currency = Annotated[str | None, typer.Option("--currency", help="ISO 4217 code.")]
Bar = Annotated[str | None, typer.Option("--bar", help="Least review_score that can win.")]
Tie = Annotated[
    Literal["split", "strict", "coin"] | None,
    typer.Option("--tie", help="A tie at or above the bar: half each, nobody, or a seeded coin."),
]
RuleFile = Annotated[
    Path | None,
    typer.Option(
        "--rules", help="Pay rules with dates: version, valid_from, currency, base, bonus, bar, tie."
    ),
]
RuleVersion = Annotated[
    str | None, typer.Option("--rule-version", help="Name of the pay rule given by options; 1 if not given.")
]
Deadline = Annotated[
    str | None,
    typer.Option(
        "--deadline",
        help="Last instant in time (UTC): later reviews do not count, and a missing one ends the contest.",
    ),
]
Findings = Annotated[
    list[Path] | None,
    typer.Option("--findings", help="Audit findings: item_id, flawed, flaw, failed; repeatable."),
]
Penalty = Annotated[str | None, typer.Option("--penalty", help="Taken for an item that fails its audit.")]
DrawFile = Annotated[
    Path | None,
    typer.Option("--draw", help="What `audit draw` wrote: findings on other items are refused."),
]
AllowCorrections = Annotated[
    str | None,
    typer.Option(
        "--allow-corrections",
        help="Post changes of pay whose evidence is missing or altered; the reason stands in the ledger.",
    ),
]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="Ledger to post to; begun if absent.")]
Contests = Annotated[Path | None, typer.Option("--contests", help="Write contests as JSONL.")]
Decisions = Annotated[
    Path | None, typer.Option("--decisions", help="Write decisions on items as JSONL, for `kina export`.")
]
Awards = Annotated[Path | None, typer.Option("--awards", help="Write one line a reviewer and item as CSV.")]


def settle(
    run: Run,
    *,
    batch: BatchFile = None,
    reviews: Reviews = None,
    scores: Scores = None,
    base: Base = None,
    bonus: Bonus = None,
    currency: Currency = None,
    bar: Bar = None,
    tie: Tie = None,
    rules: RuleFile = None,
    rule_version: RuleVersion = None,
    deadline: Deadline = None,
    findings: Findings = None,
    penalty: Penalty = None,
    seed: TieSeed = None,
    ledger: LedgerFile = None,
    contests: Contests = None,
    decisions: Decisions = None,
    awards: Awards = None,
    draw: DrawFile = None,
    allow_corrections: AllowCorrections = None,
    dry_run: options.DryRun = False,
) -> None:
    """Turn reviews and their scores into awards, each with its reason, and decisions on items.

    Two reviews an item meet: the better one wins the bonus if it reaches the bar. With
    --ledger only what is not yet posted is posted, so that running again is harmless, and what
    the ledger knows of a batch (deadline, penalty, findings) need not be given again. Pay that
    would change because evidence is missing or altered stops the run. --batch names a file that
    holds all of these options once.
    Without a deadline a contest that lacks a review or a score stays open.
    """
    from kina_review.tournament.batch import Batch, merge, read_batch

    told = {name: value for name, value in locals().items() if name in Batch.model_fields}
    order = merge(read_batch(batch) if batch else Batch(), told, str(batch))
    if not order.reviews:
        raise UsageError("no reviews are given", hint="--reviews FILE, or a --batch file that names them")
    _settle(run, order, batch, allow_corrections or "", dry_run=dry_run)


def _settle(run: Run, order: Batch, batch: Path | None, allowed: str, *, dry_run: bool) -> None:
    from kina_review import intake
    from kina_review.pay import posting
    from kina_review.pay.payees import book_path
    from kina_review.pay.seal import key_path, mark_path
    from kina_review.tournament import settlement as tournament
    from kina_review.tournament.decisions import decide_items

    reviews, scores, findings, ledger = order.reviews, order.scores, order.findings, order.ledger
    given = {key: getattr(order, key) for key in ("base", "bonus", "currency", "bar", "tie")}
    numbers = review_rules(run.settings)
    pay_rules = _pay_rules(order.rules, order.rule_version or "1", given, numbers)
    terms = _terms(pay_rules, order.seed or 0, order.deadline, order.penalty, numbers)
    outputs = [path for path in (order.contests, order.decisions, order.awards) if path]
    single = [path for path in (batch, order.rules, order.draw) if path]
    stage = run.stage(
        "review settle",
        inputs=[*reviews, *scores, *findings, *single],
        outputs=outputs,
        params={"terms": _echo(terms), "review": numbers.model_dump(mode="json")},
        show=_show_settlement,
        kept=[of(ledger) for of in (Path, book_path, key_path, mark_path)] if ledger else [],
    )
    table = intake.read_reviews(reviews)
    grades = intake.read_grades(scores) if scores else None
    found = intake.read_findings(findings) if findings else None
    ignored = {
        ", ".join(map(str, paths)): part.ignored
        for paths, part in ((reviews, table), (scores, grades), (findings, found))
        if part is not None and part.ignored
    }
    for name, columns in ignored.items():
        run.console.warn(f"{name}: columns not read: {', '.join(columns)}")
    rows = intake.settle_payees(table.records)
    given_findings: Sequence[Finding] = found.records if found else ()
    undrawn = _check_draw(order.draw, ledger, given_findings)
    judged = given_findings
    if ledger:
        places = {(row.item_id, row.round) for row in rows}
        terms, judged = posting.recall(ledger, terms, given_findings, places)
    settlement = tournament.settle(
        rows, terms, grades=grades.records if grades else (), findings=judged, numbers=numbers
    )
    decided = decide_items(settlement.counted, judged, numbers)
    if undrawn and ledger and not dry_run:
        run.console.warn(
            f"no --draw shows that the audit drew {', '.join(undrawn)}: "
            "a finding on an item that was not drawn may cost nobody money"
        )
    report = _report(settlement, decided, ignored) | {"undrawn": undrawn}
    report |= _post(ledger, settlement, dry_run, allowed)
    taken_back = [line for line in report["posted"] or () if line["reason"] == "withdrawn"]
    if taken_back:
        run.console.warn(
            f"{len(taken_back)} payables are taken back: the file has other reviews of their items, but not "
            "theirs; settle all reviews of an item together"
        )
    if dry_run or not outputs:
        run.report(report | {"dry_run": dry_run}, _show_settlement)
        return
    _write(settlement, decided, order.contests, order.decisions, order.awards)
    stage.finish(report | {"dry_run": False})


def _check_draw(draw: Path | None, ledger: Path | None, findings: Sequence[Finding]) -> list[str]:
    """Hold findings against the draw given and those of the ledger; return the items that none shows."""
    from kina_build.jsonl import read_document
    from kina_review.pay.audit import read_draws, undrawn
    from kina_review.pay.ledger import open_ledger
    from kina_review.records import Audit

    draws = [read_document(draw, Audit)] if draw else []
    if ledger and ledger.exists() and ledger.stat().st_size:
        with open_ledger(ledger) as book:
            draws += read_draws(book)
    return undrawn(draws, findings)


def _pay_rules(
    path: Path | None, version: str, given: Mapping[str, str | None], numbers: ReviewRules
) -> Sequence[PayRule]:
    from kina_review.tournament import payrules

    if path:
        clash = [f"--{name}" for name, value in given.items() if value is not None]
        if clash:
            raise UsageError(f"--rules already says what {', '.join(clash)} would say")
        return payrules.read_pay_rules(path)
    return [payrules.build_pay_rule(version, given, numbers)]


def _terms(
    rules: Sequence[PayRule], seed: int, deadline: str | None, penalty: str | None, numbers: ReviewRules
) -> Terms:
    from kina_review.money import parse_pay
    from kina_review.tournament.settlement import Terms

    currency = rules[0].currency
    return Terms(
        rules=tuple(rules),
        seed=seed,
        deadline=None if deadline is None else read_instant(deadline, "--deadline"),
        penalty_minor=None if penalty is None else parse_pay(penalty, currency, "--penalty"),
        usual_penalty_minor=parse_pay(numbers.penalty, currency, "review.penalty"),
    )


def _post(path: Path | None, settlement: Settlement, dry_run: bool, allowed: str) -> dict[str, Any]:
    from kina_review.pay import posting

    if path is None:
        return {"posted": None, "ledger_head": None}
    if dry_run:
        return {"posted": _lines(posting.preview(path, settlement, allowed)), "ledger_head": None}
    done = posting.post_to(path, settlement, allowed)
    return {"posted": _lines(done.lines), "ledger_head": str(done.head)}


def _lines(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    keys = {"item_id", "round", "reviewer_id", "kind", "amount_minor", "reason", "rule"}
    return [entry.model_dump(include=keys) for entry in entries if entry.kind in ("base", "bonus", "penalty")]


def _report(
    settlement: Settlement, decisions: Sequence[Decision], ignored: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    from collections import Counter

    base = sum(award.base_minor for award in settlement.awards)
    bonus = sum(award.bonus_minor for award in settlement.awards)
    penalty = sum(award.penalty_minor for award in settlement.awards)
    return {
        "awards": [award.model_dump(exclude={"payee_id"}) for award in settlement.awards],
        "tie_rate": settlement.tie_rate,
        "totals": {
            "currency": settlement.terms.rules[0].currency,
            "base_minor": base,
            "bonus_minor": bonus,
            "penalty_minor": penalty,
            "total_minor": base + bonus + penalty,
        },
        "contests": settlement.statuses,
        "decisions": dict(sorted(Counter(decision.decision for decision in decisions).items())),
        "items_with_opinions": sum(bool(decision.opinions) for decision in decisions),
        "set_aside": [row.model_dump() for row in settlement.set_aside],
        "ignored_columns": {name: list(columns) for name, columns in ignored.items()},
        "terms": _echo(settlement.terms),
    }


def _echo(terms: Terms) -> dict[str, Any]:
    return {
        "rules": [rule.model_dump(mode="json") for rule in terms.rules],
        "seed": terms.seed,
        "deadline": terms.deadline.isoformat() if terms.deadline else None,
        "penalty_minor": terms.usual_penalty_minor if terms.penalty_minor is None else terms.penalty_minor,
    }


def _write(
    settlement: Settlement,
    decided: Sequence[Decision],
    contests: Path | None,
    decisions: Path | None,
    awards: Path | None,
) -> None:
    from kina_build.jsonl import write_records
    from kina_build.tables import write_csv

    if contests:
        write_records(contests, settlement.contests)
    if decisions:
        write_records(decisions, decided)
    if awards:
        columns = ["item_id", "round", "reviewer_id", "base_minor", "bonus_minor", "penalty_minor", "reason"]
        write_csv(awards, columns, (award.model_dump() for award in settlement.awards))


def _show_settlement(report: dict[str, Any], console: Console) -> None:
    from kina_review.money import format_amount
    from kina_review.pay.sentences import SENTENCES

    totals = report["totals"]
    currency = totals["currency"]

    def money(minor: int) -> str:
        return format_amount(minor, currency)

    console.line(
        f"{money(totals['total_minor'])} {currency} due: base {money(totals['base_minor'])}, bonuses "
        f"{money(totals['bonus_minor'])}, penalties {money(totals['penalty_minor'])}"
    )
    console.line(
        "contests: "
        + (", ".join(f"{n} {word.replace('_', ' ')}" for word, n in report["contests"].items()) or "none")
    )
    rate = report["tie_rate"]
    console.line("tie rate: " + ("undefined (nothing decided)" if rate is None else f"{rate:.1%} of decided"))
    if not report["items_with_opinions"]:
        console.line("items: the reviews hold no ratings, verdicts or flaws to decide by")
    else:
        console.line("items: " + ", ".join(f"{n} {word}" for word, n in report["decisions"].items()))
    if report["posted"] is not None:
        verb = "would be posted" if report["dry_run"] else "posted"
        console.line(f"ledger: {len(report['posted'])} lines {verb}")
    rows: list[list[Any]] = [
        [
            a["item_id"],
            a["round"],
            a["reviewer_id"],
            money(a["base_minor"]),
            money(a["bonus_minor"]),
            money(a["penalty_minor"]),
            SENTENCES[a["reason"]],
        ]
        for a in report["awards"]
    ]
    shown = rows if report["dry_run"] else rows[:AWARDS_SHOWN]
    console.table("awards", ["item", "round", "reviewer", "base", "bonus", "penalty", "why"], shown)
    if len(rows) > len(shown):
        console.line(f"... and {len(rows) - len(shown)} more (--dry-run or --json prints all)")
    if report["set_aside"]:
        aside = [
            [row["item_id"], row["reviewer_id"], SENTENCES[row["reason"]]] for row in report["set_aside"]
        ]
        console.table("rows that do not count", ["item", "reviewer", "why"], aside)


AWARDS_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the group `kina review`."""
    group = typer.Typer(
        name="review",
        help="Assign, collect, settle, calibrate, audit and pay reviews.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for part in (review_assign, review_desk, review_agreement):
        part.register(group)
    command(group, "settle", example="kina review settle --reviews reviews.jsonl --bar 14 --ledger pay.db")(
        settle
    )
    for part in (review_calibrate, review_simulate, review_audit, review_ledger, review_pay):
        part.register(group)
    app.add_typer(group)
