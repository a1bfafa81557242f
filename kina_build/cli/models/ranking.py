"""kina rank and kina compare: from per-item scores to a leaderboard that shows ties as ties."""

from __future__ import annotations

import typer

from kina_build.cli.command import command
from kina_build.cli.models.ranking_views import show_comparison, show_leaderboard
from kina_build.cli.run import Run
from kina_build.ranking.options import CompareOptions, RankOptions


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


def compare(run: Run, options: CompareOptions) -> None:
    """Compare two models on the same items: the difference, what it takes to show one, what changed.

    Two files of one model each are compared as they are: two models, or one under two conditions
    (with and without tools, two prompts): kina compare plain.jsonl tools.jsonl
    """
    from kina_build.options import parameters
    from kina_build.ranking.files.compared import compare_files

    rules = run.settings.ranking
    given = [options.scores, *options.files, *options.responses, options.only, options.clusters]
    stage = run.stage(
        "compare",
        inputs=[path for path in given if path is not None],
        outputs=[options.output] if options.output else [],
        params=parameters(options) | {"level": rules.level, "power_factor": rules.power_factor},
        show=show_comparison,
    )
    found = compare_files(options, rules)
    if options.output is None:
        run.report(found.report, show_comparison)
        return
    found.write(options.output)
    stage.finish(found.report, packages=["numpy", "scipy"])


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "rank", example="kina rank --scores scores.jsonl -o leaderboard.json")(rank)
    command(app, "compare", example="kina compare model-a model-b --scores scores.jsonl")(compare)
