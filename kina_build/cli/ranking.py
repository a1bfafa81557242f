"""kina rank: from per-item scores to a leaderboard that shows ties as ties."""

from __future__ import annotations

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.ranking_views import show_leaderboard
from kina_build.ranking.options import RankOptions


def rank(run: Run, options: RankOptions) -> None:
    """Rank models by per-item scores, with confidence sets of ranks, ties and tiers.

    Every model's bootstrap uses the same resampled items. `rank` is 1 plus the number of
    models shown to be better, so that models nobody can tell apart share it.

    Letters are scored on the way: kina rank --answers answers.jsonl --letters-of items.jsonl.
    From published accuracies alone: kina rank --published leaderboard.csv --item-count 899.
    """
    from kina_build.ranking.reading import rank_files

    options.check()
    rules = run.section(options, "ranking")
    stage = run.start(
        "rank", options, show=show_leaderboard, params={"ranking": rules.model_dump(mode="json")}
    )
    if stage.up_to_date():
        return
    with run.console.progress("resampling") as on_progress:
        ranking = rank_files(options, rules, on_progress)
    ranking.write(options)
    stage.finish(ranking.leaderboard.model_dump(mode="json"), packages=["numpy", "scipy"])


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "rank", example="kina rank --scores scores.jsonl -o leaderboard.json")(rank)
