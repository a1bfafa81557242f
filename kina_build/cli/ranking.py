"""kina rank: from per-item scores to a leaderboard that shows ties as ties."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.ranking_request import Request, read_board
from kina_build.cli.ranking_tables import show_leaderboard

if TYPE_CHECKING:
    from kina_build.config import RankingRules
    from kina_build.progress import Progress
    from kina_build.ranking.board import Board
    from kina_build.ranking.itemanalysis import ItemFigures
    from kina_build.ranking.leaderboard import Leaderboard
    from kina_build.ranking.rank import Extras

Scores = Annotated[
    Path | None,
    typer.Option("--scores", help="scores.jsonl, or a CSV of item_id, discipline, one column a model."),
]
Answers = Annotated[
    Path | None,
    typer.Option(
        "--answers", help="Rows of model, answers: one letter an item of --letters-of, in its order."
    ),
]
Items = Annotated[
    Path | None,
    typer.Option("--items", help="Items with options and key (pool, release, MMLU-Pro): adds the floors."),
]
Release = Annotated[
    Path | None,
    typer.Option("--release", help="Release the scores belong to: its version, key and filter models."),
]
Split = Annotated[str, typer.Option("--split", help="Split of the --release.")]
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


def rank(
    run: Run,
    *,
    scores: Scores = None,
    answers: Answers = None,
    items: Items = None,
    release: Release = None,
    split: Split = "test",
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
    letters_of: options.LettersOf = None,
) -> None:
    """Rank models by per-item scores, with confidence sets of ranks, ties and tiers.

    Every model's bootstrap uses the same resampled items. `rank` is 1 plus the number of
    models shown to be better, so that models nobody can tell apart share it.

    Letters are scored on the way: kina rank --answers answers.jsonl --letters-of items.jsonl.
    From published accuracies alone: kina rank --published leaderboard.csv --item-count 899.
    """
    request = Request(
        scores,
        answers,
        items,
        release,
        split,
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
        letters_of,
    )
    request.check()
    rules = run.settings.ranking
    if samples is not None:
        rules = rules.model_copy(update={"samples": samples})
    params = {
        "seed": seed,
        "paper": paper,
        "item_count": item_count,
        "split": split if release else None,
        "filter_models": list(request.filter_models),
        "ranking": rules.model_dump(mode="json"),
    }
    stage = run.stage(
        "rank", inputs=request.inputs, outputs=request.outputs, params=params, show=show_leaderboard
    )
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
    request: Request, rules: RankingRules, on_progress: Progress
) -> tuple[Leaderboard, list[ItemFigures] | None]:
    from kina_build.ranking.rank import rank as rank_board

    if request.published is not None and request.item_count is not None:
        from kina_build.ranking.published import rank_published, read_published

        return rank_published(read_published(request.published), request.item_count, rules), None
    board, extras = read_board(request)
    ranked = rank_board(
        board, rules, seed=request.seed, extras=extras, paper=request.paper, on_progress=on_progress
    )
    return ranked, _analyse(board, extras) if request.item_analysis else None


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
