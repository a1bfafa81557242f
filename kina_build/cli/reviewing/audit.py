"""kina review audit: commit, draw, assess."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.contents import add_group
from kina_build.cli.run import Run
from kina_review.tournament.options import AssessOptions, CommitOptions, DrawOptions


def commit(run: Run, options: CommitOptions) -> None:
    """Print the commitment to publish before the batch opens: sha256 of the secret seed.

    With --items it covers the audit's rate, the items of the batch and the rule of the draw too.
    """
    from kina_review.pay.drawing import commit_to
    from kina_review.rubric import rules_of

    made = commit_to(options, lambda: rules_of(run.settings))
    run.report({"commitment": made}, lambda report, console: console.line(report["commitment"]))


def draw(run: Run, options: DrawOptions) -> None:
    """Draw the items to audit among the accepted ones: after approval, before pay.

    A second draw under one commitment is refused. With --ledger the draw is registered, and
    `kina review settle` refuses findings on items that were not drawn.
    """
    from kina_build.rows.jsonl import write_document
    from kina_review.pay.audit import COVERS_ALL
    from kina_review.pay.drawing import draw_audit, read_share
    from kina_review.pay.settling import beside
    from kina_review.rubric import rules_of

    share = read_share(options.rate, lambda: rules_of(run.settings))
    kept = beside(options.ledger) if options.ledger else ()
    params = {"rate": str(share)}
    stage = run.start("review audit draw", options, show=_show_draw, params=params, kept=kept)
    audit = draw_audit(options, share)
    if stage.up_to_date():
        return
    if not audit.commitment.startswith(COVERS_ALL):
        run.console.say(
            "the commitment covers the seed alone: `audit commit --items` covers rate and list too"
        )
    write_document(options.output, audit)
    stage.finish(audit.model_dump(mode="json"))


def _show_draw(report: dict[str, Any], console: Console) -> None:
    console.line(f"{len(report['item_ids'])} of {report['approved']} approved items to audit:")
    for item_id in report["item_ids"]:
        console.line(item_id)


def assess(run: Run, options: AssessOptions) -> None:
    """Report the flaw rate among approved items with its interval, and each reviewer's audits.

    Penalties and promotions are posted by `kina review settle --findings`. Strikes inform
    a person; they block nothing. Exit code 1 while drawn items lack a finding.
    """
    from kina_review.pay.drawing import assess_audit
    from kina_review.rubric import rules_of

    report = assess_audit(options, rules_of(run.settings))
    run.report(report, _show_assessment, exit_code=1 if report["pending"] else 0)


def _show_assessment(report: dict[str, Any], console: Console) -> None:
    rate = report["flaw_rate"]
    console.line(
        f"{rate['flawed']} of {rate['audited']} audited items are flawed: {rate['rate']:.1%} "
        f"({rate['confidence']:.0%} interval {rate['lower']:.1%} to {rate['upper']:.1%})"
    )
    if report["pending"]:
        console.line(f"still without a finding: {', '.join(report['pending'])}")
    rows = [
        [r["reviewer_id"], r["audited"], r["failed"], r["call"].replace("_", " ")]
        for r in report["reviewers"]
    ]
    console.table("reviewers", ["reviewer", "audited", "failed", "call"], rows)


EXAMPLES: Mapping[str, tuple[Callable[..., None], str]] = {
    "commit": (commit, "--seed-file seed.txt"),
    "draw": (draw, "--decisions decisions.jsonl --seed-file seed.txt --commitment 3b51... -o audit.json"),
    "assess": (assess, "--draw audit.json --findings findings.csv --reviews reviews.csv"),
}


def register(group: typer.Typer) -> None:
    """Add `audit` to `kina review`."""
    audit = add_group(group, "audit", "Commit to, draw and assess audits.")
    for name, (function, rest) in EXAMPLES.items():
        command(audit, name, example=f"kina review audit {name} {rest}")(function)
