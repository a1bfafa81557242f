"""kina review: the group of the review side, and settling."""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.contents import add_group
from kina_build.cli.reviewing import audit, desk, economics, exchange, ledger, pay
from kina_build.cli.run import Run
from kina_review.tournament.options import SettleOptions

AWARDS_SHOWN = 20


def settle(run: Run, options: SettleOptions) -> None:
    """Turn reviews and their scores into awards, each with its reason, and decisions on items.

    Two reviews an item meet: the better one wins the bonus if it reaches the bar. With
    --ledger only what is not yet posted is posted, so that running again is harmless, and what
    the ledger knows of a batch (deadline, penalty, findings) need not be given again. Pay that
    would change because evidence is missing or altered stops the run. --batch names a file that
    holds all of these options once.
    Without a deadline a contest that lacks a review or a score stays open.
    """
    from kina_review.pay import settling
    from kina_review.pay.batch import fill_in
    from kina_review.rubric import rules_of

    options, numbers = fill_in(options, options.batch_file), rules_of(run.settings)
    terms = settling.terms_of(options, numbers)
    params = {"terms": settling.echo_terms(terms), "review": numbers.model_dump(mode="json")}
    kept = settling.beside(options.ledger) if options.ledger else ()
    stage = run.start("review settle", options, show=_show_settlement, params=params, kept=kept)
    done = settling.settle_files(options, terms, numbers)
    for name, columns in done.ignored.items():
        run.console.warn(f"{name}: columns not read: {', '.join(columns)}")
    if done.undrawn and options.ledger and not options.dry_run:
        run.console.warn(
            f"no --draw shows that the audit drew {', '.join(done.undrawn)}: "
            "a finding on an item that was not drawn may cost nobody money"
        )
    if options.ledger:
        post = done.preview if options.dry_run else done.post
        done = post(options.ledger, options.allow_corrections or "")
    if done.taken_back:
        run.console.warn(
            f"{done.taken_back} payables are taken back: the file has other reviews of their items, but not "
            "theirs; settle all reviews of an item together"
        )
    report = done.report | {"dry_run": options.dry_run}
    if options.dry_run or not stage.job.outputs:
        run.report(report, _show_settlement)
        return
    settling.write_outputs(done, options)
    stage.finish(report)


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
    if "grading_minor" in totals:
        console.line(f"of it {money(totals['grading_minor'])} {currency} to adjudicators")
    states = ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in report["contests"].items())
    console.line(f"contests: {states or 'none'}")
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
            *(money(a[f"{kind}_minor"]) for kind in ("base", "bonus", "penalty")),
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


def register(app: typer.Typer) -> None:
    """Add the group `kina review`."""
    group = add_group(app, "review", "Assign, collect, settle, calibrate, audit and pay reviews.")
    desk.register(group)
    exchange.register(group)
    command(group, "settle", example="kina review settle --reviews reviews.jsonl --bar 14 --ledger pay.db")(
        settle
    )
    for part in (economics, audit, ledger, pay):
        part.register(group)
