"""kina rank: from per-item scores to a leaderboard that shows ties as ties."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kina_build.config import RankingRules
    from kina_build.ranking.board import Board
    from kina_build.ranking.itemanalysis import ItemFigures
    from kina_build.ranking.leaderboard import Leaderboard
    from kina_build.ranking.rank import Extras
    from kina_build.ranking.sources import ItemKey, ScoreTable

Scores = Annotated[
    Path | None,
    typer.Option("--scores", help="scores.jsonl, or a CSV of item_id, discipline, one column a model."),
]
Answers = Annotated[
    Path | None,
    typer.Option("--answers", help="Rows of model, answers: one letter an item of --items, in its order."),
]
Items = Annotated[
    Path | None,
    typer.Option("--items", help="Items with options and key (pool, release, MMLU-Pro): adds the floors."),
]
Published = Annotated[
    Path | None,
    typer.Option("--published", help="Published accuracies in percent: columns model, ALL, disciplines."),
]
ItemCount = Annotated[
    int | None, typer.Option("--item-count", min=2, help="Items behind the --published accuracies.")
]
Only = Annotated[
    Path | None,
    typer.Option("--only", help="Rank on these items only: a selection.json, or rows with item_id."),
]
Clusters = Annotated[
    Path | None,
    typer.Option("--clusters", help="Rows of item_id, cluster: items of one cluster are drawn together."),
]
FilterModel = Annotated[
    list[str] | None,
    typer.Option("--filter-model", help="A model whose failures chose the items: shown, not ranked."),
]
Samples = Annotated[
    int | None, typer.Option("--samples", min=100, help="Resamples; default: ranking.samples, 10000.")
]
Paper = Annotated[bool, typer.Option("--paper", help="Add the KINA paper's own stability table.")]
ItemAnalysis = Annotated[
    Path | None,
    typer.Option("--item-analysis", help="Write each item's difficulty, discrimination and distractor."),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the leaderboard (JSON).")]


@dataclass(frozen=True)
class Request:
    """The options of one run, checked against each other."""

    scores: Path | None
    answers: Path | None
    items: Path | None
    published: Path | None
    item_count: int | None
    only: Path | None
    clusters: Path | None
    filter_models: tuple[str, ...]
    samples: int | None
    seed: int
    paper: bool
    item_analysis: Path | None
    output: Path | None

    @property
    def inputs(self) -> list[Path]:
        """Return the files that are read."""
        given = (self.scores, self.answers, self.items, self.published, self.only, self.clusters)
        return [path for path in given if path is not None]

    @property
    def outputs(self) -> list[Path]:
        """Return the files that are written."""
        return [path for path in (self.output, self.item_analysis) if path is not None]

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            UsageError: none or more than one source, or an option the source has no use for.
        """
        sources = [s for s in (self.scores, self.answers, self.published) if s is not None]
        if len(sources) != 1:
            raise UsageError(
                "give exactly one of --scores, --answers, --published",
                hint="kina rank --scores scores.jsonl",
            )
        if self.answers is not None and self.items is None:
            raise UsageError("--answers needs --items", hint="the file that the letters answer, in its order")
        if (self.published is None) != (self.item_count is None):
            raise UsageError("--published and --item-count go together", hint="KINA: --item-count 899")
        paired = [self.only, self.clusters, self.item_analysis, self.items, *self.filter_models]
        if self.published is not None and (self.paper or any(p is not None for p in paired)):
            raise UsageError("--published takes only --item-count: there are no item-level scores behind it")


def rank(
    run: Run,
    *,
    scores: Scores = None,
    answers: Answers = None,
    items: Items = None,
    published: Published = None,
    item_count: ItemCount = None,
    only: Only = None,
    clusters: Clusters = None,
    filter_model: FilterModel = None,
    samples: Samples = None,
    seed: options.Seed = 0,
    paper: Paper = False,
    item_analysis: ItemAnalysis = None,
    output: Output = None,
) -> None:
    """Rank models by per-item scores, with confidence sets of ranks, ties and tiers.

    Every model's bootstrap uses the same resampled items. `rank` is 1 plus the number of
    models shown to be better, so that models nobody can tell apart share it.

    Letters are scored on the way: kina rank --answers answers.jsonl --items items.jsonl.
    From published accuracies alone: kina rank --published leaderboard.csv --item-count 899.
    """
    request = Request(
        scores,
        answers,
        items,
        published,
        item_count,
        only,
        clusters,
        tuple(sorted(set(filter_model or []))),
        samples,
        seed,
        paper,
        item_analysis,
        output,
    )
    request.check()
    rules = run.settings.ranking
    if samples is not None:
        rules = rules.model_copy(update={"samples": samples})
    params = {
        "seed": seed,
        "paper": paper,
        "item_count": item_count,
        "filter_models": list(request.filter_models),
        "ranking": rules.model_dump(mode="json"),
    }
    stage = run.stage("rank", inputs=request.inputs, outputs=request.outputs, params=params, show=_show)
    if stage.up_to_date():
        return
    with run.console.progress("resampling") as on_progress:
        board, figures = _make(request, rules, on_progress)
    _write(request, board, figures)
    stage.finish(board.model_dump(mode="json"), packages=["numpy", "scipy"])


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "rank", example="kina rank --scores scores.jsonl -o leaderboard.json")(rank)


def _make(
    request: Request, rules: RankingRules, on_progress: Any
) -> tuple[Leaderboard, list[ItemFigures] | None]:
    from kina_build.ranking.rank import rank as rank_board

    if request.published is not None and request.item_count is not None:
        from kina_build.ranking.published import rank_published, read_published

        return rank_published(read_published(request.published), request.item_count, rules), None
    board, extras = _read(request)
    ranked = rank_board(
        board, rules, seed=request.seed, extras=extras, paper=request.paper, on_progress=on_progress
    )
    return ranked, _analyse(board, extras) if request.item_analysis else None


def _read(request: Request) -> tuple[Board, Extras]:
    from kina_build.ranking import sources
    from kina_build.ranking.board import build_board
    from kina_build.ranking.rank import Extras

    keys = sources.read_items(request.items) if request.items else None
    table = _table(request, keys)
    board = build_board(
        table.models,
        table.item_ids,
        table.scores,
        table.disciplines,
        clusters=sources.read_clusters(request.clusters) if request.clusters else None,
        filter_models=request.filter_models,
        only=sources.read_item_ids(request.only) if request.only else None,
    )
    if keys is None:
        return board, Extras()
    return board, Extras(sources.key_of(keys, board.item_ids), sources.letters_of(table, board.item_ids))


def _table(request: Request, keys: Sequence[ItemKey] | None) -> ScoreTable:
    from kina_build.ranking import sources

    if request.answers is not None and keys is not None:
        return sources.read_letters(request.answers, keys)
    if request.scores is None:
        raise UsageError("no scores given")
    return sources.read_scores(request.scores)


def _analyse(board: Board, extras: Extras) -> list[ItemFigures]:
    from kina_build.ranking.itemanalysis import add_distractors, analyse_items

    figures = analyse_items(board)
    if extras.letters is None or extras.key is None:
        return figures
    rows = [extras.letters[model] for model in board.models]
    return add_distractors(figures, rows, extras.key.keys, board.accuracy)


def _write(request: Request, ranked: Leaderboard, figures: list[ItemFigures] | None) -> None:
    from kina_build.jsonl import write_document, write_records

    if request.output is not None:
        write_document(request.output, ranked)
    if request.item_analysis is not None and figures is not None:
        write_records(request.item_analysis, figures)


def _show(report: dict[str, Any], console: Console) -> None:
    level = f"{report['level']:.0%}"
    models, items = report["models"], report["items"]
    tiers = len({s["tier"] for s in report["standings"]})
    console.line(f"{models} models on {items} items: {tiers} tier{'s' if tiers != 1 else ''}")
    console.table(
        "",
        ["tier", f"rank set, {level} all rows", f"{level} this row", "model", "accuracy", "low", "high"],
        [
            [
                s["tier"],
                _span(s["rank_low_simultaneous"], s["rank_high_simultaneous"]),
                _span(s["rank_low"], s["rank_high"]),
                s["model"],
                s["accuracy"],
                s["low"],
                s["high"],
            ]
            for s in report["standings"]
        ],
    )
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


def _show_ties(report: dict[str, Any], console: Console) -> None:
    next_to = [pair for pair in report["pairs"] if pair["p_next_holm"] is not None]
    if not next_to:
        return
    apart = [pair for pair in next_to if pair["p_next_holm"] < 1 - report["level"]]
    console.line(
        f"neighbours told apart: {len(apart)} of {len(next_to)} ({next_to[0]['test']}, Holm); "
        f"least difference these items show: {report['mdd']:.4f}"
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
    if summary and (summary["flag_key"] or summary["undefined"]):
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
