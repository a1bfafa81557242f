"""How selections, verdicts and budgets read on a terminal."""

from __future__ import annotations

from typing import Any

from kina_build.cli.console import Console

SHOWN = 10
"""Rows of a table printed for people before the rest is only counted."""


def show_selection(report: dict[str, Any], console: Console) -> None:
    """Print what `kina select` chose, how good it is, and what it leaves uncovered."""
    certificate, random = report["certificate"], report["random"]
    tight, guarantee = certificate["tightest"], certificate["guarantee"]
    console.line(f"objective {report['objective']:.6g} with {len(report['item_ids'])} items")
    console.line(
        f"this instance: at least {tight['ratio']:.2%} of the optimum ({tight['method']}: no set exceeds "
        f"{tight['upper_bound']:.6g}); the online bound {certificate['upper_bound']:.6g} alone says "
        f"{certificate['ratio']:.2%}"
    )
    console.line(f"worst case: {guarantee['statement']}")
    console.line(
        f"{random['draws']} random sets of the same size: mean {random['mean']:.6g} "
        f"({random['least']:.6g} to {random['most']:.6g}); the selection gains {random['gain']:+.1%}"
    )
    if report["zero_gain_picks"]:
        console.line(f"{report['zero_gain_picks']} picks gained nothing: the anchors were covered before")
    for stratum, count in report["shortfall"].items():
        console.line(f"shortfall: stratum {stratum!r} lacks {count}")
    if len(report["domains"]) > 1:
        rows = [[part[key] for key in ("domain", "k", "selected", "objective")] for part in report["domains"]]
        console.table("domains", ["domain", "k", "selected", "objective"], rows)
    picks = list(zip(report["item_ids"], report["gains"], strict=True))
    console.table(_title("picks", picks), ["item_id", "gain"], picks[:SHOWN])
    gaps = [[g["anchor_id"], g["covered"], g["gap"], ", ".join(g["closers"])] for g in report["uncovered"]]
    if gaps:
        columns = ["anchor_id", "covered", "gap", "items with more"]
        console.table(_title("not fully covered", gaps), columns, gaps[:SHOWN])


def _title(name: str, rows: list[Any]) -> str:
    return name if len(rows) <= SHOWN else f"{name} (first {SHOWN} of {len(rows)})"


def show_verdict(report: dict[str, Any], console: Console) -> None:
    """Print whether a selection holds, and its bounds or its faults."""
    if not report["verified"]:
        console.line(f"refused: {len(report['faults'])} faults")
        for fault in report["faults"][:SHOWN]:
            console.line(f"  {fault}")
        return
    certificate = report["certificate"]
    tight = certificate["tightest"]
    console.line(f"verified: {report['items']} items, objective {report['objective']:.6g}")
    console.line(
        f"this instance: at least {tight['ratio']:.2%} of the optimum ({tight['method']}: no set exceeds "
        f"{tight['upper_bound']:.6g})"
    )
    console.line(f"worst case: {certificate['guarantee']['statement']}")
    if "exact" in report:
        exact = report["exact"]
        proof = "proven by HiGHS" if exact["proven"] else "best found in the time given, not proven"
        console.line(f"optimum {exact['optimum']:.6g} ({proof}); true ratio {exact['true_ratio']:.6f}")


def show_budget(report: dict[str, Any], console: Console) -> None:
    """Print how a total is shared."""
    console.line(f"{report['total']} items over {len(report['k'])} domains")
    columns = ["domain", "k", "stratum", "lower", "upper", "eligible"]
    console.table("budget", columns, [[row[column] for column in columns] for row in report["quotas"]])


def show_nothing(report: dict[str, Any], console: Console) -> None:
    """Print nothing: the error line has said it."""
