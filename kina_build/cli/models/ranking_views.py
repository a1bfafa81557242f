"""What kina rank prints for people: rank sets first, false order nowhere."""

from __future__ import annotations

from typing import Any

from kina_build.cli.console import Console

TOO_FEW = "more than any difference can be: too few items"
"""Said in place of a least difference above 1."""


def show_leaderboard(report: dict[str, Any], console: Console) -> None:
    """Print a leaderboard as tables and a few sentences."""
    level = f"{report['level']:.0%}"
    models, items = report["models"], report["items"]
    tiers = len({s["tier"] for s in report["standings"]})
    console.line(f"{models} models on {items} items: {tiers} tier{'s' if tiers != 1 else ''}")
    if report["dataset"]:
        console.line("{name} {version}, content {content_hash}".format(**report["dataset"]))
    on_pool = (report.get("on_pool") or {}).get("estimates", ())
    pool = {one["model"]: [one["estimate"], one["low"], one["high"]] for one in on_pool}
    pool_head = ("on the pool", "low", "high") if pool else ()
    console.table(
        "",
        [
            *("tier", f"rank set, {level} all rows", f"{level} this row", "model", "accuracy", "low", "high"),
            *pool_head,
        ],
        [
            [
                s["tier"],
                _span(s["rank_low_simultaneous"], s["rank_high_simultaneous"]),
                _span(s["rank_low"], s["rank_high"]),
                s["model"],
                s["accuracy"],
                s["low"],
                s["high"],
                *(pool.get(s["model"], [None] * 3) if pool else ()),
            ]
            for s in report["standings"]
        ],
    )
    _show_pool(report, console)
    _show_gaps(report, console)
    _show_exposed(report, console)
    _show_ties(report, console)
    for model in report["not_ranked"]:
        shown = "" if model["accuracy"] is None else f" (scores {model['accuracy']:.4f} on those it has)"
        console.line(f"not ranked: {model['model']}, {model['reason']}{shown}")
    _show_floors(report, console)
    _show_stability(report, console)
    if report["paper"]:
        console.line("the KINA paper's stability table: thinning, with this share of a bootstrap's variance")
        console.table(
            "",
            ["rate", "items", "top-10 tau", "rank 1 kept", "variance share"],
            [list(row.values()) for row in report["paper"]],
        )
    if report["basis"] == "published":
        for note in report["notes"]:
            console.line(f"note: {note}")


def _show_pool(report: dict[str, Any], console: Console) -> None:
    """Show how far estimates and raw scores lie from those on the whole pool."""
    from kina_build.ranking.onpool import OTHER_ITEMS

    if OTHER_ITEMS in report["notes"]:
        console.line(f"note: {OTHER_ITEMS}")
    found = report.get("on_pool")
    if found:
        span = f"{found['error_low']:.2f} to {found['error_high']:.2f}"
        console.line(
            f"on the {found['pool_items']} items of the pool: estimates are off by {found['error']:.2f} "
            f"points on average ({span}) for a model that taught nothing; raw scores of these items lie "
            f"{found['raw_bias']:+.2f} points off, at most {found['raw_most']:.2f}"
        )


def _show_exposed(report: dict[str, Any], console: Console) -> None:
    """Show accuracies with and without the items that stand in other corpora."""
    found = report.get("exposed")
    if found:
        console.line(f"{found['items']} of {report['items']} items stand in other corpora")
        console.table(
            "",
            ["model", "accuracy", "without them", "on them", "place", "without them"],
            [list(row.values()) for row in found["rows"]],
        )


def _show_gaps(report: dict[str, Any], console: Console) -> None:
    """Show whose figures rest on less than was asked, and what the missing scores leave open."""
    gaps = [s for s in report["standings"] if s.get("coverage", 1) < 1]
    if not gaps:
        return
    told = {"wrong": "counts as wrong", "common": "left out for all", "bounds": "counts as wrong"}
    console.line(f"without a score: {told.get(report.get('missing') or '', 'not counted')}")
    rows = [
        [s["model"], s["coverage"], s["accuracy"], s["accuracy_best"],
         None if s["rank_best_case"] is None else _span(s["rank_best_case"], s["rank_worst_case"])]
        for s in gaps
    ]  # fmt: skip
    console.table("", ["model", "coverage", "accuracy", "at best", "places left open"], rows)


def _show_ties(report: dict[str, Any], console: Console) -> None:
    next_to = [pair for pair in report["pairs"] if pair["p_next_holm"] is not None]
    if not next_to:
        return
    apart = [pair for pair in next_to if pair["p_next_holm"] < 1 - report["level"]]
    least = TOO_FEW if report["mdd"] is None else f"{report['mdd']:.4f}"
    console.line(
        f"neighbours told apart: {len(apart)} of {len(next_to)} ({next_to[0]['test']}, Holm); "
        f"least difference these items show: {least}"
    )


def _show_floors(report: dict[str, Any], console: Console) -> None:
    floors = report["floors"]
    if floors:
        console.line(
            f"floors: chance {floors['chance']:.4f}, always {floors['constant_letter']} "
            f"{floors['constant_letter_accuracy']:.4f}"
        )
        below = [s["model"] for s in report["standings"] if s["low"] <= floors["constant_letter_accuracy"]]
        if below:
            console.line(f"not shown to beat the constant letter: {', '.join(below)}")
    summary = report["item_summary"]
    if report["models"] > 1 and summary and (summary["flag_key"] or summary["undefined"]):
        console.line(
            f"items: {summary['flag_key']} with negative discrimination (read their keys again), "
            f"{summary['undefined']} that all models score alike"
        )


def _show_stability(report: dict[str, Any], console: Console) -> None:
    found = report["stability"]
    if found and found["tau"] is not None:
        halves = "" if found["split_half_tau"] is None else f", between halves {found['split_half_tau']:.3f}"
        console.line(
            f"order on other items: Kendall tau {found['tau']:.3f}{halves}; "
            f"leader kept in {found['leader_kept']:.0%} of resamples"
        )


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


SHOWN_CHANGES = 10
"""Items named on the terminal on which two models differ; -o and --json name all."""


def show_comparison(report: dict[str, Any], console: Console) -> None:
    """Print what two models differ by, what these items can show, and where they differ."""
    points = {name: 100 * report[name] for name in ("difference", "low", "high")}
    needed = TOO_FEW if report["needed"] is None else f"{100 * report['needed']:.1f} points needed"
    together = f" in {report['clusters']} clusters" if report["clusters"] else ""
    console.line(
        f"{report['first']} less {report['second']} on {report['items']} items{together}: "
        f"{points['difference']:+.1f} points ({points['low']:+.1f} to {points['high']:+.1f}), "
        f"p {report['p']:.3g} ({report['test']})"
    )
    more = (
        "" if report["items_needed"] is None else f"; such a difference takes {report['items_needed']} items"
    )
    console.line(f"{needed}, {abs(points['difference']):.1f} seen (80 % power){more}")
    columns = ["model", "accuracy", "coverage"]
    sides = [[report[side], report[f"accuracy_{side}"], report[f"coverage_{side}"]] for side in SIDES]
    console.table("", columns, sides)
    if report["difference_worst"] is not None:
        worst, best = 100 * report["difference_worst"], 100 * report["difference_best"]
        console.line(f"what the missing scores leave open: {worst:+.1f} to {best:+.1f} points")
    for name in ("disciplines", "lengths"):
        rows = [
            [one["name"], one["n"], one["first"], one["second"], one["difference"], one["low"], one["high"]]
            for one in report[name]
        ]
        if rows:
            head = ["discipline" if name == "disciplines" else "reply", "items", *(report[s] for s in SIDES)]
            console.table("", [*head, "difference", "low", "high"], rows)
    console.line(f"changed: {report['gained']} items for {report['first']}, {report['lost']} against")
    rows = [[one["item_id"], one["first"], one["second"]] for one in report["changes"][:SHOWN_CHANGES]]
    if rows:
        console.table("", ["item", *(report[s] for s in SIDES)], rows)


SIDES = ("first", "second")
