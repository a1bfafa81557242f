"""What `kina support` prints for people."""

from __future__ import annotations

from typing import Any

from kina_build.cli.console import Console

SHOWN = 12
"""Ids printed before the rest is only counted."""


def show_support(report: dict[str, Any], console: Console) -> None:
    """Show what a matrix covers, and what its adapter says of it."""
    console.line(
        f"{report['items']} items x {report['anchors']} anchors by {report['method']}; "
        f"if every item were taken, {report['mean_best']:.1%} of the anchors' weight would be covered"
    )
    console.line("pairs by score: " + ", ".join(f"{band}: {n}" for band, n in report["distribution"].items()))
    _list(console, "anchors that no item supports", report["unsupported_anchors"])
    _list(console, "items that support nothing", report["idle_items"])
    if "reference_items" in report:
        _list(console, "items that are anchors, and are not selected", report["reference_items"])
    for finding in report["findings"]:
        console.line(f"{finding['subject']}: {finding['message']}")
    if "spread" in report:
        spread = report["spread"]
        console.line(
            f"spread: {spread['anchors']} items are anchors too, with {spread['share']:.1%} of all weight, "
            f"each shown by the {spread['near']} items nearest to it"
        )
    if "ratings" in report:
        _show_ratings(report, console)
    if "bank" in report:
        _show_bank(report, console)
    if "compared" in report:
        compared = report["compared"]
        console.line(
            f"against the other file: Spearman {compared['spearman']}, Pearson {compared['pearson']}, "
            f"same best anchor {compared['same_best']} ({compared['pairs']} pairs)"
        )


def _show_ratings(report: dict[str, Any], console: Console) -> None:
    rows = [[judge, *counts, report["unquoted"][judge]] for judge, counts in report["ratings"].items()]
    console.table("ratings", ["judge", "0", "1", "2", "3", "4", "not quoted"], rows)
    _show_agreement(console, report["agreement"])
    experts = report["experts"]
    if experts:
        _show_agreement(console, experts["agreement"])
        fit = experts["calibration"]
        state = "calibrated" if fit["applied"] else "not calibrated"
        console.line(
            f"against experts: equal {experts['exact']}, bias {experts['bias']} on {experts['pairs']} pairs; "
            f"{state} (mean error {fit['error_before']}, on held-out items {fit['error_after']})"
        )
    if "calls" in report:
        calls = report["calls"]
        console.line(
            f"{calls['calls']} calls ({', '.join(f'{k} {n}' for k, n in calls['statuses'].items())}), "
            f"{calls['prompt_tokens']} + {calls['completion_tokens']} tokens, cost {calls['cost']}"
        )
        _list(console, "items left out because a pair got no rating", report["left_out"])


def _show_agreement(console: Console, compared: list[dict[str, Any]], of: str = "") -> None:
    for pair in compared:
        if pair["pairs"]:
            console.line(
                f"{of}{' and '.join(pair['judges'])}: equal {pair['exact']}, "
                f"within one {pair['within_one']}, weighted kappa {pair['kappa']}, "
                f"at least {pair['kappa_low']} ({pair['pairs']} pairs)"
            )


def show_estimate(report: dict[str, Any], console: Console) -> None:
    """Say what the calls would take."""
    console.line(
        f"{report['calls']} calls to make ({report['calls_answered']} answered already) "
        f"for {report['pairs']} ratings"
    )
    console.line(
        f"about {report['prompt_tokens']} tokens in, at most {report['completion_tokens_at_most']} out, "
        f"cost at most {report['cost_at_most']}"
    )


def show_sheets(report: dict[str, Any], console: Console) -> None:
    """Say what was drawn and how to go on."""
    for kind, fill in (("items", "`aligned`"), ("pairs", "`support` and `duplicate`")):
        names = ", ".join(name for name in report["files"] if name.startswith(kind))
        console.line(f"{names}: {report[kind]} {kind}; fill {fill} with 1 or 0")


def _show_bank(report: dict[str, Any], console: Console) -> None:
    rows = [
        [name or "(none)", d["items"], d["references"], d["bank"], d["shortlist"], d["centrality_threshold"]]
        for name, d in report["domains"].items()
    ]
    columns = ["domain", "items", "references", "bank", "shortlist", "least centrality"]
    console.table("reference bank", columns, rows)
    left_out = ", ".join(f"{why} {count}" for why, count in report["left_out"].items())
    console.line(f"not on the shortlist: {left_out or 'none'}")
    for name, why in report["manual_review"].items():
        console.line(f"to manual review: {name or 'items without a domain'} ({why})")
    for name in ("alignment", "support", "duplicate"):
        fit = report["calibrators"][name]
        own = [d for d, fits in report["calibrators"].get("by_domain", {}).items() if name in fits]
        more = f"; of their own: {', '.join(own)}" if own else ""
        console.line(f"calibrator of {name}: {fit['labels']} labels, {fit['positive']} positive{more}")
    for kind, labels in report["labels"].items():
        for column, compared in labels["agreement"].items():
            _show_agreement(console, compared, f"{column}: ")
        if labels["disputed"]:
            _list(console, f"{kind} left out of the labels, as experts are divided", labels["disputed"])
    console.line(f"pairs of the shortlist in conflict: {report['conflicts']}")
    if report["unknown_difficulty"]:
        console.line(f"items of unknown difficulty, which pass its interval: {report['unknown_difficulty']}")
    if "rechecked" in report:
        told = report["rechecked"]
        console.line(
            f"of uncertain alignment: {told['uncertain']}; asked again about {told['asked']}, "
            f"read {told['read']}"
        )


def _list(console: Console, title: str, ids: list[str]) -> None:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    console.line(f"{title}: {len(ids)}" + (f" ({', '.join(ids[:SHOWN])}{more})" if ids else ""))
