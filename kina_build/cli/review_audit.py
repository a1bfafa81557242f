"""kina review audit: commit, draw, assess."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from decimal import Decimal

    from kina_review.records import Audit

SEED_VARIABLE = "KINA_AUDIT_SEED"

SeedFile = Annotated[
    Path | None,
    typer.Option("--seed-file", help=f"File with the secret seed; else the environment's {SEED_VARIABLE}."),
]
Decisions = Annotated[Path, typer.Option("--decisions", help="decisions.jsonl of `kina review settle`.")]
Commitment = Annotated[
    str, typer.Option("--commitment", help="What `audit commit` printed before the batch.")
]
Rate = Annotated[str | None, typer.Option("--rate", help="Share of approved items to audit, such as 0.1.")]
Items = Annotated[
    Path | None, typer.Option("--items", help="All items of the batch: a table with item_id or id.")
]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="Ledger in which the draw is registered.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the draw is written (JSON).")]
Draw = Annotated[Path, typer.Option("--draw", help="What `audit draw` wrote.")]
Findings = Annotated[Path, typer.Option("--findings", help="CSV or JSONL: item_id, flawed, flaw, failed.")]
Reviews = Annotated[Path, typer.Option("--reviews", help="The reviews behind the items, for the strikes.")]


def commit(run: Run, *, seed_file: SeedFile = None, items: Items = None, rate: Rate = None) -> None:
    """Print the commitment to publish before the batch opens: sha256 of the secret seed.

    With --items it covers the audit's rate, the items of the batch and the rule of the draw too.
    """
    from kina_review.pay.audit import commit as commit_to
    from kina_review.pay.audit import commit_all

    seed = _seed(seed_file)
    if items is None and rate is not None:
        raise UsageError("--rate is committed to together with --items")
    made = commit_to(seed) if items is None else commit_all(seed, _share(run, rate), _ids(items))
    run.report({"commitment": made}, lambda report, console: console.line(report["commitment"]))


def draw(
    run: Run,
    *,
    decisions: Decisions,
    commitment: Commitment,
    output: Output,
    items: Items = None,
    rate: Rate = None,
    ledger: LedgerFile = None,
    seed_file: SeedFile = None,
) -> None:
    """Draw the items to audit among the accepted ones: after approval, before pay.

    A second draw under one commitment is refused. With --ledger the draw is registered, and
    `kina review settle` refuses findings on items that were not drawn.
    """
    from kina_build.jsonl import read_records, write_document
    from kina_review.pay.audit import COVERS_ALL, approved_items, check_first, register_draw
    from kina_review.pay.audit import draw as draw_items
    from kina_review.pay.payees import book_path
    from kina_review.pay.seal import key_path, mark_path
    from kina_review.records import Decision

    share = _share(run, rate)
    kept = [of(ledger) for of in (Path, book_path, key_path, mark_path)] if ledger else []
    stage = run.stage(
        "review audit draw",
        inputs=[decisions, *([items] if items else [])],
        outputs=[output],
        params={"commitment": commitment, "rate": str(share)},
        show=_show_draw,
        kept=[*([seed_file] if seed_file else []), *kept],
    )
    seed = _seed(seed_file)
    approved = approved_items(read_records(decisions, Decision))
    audit = draw_items(approved, seed, share, commitment, _ids(items) if items else ())
    check_first(audit, _drawn_before(output))
    if ledger:
        register_draw(ledger, audit)
    if stage.up_to_date():
        return
    if not audit.commitment.startswith(COVERS_ALL):
        run.console.say(
            "the commitment covers the seed alone: `audit commit --items` covers rate and list too"
        )
    write_document(output, audit)
    stage.finish(audit.model_dump(mode="json"))


def _drawn_before(output: Path) -> list[Audit]:
    """Read the draws that manifests in the output's folder record."""
    from kina_build.errors import InputError
    from kina_build.jsonl import read_document
    from kina_build.manifest import Manifest
    from kina_review.records import Audit

    found = []
    for path in sorted(output.parent.glob("*.manifest.json")):
        try:
            past = read_document(path, Manifest)
        except InputError:
            continue  # not ours
        if past.command == "review audit draw":
            found.append(Audit.model_validate(past.report))
    return found


def _share(run: Run, rate: str | None) -> Decimal:
    from decimal import Decimal, InvalidOperation

    try:
        return review_rules(run.settings).audit_rate if rate is None else Decimal(rate)
    except InvalidOperation:
        raise UsageError(f"--rate {rate!r} is not a number") from None


def _ids(path: Path) -> list[str]:
    from kina_build.errors import InputError
    from kina_build.tables import need_rows

    ids = [str(row.values.get("item_id") or row.values.get("id") or "") for row in need_rows(path)]
    if "" in ids:
        raise InputError(f"{path}: a row has neither item_id nor id")
    return ids


def _show_draw(report: dict[str, Any], console: Console) -> None:
    console.line(f"{len(report['item_ids'])} of {report['approved']} approved items to audit:")
    for item_id in report["item_ids"]:
        console.line(item_id)


def assess(run: Run, *, draw: Draw, findings: Findings, reviews: Reviews) -> None:
    """Report the flaw rate among approved items with its interval, and each reviewer's audits.

    Penalties and promotions are posted by `kina review settle --findings`. Strikes inform
    a person; they block nothing. Exit code 1 while drawn items lack a finding.
    """
    from dataclasses import asdict

    from kina_build.jsonl import read_document
    from kina_review.intake import read_findings, read_reviews
    from kina_review.pay.assessment import check_findings, flaw_rate, judge_all
    from kina_review.records import Audit
    from kina_review.tournament.screening import screen

    numbers = review_rules(run.settings)
    found = read_findings(findings).records
    pending = check_findings(read_document(draw, Audit), found)
    counted = [review for desk in screen(read_reviews(reviews).records).values() for review in desk.reviews]
    rate = flaw_rate(found, numbers)
    report = {
        "pending": pending,
        "flaw_rate": asdict(rate) if rate else None,
        "reviewers": [asdict(record) for record in judge_all(counted, found, numbers)],
    }
    run.report(report, _show_assessment, exit_code=1 if pending else 0)


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


def _seed(path: Path | None) -> str:
    from kina_build.jsonl import read_text

    if path is not None:
        return read_text(path).strip()
    seed = os.environ.get(SEED_VARIABLE, "").strip()
    if not seed:
        raise UsageError(f"no audit seed: give --seed-file or set {SEED_VARIABLE}")
    return seed


def register(group: typer.Typer) -> None:
    """Add `audit` to `kina review`."""
    audit = typer.Typer(
        name="audit", help="Commit to, draw and assess audits.", no_args_is_help=True, rich_markup_mode=None
    )
    command(audit, "commit", example="kina review audit commit --seed-file seed.txt")(commit)
    command(
        audit,
        "draw",
        example="kina review audit draw --decisions decisions.jsonl --seed-file seed.txt "
        "--commitment 3b51... -o audit.json",
    )(draw)
    command(
        audit,
        "assess",
        example="kina review audit assess --draw audit.json --findings findings.csv --reviews reviews.csv",
    )(assess)
    group.add_typer(audit)
