"""What the commands about copies print for people."""

from __future__ import annotations

from typing import Any

from kina_build.cli.console import Console

SHOWN = 15
"""Rows shown of what may be many."""


def show_dedup(report: dict[str, Any], console: Console) -> None:
    """Print what was kept and what was compared."""
    console.line(
        f"{report['kept']} of {report['items']} items kept: {report['dropped']} dropped as copies, "
        f"{report['held']} held for a decision"
    )
    rows = [[status.replace("_", " "), count] for status, count in report["pairs"].items()]
    if rows:
        console.table("pairs compared", ["verdict", "pairs"], rows)
    encoder = f"{report['encoder']} at cosine >= {report['threshold']}"
    console.line(f"compared by {encoder if report['encoder'] else 'letters only'}")
    if report.get("review"):
        _show_review(report["review"], console)
    if "fast" in report:
        fast = report["fast"]
        console.line(
            f"{fast['encoded']} items encoded; about {fast['missed']:g} close pairs missed, "
            f"at most {fast['missed_most']} (95 %)"
        )
    if report["need_decision"]:
        console.line(f"{len(report['need_decision'])} clusters need a decision of a person, such as:")
        for names in report["need_decision"][:SHOWN]:
            console.line(f"  {' / '.join(names[:SHOWN])}")
    if "threshold_choice" in report:
        _show_choice(report["threshold_choice"], console)


def _show_review(review: dict[str, Any], console: Console) -> None:
    if review["pairs"]:
        share = (
            "" if review["recall"] is None else f"; that is {review['recall']:.0%} of what no rule decides"
        )
        console.line(
            f"{review['pairs']} pairs to review: by their evidence about {review['expected_copies']:.0f} of "
            f"them are one question{share}"
        )


def _show_choice(choice: dict[str, Any], console: Console) -> None:
    console.line(
        f"{choice['duplicates']} of {choice['pairs']} labelled pairs are duplicates; "
        f"largest threshold with recall >= {choice['recall_floor']}: {choice['chosen']['threshold']}"
    )
    rows = [
        [name, *(choice[key][column] for column in ("threshold", "recall", "precision", "found"))]
        for name, key in (("chosen", "chosen"), ("configured", "default"))
    ]
    console.table("on the labelled pairs", ["", "threshold", "recall", "precision", "pairs found"], rows)


def show_explanation(report: dict[str, Any], console: Console) -> None:
    """Print one item's decision and its nearest neighbours."""
    console.line(f"{report['item_id']}: {report['decision']}; {report['reason']}")
    console.line(f"content {report['content']}")
    rows = [
        [
            pair["other_id"] if pair["item_id"] == report["item_id"] else pair["item_id"],
            pair["cosine"],
            pair["stem_overlap"],
            pair["option_overlap"],
            pair["gold"],
            pair["status"].replace("_", " "),
            pair["reason"],
        ]
        for pair in report["nearest"]
    ]
    console.table("nearest", ["item", "cosine", "stems", "options", "key", "verdict", "reason"], rows)


def show_contamination(report: dict[str, Any], console: Console) -> None:
    """Print what stands elsewhere, and the first hits."""
    console.line(
        f"{len(report['contaminated'])} of {report['items']} items contaminated, "
        f"{len(report['review'])} to be reviewed, {report['clean']} clean"
    )
    corpora = ", ".join(f"{name} ({count})" for name, count in report["corpora"].items())
    console.line(f"compared with {corpora}")
    if report["unsearchable"]:
        names = ", ".join(list(report["unsearchable"])[:SHOWN])
        console.line(f"{len(report['unsearchable'])} items cannot be looked for by their letters: {names}")
    if report["recall"] < 1:
        console.line(f"near texts by an inverted file, measured recall {report['recall']:.3f}")
    rows = [
        [
            *(
                hit[key]
                for key in (
                    "item_id",
                    "corpus",
                    "other_id",
                    "finding",
                    "rule",
                    "cosine",
                    "ngram_share",
                    "reason",
                )
            )
        ]
        for hit in report["hits"]
    ]
    if rows:
        columns = ["item", "corpus", "there", "finding", "rule", "cosine", "runs", "reason"]
        console.table(f"the first {len(rows)} of {sum(report['counts'].values())} hits", columns, rows)
