"""Command that checks, merges and weighs expert anchors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console

if TYPE_CHECKING:
    from kina_build.support.anchors import Anchor
    from kina_build.support.experts import Finding, MergedAnchors

Lists = Annotated[
    list[Path] | None,
    typer.Argument(help="Anchor lists, CSV or JSON Lines; one file an expert.", metavar="FILE..."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The merged anchors.jsonl to write.")]
Worksheet = Annotated[
    Path | None, typer.Option("--worksheet", help="Write a CSV for experts: known anchors and blank rows.")
]
PoolFile = Annotated[
    Path | None, typer.Option("--pool", help="A pool.jsonl whose domains the anchors must cover.")
]
MinExperts = Annotated[
    int, typer.Option("--min-experts", min=1, help="Leave out anchors that fewer experts named.")
]

SHOWN = 12
"""Findings printed for people before the rest is only counted."""


def anchors(
    run: Run,
    *,
    files: Lists = None,
    output: Output = None,
    worksheet: Worksheet = None,
    pool: PoolFile = None,
    min_experts: MinExperts = 1,
) -> None:
    """Check and merge experts' anchor lists, weigh them, and make worksheets.

    Each file is one expert's list (or has a column `expert`). Rows with the same domain and
    statement are one anchor. The written `weight` is mu: equal mass for each domain and
    stratum, shared by the experts' weights. A worksheet that was filled in is read back by
    giving it as FILE; rows whose statement is blank are skipped.
    """
    from kina_build.errors import UsageError

    if not files and not (pool and worksheet and not output):
        raise UsageError(
            "no anchor list given", hint="give FILE..., or start one: --pool POOL --worksheet CSV"
        )
    stage = run.stage(
        "anchors",
        inputs=[*(files or ()), *([pool] if pool else ())],
        outputs=[path for path in (output, worksheet) if path],
        params={
            "min_experts": min_experts,
            "output": bool(output),
            "rules": run.settings.support.model_dump(),
        },
        show=_show,
    )
    if stage.up_to_date():
        return
    from kina_build.items.pool import read_pool
    from kina_build.support.anchors import COLUMNS, anchor_sheet, write_anchors
    from kina_build.support.experts import compare_domains
    from kina_build.tables import write_csv

    items = read_pool(pool) if pool else []
    merged, weighed = _merge(run, files or [], min_experts)
    if output:
        write_anchors(output, weighed)
    if worksheet:
        write_csv(worksheet, COLUMNS, anchor_sheet(merged.anchors if merged else (), items))
    stage.finish(_report(merged, weighed, compare_domains(weighed, items) if pool else []))


def _merge(run: Run, files: list[Path], min_experts: int) -> tuple[MergedAnchors | None, list[Anchor]]:
    """Read and merge the lists; return them with the experts' weights, and the anchors with mu."""
    from kina_build.support.anchors import weigh_anchors
    from kina_build.support.experts import merge_proposals, read_proposals

    if not files:
        return None, []
    merged = merge_proposals([row for file in files for row in read_proposals(file)], min_experts)
    mu = weigh_anchors(merged.anchors, run.settings.support)
    weighed = [
        anchor.model_copy(update={"weight": float(weight)})
        for anchor, weight in zip(merged.anchors, mu, strict=True)
    ]
    return merged, weighed


def _report(merged: MergedAnchors | None, anchors: list[Anchor], about_pool: list[Finding]) -> dict[str, Any]:
    from collections import Counter

    findings = [*(merged.findings if merged else ()), *about_pool]
    return {
        "anchors": len(anchors),
        "by_domain": dict(sorted(Counter(anchor.domain for anchor in anchors).items())),
        "by_kind": dict(sorted(Counter(str(anchor.kind) for anchor in anchors).items())),
        "experts": list(merged.experts) if merged else [],
        "agreement": merged.agreement if merged else None,
        "named_by": {key: list(names) for key, names in merged.named_by.items()} if merged else {},
        "findings": [finding.model_dump() for finding in findings],
        "left_out": [finding.model_dump() for finding in merged.left_out] if merged else [],
    }


def _show(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['anchors']} anchors in {len(report['by_domain'])} domains")
    if report["by_kind"]:
        console.line("kinds: " + ", ".join(f"{kind} {count}" for kind, count in report["by_kind"].items()))
    if len(report["experts"]) > 1:
        shared = sum(len(names) > 1 for names in report["named_by"].values())
        overlap = "undefined" if report["agreement"] is None else f"{report['agreement']:.2f}"
        console.line(f"experts: {', '.join(report['experts'])}")
        console.line(f"anchors named by more than one: {shared}; mean overlap of two lists: {overlap}")
    rows = [[f["rule"], f["subject"], f["message"]] for f in (*report["left_out"], *report["findings"])]
    if rows:
        console.table("to look at", ["rule", "subject", "what"], rows[:SHOWN])
    if len(rows) > SHOWN:
        console.line(f"... and {len(rows) - SHOWN} more (--json lists all)")


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "anchors", example="kina anchors anchors.csv -o anchors.jsonl")(anchors)
