"""Commands that ask models and mark their replies: run, extract, score, link."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kina_build.cli import options, scoring_link, scoring_run, scoring_views
from kina_build.cli.command import Run, command
from kina_build.cli.scoring_run import Items, Release, Split

Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]


def extract(
    run: Run,
    replies: Annotated[Path, typer.Argument(help="Rows id, response, n_options or options; '-' for stdin.")],
    output: Output = None,
) -> None:
    """Read the letter of each reply; --json writes one row {id, letter, status, rule} a reply."""
    from kina_build.jsonl import read_records, write_records
    from kina_build.rows.source import STREAM
    from kina_build.scoring.replies import EXTRACTOR_VERSION
    from kina_build.scoring.extraction import Reply, extract_row

    stage = run.stage(
        "extract",
        inputs=[replies],
        outputs=[output or STREAM],
        show=scoring_views.show_extraction,
        params={"extractor_version": EXTRACTOR_VERSION},
    )
    if stage.up_to_date():
        return
    rows = [extract_row(reply) for reply in read_records(replies, Reply)]
    if output is not None:
        write_records(output, rows)
        stage.finish(scoring_views.count_statuses(rows))
    elif run.console.json:
        run.console.rows(rows)
    else:
        scoring_views.show_rows(rows, run.console)


def score(
    run: Run,
    task: Annotated[str, typer.Option("--task", help="multiple-choice, universe or triples.")],
    release: Release = None,
    split: Split = "test",
    items: Items = None,
    responses: Annotated[
        list[Path] | None, typer.Option("--responses", help="responses.jsonl; repeatable.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="Answers of a private split (`kina export --private`).")
    ] = None,
    allow_partial: Annotated[
        bool, typer.Option("--allow-partial", help="Give a score below the coverage floor too.")
    ] = False,
    letters_of: options.LettersOf = None,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Triples: predicted rows.")
    ] = None,
    gold: Annotated[Path | None, typer.Option("--gold", help="Triples: gold rows.")] = None,
    mode: Annotated[
        str,
        typer.Option("--mode", help="Triples: lm-kbc-2023, lm-kbc-2024, strict, seed-recipe, ..."),
    ] = "lm-kbc-2023",
    relative_tolerance: Annotated[
        float | None, typer.Option("--relative-tolerance", min=0, help="Triples, strict: for numbers.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Universe: rows id, gold, language, domain.")
    ] = None,
    replies: Annotated[Path | None, typer.Option("--replies", help="Universe: rows id, response.")] = None,
    matching: Annotated[str, typer.Option("--matching", help="Universe: maximum or greedy.")] = "maximum",
    judge: Annotated[
        str | None, typer.Option("--judge", help="Universe: model that judges leftovers.")
    ] = None,
    judge_log: Annotated[
        Path | None,
        typer.Option("--judge-log", help="Universe: log of the judge's replies, read and added to."),
    ] = None,
    stages: Annotated[
        list[str] | None,
        typer.Option("--stages", help="Universe: CONDITION=scores.jsonl, once for each of the four."),
    ] = None,
    output: Output = None,
) -> None:
    """Mark replies: accuracy of multiple choice, F1 of enumerated universes, F1 of triples.

    --stages tells where reasoning over a universe breaks down. Put the same multiple-choice
    questions four times: alone (question), with the gold universe (universe), with the
    operations to carry out (operations), with both (both); mark each; give the four files
    of scores. Or one table whose rows item_id, model, score, condition hold all.

    A reply is about option texts in an order: it is matched to its form by prompt_sha or
    option_hashes. One with neither is read only in the order that --letters-of states.
    """
    from kina_build.cli import scoring_tasks as tasks
    from kina_build.cli import scoring_universe
    from kina_build.errors import UsageError

    if letters_of is not None and task != "multiple-choice":
        raise UsageError("--letters-of belongs to --task multiple-choice")
    if stages and (task != "universe" or questions or replies or judge or judge_log):
        raise UsageError("--stages belongs to --task universe and takes no --questions, --replies or --judge")

    if task == "multiple-choice":
        tasks.multiple_choice(
            run, release, split, items, answers, responses or [], allow_partial, letters_of, output
        )
    elif task == "triples":
        tasks.triples(run, predictions, gold, mode, relative_tolerance, output)
    elif stages:
        scoring_universe.stages(run, stages, output)
    elif task == "universe":
        scoring_universe.universe(run, questions, replies, matching, judge, judge_log, output)
    else:
        raise UsageError(f"--task {task}: no such task", hint="multiple-choice, universe or triples")


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    command(app, "run", example="kina run --release release --model my-model -o responses.jsonl")(
        scoring_run.run
    )
    command(app, "extract", example="kina extract replies.jsonl --json")(extract)
    command(
        app,
        "score",
        example="kina score --task multiple-choice --items pool.jsonl --responses responses.jsonl",
    )(score)
    command(app, "link", example="kina link predictions.jsonl --names names.csv -o linked.jsonl")(
        scoring_link.link
    )
