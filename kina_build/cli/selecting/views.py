"""How selections, verdicts and budgets read on a terminal."""

from __future__ import annotations

from typing import Any

from kina_build.cli.console import Console
from kina_build.selection.figures import Figures, figures_of
from kina_build.shares import written

SHOWN = 10
"""Rows of a table printed for people before the rest is only counted."""


def show_selection(report: dict[str, Any], console: Console) -> None:
    """Print what `kina select` chose, how good it is, and what it leaves uncovered."""
    random = report["random"]
    figures = figures_of(report)
    console.line(f"objective {figures.objective} with {len(report['item_ids'])} items")
    _show_maximised(report, console)
    _show_bounds(report, figures, console)
    console.line(
        f"the online bound {figures.online_bound} alone says at least {figures.online_share} of the optimum"
    )
    if report["status"] == "shortfall" and not report["shown"]:
        console.line("fewer items than asked for, which is not shown to be infeasible")
    console.line(
        f"{random['draws']} random sets of the same size: mean {random['mean']:.6g} "
        f"({random['least']:.6g} to {random['most']:.6g}); the selection gains {random['gain']:+.1%}"
    )
    if report["zero_gain_picks"]:
        console.line(f"{report['zero_gain_picks']} picks gained nothing: the anchors were covered before")
    _show_survey(report, console)
    for stratum, count in report["shortfall"].items():
        console.line(f"shortfall: stratum {stratum!r} lacks {count}")
    if len(report["domains"]) > 1:
        columns = ["domain", "k", "selected", "objective"]
        rows = [[*(part[key] for key in columns), part.get("folds", 1)] for part in report["domains"]]
        console.table("domains", [*columns, "r"], rows)
    picks = list(zip(report["item_ids"], report["gains"], strict=True))
    console.table(_title("picks", picks), ["item_id", "gain"], picks[:SHOWN])
    gaps = [[g["anchor_id"], g["covered"], g["gap"], ", ".join(g["closers"])] for g in report["uncovered"]]
    if gaps:
        columns = ["anchor_id", "covered", "gap", "items with more"]
        console.table(_title("not fully covered", gaps), columns, gaps[:SHOWN])


def _show_maximised(report: dict[str, Any], console: Console) -> None:
    """Print how far the anchors carry, what was maximised past that, and F beside it."""
    count = len(report["item_ids"])
    if report["carried"] < count:
        console.line(f"these anchors carry {report['carried']} of {count} items; past that they are full")
    told = sorted({part["maximised"] for part in report["domains"] if "maximised" in part})
    if told:
        whole = len(told) == 1 and all("maximised" in part for part in report["domains"])
        console.line(f"maximised: {'; '.join(told)}{'' if whole else '; F in the other domains'}")
    _show_coverage(report, console)


def _show_coverage(report: dict[str, Any], console: Console) -> None:
    coverage = report.get("coverage")
    if coverage:
        console.line(
            f"F, each anchor by its best item alone: {coverage['objective']:.6g}, at least "
            f"{written(coverage['ratio'])} of the most that such a set covers"
        )


def _show_survey(report: dict[str, Any], console: Console) -> None:
    """Name full anchors and items that support nothing, and say where random sets do as well or better."""
    survey = report["survey"]
    if report["carried"] < len(report["item_ids"]) and survey["full"]:
        full = survey["full"]
        console.line(f"{len(full)} anchors are full, no item would add to them: {_some(full)}")
    if survey["silent"]:
        silent = survey["silent"]
        console.line(f"{len(silent)} picks support no anchor: {_some(silent)}")
    for one in report["beside"]:
        words = {"better": "better than random", "within": "as random", "worse": "WORSE THAN RANDOM"}
        console.line(
            f"{one['measure']}: {one['own']:.6g}, random sets within the same quotas {one['mean']:.6g} "
            f"(middle 90 %: {one['low']:.6g} to {one['high']:.6g}): {words[one['verdict']]}"
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")


def _show_bounds(report: dict[str, Any], figures: Figures, console: Console) -> None:
    """Print what is reached of the optimum, here and in the worst case, and what was rounded."""
    certificate = report["certificate"]
    method = certificate["tightest"]["method"]
    console.line(
        f"this instance: at least {figures.share} of the optimum ({method}: no set exceeds {figures.bound})"
    )
    if certificate["tightest"]["steps"] == report["steps"]:
        console.line("the set is optimal: its objective is the bound, in whole numbers")
    console.line(f"worst case: {certificate['guarantee']['statement']}")
    if figures.rounding:
        console.line(
            f"rounding: scores and weights are kept as whole numbers, which moves an objective by at most "
            f"{figures.rounding}; the figures above carry it"
        )


def _title(name: str, rows: list[Any]) -> str:
    return name if len(rows) <= SHOWN else f"{name} (first {SHOWN} of {len(rows)})"


def show_verdict(report: dict[str, Any], console: Console) -> None:
    """Print whether a selection holds, and its bounds or its faults."""
    if not report["verified"]:
        console.line(f"refused: {len(report['faults'])} faults")
        for fault in report["faults"][:SHOWN]:
            console.line(f"  {fault}")
        return
    figures = figures_of(report)
    console.line(f"verified: {report['items']} items, objective {figures.objective}")
    for said in report.get("maximised", ()):
        console.line(f"maximised: {said}")
    _show_coverage(report, console)
    _show_bounds(report, figures, console)
    named = any(file["said_by"] == "document" for file in report["files"])
    source = "the files that the document names" if named else "the files that were given"
    console.line(f"checked against {source}:")
    for file in report["files"]:
        console.line(f"  {file['role']}: {', '.join(file['names'])} (content sha256 {file['sha256']})")
    for name, said in report["as_stated"].items():
        whose = "as the document says" if said["said_by"] == "document" else "as you state, verified"
        console.line(f"  {name.replace('_', ' ')}: {said['value']} ({whose})")
    if "exact" in report:
        exact = report["exact"]
        proof = "proven by HiGHS" if exact["proven"] else "best found in the time given, not proven"
        told = written(exact["true_ratio"], 4)
        console.line(f"optimum {exact['optimum']:.6g} ({proof}); true ratio {told}")


def show_budget(report: dict[str, Any], console: Console) -> None:
    """Print how a total is shared."""
    console.line(f"{report['total']} items over {len(report['k'])} domains")
    columns = ["domain", "k", "stratum", "lower", "upper", "eligible"]
    console.table("budget", columns, [[row[column] for column in columns] for row in report["quotas"]])


def show_nothing(report: dict[str, Any], console: Console) -> None:
    """Print nothing: the error line has said it."""


def show_sample(report: dict[str, Any], console: Console) -> None:
    """Print what was drawn, and that nothing vouches for it."""
    console.line(f"{len(report['item_ids'])} items drawn with seed {report['seed']}")
    console.line(report["statement"])
    columns = ["stratum", "eligible", "selected"]
    console.table("strata", columns, [[row[column] for column in columns] for row in report["strata"]])
