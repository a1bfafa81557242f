"""Records to the few figures that a page leads with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from kina_build.dedup.records import Cluster
from kina_build.items.model import Item
from kina_build.ranking.leaderboard import Leaderboard, Pair
from kina_build.release.record import ReleaseRecord
from kina_build.release.standalone import selection_lines
from kina_build.report.artefacts import Artefacts
from kina_build.report.plots import BarPlot, LinePlot, Span, SpanPlot, bars, span_axis
from kina_build.selection.figures import Figures, figures_of
from kina_build.support.matrix import SPREAD

UNNAMED = "(none given)"
SEVERITIES = ("error", "warning", "info")

FEW = 12
"""Entries of a nested table that are shown one by one."""


@dataclass(frozen=True)
class Cell:
    """One cell of the pairwise matrix: a row's model against a column's."""

    sign: str
    """">" the row is better for certain, "<" worse, "=" cannot be told apart, "" itself."""
    win: float | None
    pair: Pair | None


def count_by(values: Iterable[str]) -> list[tuple[str, int]]:
    """Count values, the most common first, equal ones by name."""
    counts = Counter(value or UNNAMED for value in values)
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def coverage_plot(artefacts: Artefacts) -> BarPlot | None:
    """Show how well the selection covers each anchor: its best support, least covered first."""
    selection = artefacts.selection
    if selection is None:
        return None
    covered: Counter[str] = Counter()
    for domain in selection.domains:
        covered.update(dict(domain.objective_by_anchor))
    matrix = artefacts.support
    if matrix is None:
        return bars(
            "Coverage of anchors, weighted", "weight times best support", _ascending(covered), digits=4
        )
    weights = dict(zip(matrix.anchor_ids, matrix.weights / matrix.weight_unit, strict=True))
    covered = Counter({a: value for a, value in covered.items() if not a.startswith(SPREAD)})
    best = {a: covered[a] / float(weights[a]) for a in covered if weights.get(a, 0) > 0}
    if any(domain.folds > 1 for domain in selection.domains):
        return bars(
            "Coverage of anchors", "support of the items that count, summed", _ascending(best), digits=3
        )
    return bars("Coverage of anchors", "best support, 0 to 1", _ascending(best), top=1.0, digits=3)


def certified(artefacts: Artefacts) -> Figures | None:
    """Return what may be printed of the selection's certificate."""
    selection = artefacts.selection
    return None if selection is None else figures_of(selection.model_dump())


def released_coverage(record: ReleaseRecord) -> list[list[str]]:
    """Lay out the figures of the released items as the card has them; empty without evidence."""
    found = record.figures.get("selection")
    lines = selection_lines(found) if found else []
    return [line.strip("| ").split(" | ") for line in lines if not line.startswith("|---")]


def gain_plot(artefacts: Artefacts) -> LinePlot | None:
    """Show how the objective grows with each pick, under its upper bound."""
    selection = artefacts.selection
    if selection is None or not selection.gains:
        return None
    return LinePlot(
        title="Objective after each pick",
        across="items picked",
        up="objective",
        values=tuple(accumulate(selection.gains)),
        level=selection.certificate.tightest.upper_bound,
        level_name="upper bound on any set",
    )


def accuracy_plot(board: Leaderboard) -> SpanPlot:
    """Show accuracies with their bounds."""
    spans = tuple(Span(s.model, s.low, s.accuracy, s.high) for s in board.standings)
    start, stop = span_axis(spans)
    return SpanPlot(
        "Accuracy",
        "accuracy",
        f"{board.level:.0%} interval ({board.interval})",
        spans,
        max(start, 0.0),
        min(stop, 1.0),
    )


def rank_plot(board: Leaderboard) -> SpanPlot:
    """Show rank sets, for each row alone and for all rows at once."""
    spans = tuple(
        Span(
            s.model,
            s.rank_low,
            place,
            s.rank_high,
            s.rank_low_simultaneous,
            s.rank_high_simultaneous,
        )
        for place, s in enumerate(board.standings, start=1)
    )
    return SpanPlot(
        "Ranks",
        "place by accuracy",
        f"{board.level:.0%} rank set, this row alone",
        spans,
        0.5,
        board.models + 0.5,
        f"{board.level:.0%} rank set, all rows at once",
        0,
    )


def pair_matrix(board: Leaderboard) -> list[tuple[str, list[Cell]]]:
    """Lay the pairwise comparisons out as rows against columns, in the order of the standings."""
    known = {(pair.first, pair.second): pair for pair in board.pairs}
    models = [s.model for s in board.standings]
    return [(row, [_cell(known, row, column) for column in models]) for row in models]


def neighbour_pairs(board: Leaderboard) -> list[Pair]:
    """Return each model's comparison with the next."""
    known = {(pair.first, pair.second): pair for pair in board.pairs}
    order = [s.model for s in board.standings]
    return [known[pair] for pair in pairwise(order) if pair in known]


def severity_counts(artefacts: Artefacts) -> list[tuple[str, int]]:
    """Count findings by severity, the worst first."""
    counts = Counter(finding.severity for finding in artefacts.findings or ())
    rank = {name: place for place, name in enumerate(SEVERITIES)}
    return sorted(counts.items(), key=lambda entry: (rank.get(entry[0], len(rank)), entry[0]))


def _ascending(values: dict[str, float] | Counter[str]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda entry: (entry[1], entry[0]))


def _cell(known: dict[tuple[str, str], Pair], row: str, column: str) -> Cell:
    if row == column:
        return Cell("", None, None)
    if (row, column) in known:
        pair = known[row, column]
        return Cell(">" if pair.distinct else "=", pair.win, pair)
    if (column, row) in known:
        pair = known[column, row]
        return Cell("<" if pair.distinct else "=", None if pair.win is None else 1 - pair.win, pair)
    return Cell("?", None, None)


def option_counts(pool: Iterable[Item]) -> list[tuple[str, int]]:
    """Count items by number of options, fewest first."""
    counts = Counter(len(item.options) for item in pool)
    return [(str(options), count) for options, count in sorted(counts.items())]


def key_letters(artefacts: Artefacts) -> list[tuple[str, int]]:
    """Count right answers by letter, in the order of letters."""
    return sorted(Counter(item.correct_answer for item in artefacts.pool or ()).items())


def cluster_notes(cluster: Cluster) -> list[str]:
    """Say what is unusual about a cluster of duplicates."""
    notes = ["needs a decision"] if cluster.needs_decision else []
    if cluster.chain:
        notes.append(f"its ends are linked only by way of {', '.join(cluster.chain[1:-1])}")
    if cluster.cross_discipline:
        notes.append(f"filed under several paths: {'; '.join(cluster.paths)}")
    return notes


def named(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Sort counts by name, the names as words."""
    return [(name.replace("_", " "), count) for name, count in sorted(counts.items())]


def plain_facts(document: dict[str, Any]) -> list[tuple[str, Any]]:
    """Flatten what `kina certify` printed: dotted name and value; long lists are only counted.

    The certificate itself is left out: it stands beside, as the selection carries it.
    """
    facts: list[tuple[str, Any]] = []
    for name, value in document.items():
        label = name.replace("_", " ")
        if value is None or name == "certificate":
            continue
        if isinstance(value, dict) and len(value) <= FEW:
            facts += [(f"{label}: {inner}", found) for inner, found in plain_facts(value)]
        elif isinstance(value, list | dict):
            short = isinstance(value, list) and 0 < len(value) <= FEW and not isinstance(value[0], dict)
            facts.append((label, ", ".join(map(str, value)) if short else str(len(value))))
        else:
            facts.append((label, {True: "yes", False: "no"}[value] if isinstance(value, bool) else value))
    return facts
