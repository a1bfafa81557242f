"""Commands that ask models and mark their replies: run, extract, score, link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.models import scoring_views as views
from kina_build.cli.run import Run
from kina_build.scoring.options import ExtractOptions, LinkOptions, ResultsOptions, ScoreOptions
from kina_build.scoring.runs.options import RunOptions

if TYPE_CHECKING:
    from kina_build.ranking import Leaderboard


def run(run: Run, options: RunOptions) -> None:
    """Ask a model every question of a release, and keep its raw replies.

    Instead of a release: a pool (--items), enumeration questions (--questions), or subjects
    and relations of LM-KBC (--pairs; its rows go on to `kina link`).

    Every reply goes to the log as it comes; run the same command again to go on where it
    stopped: no answered call is made twice. OPENAI_API_KEY is read from the environment.
    """
    from dataclasses import asdict

    from kina_build.chat import ReplyLog, open_log
    from kina_build.scoring.runs.asking import carry_out, put_together
    from kina_build.scoring.runs.conditions import named, output_of, read_conditions
    from kina_build.scoring.runs.planning import plan_inquiry
    from kina_build.scoring.runs.targets import estimate, read_targets

    rules = run.section(options, "chat")
    options.check()
    options = replace(options, log=options.log or options.output.with_suffix(".replies.jsonl"))
    targets = read_targets(options, rules)
    scoring, conditions = run.section(options, "scoring"), read_conditions(options.helps)
    asked = [(one, c, plan_inquiry(options, scoring, one, c)) for c in conditions for one in targets]
    first = asked[0][2]
    params = {"samples": first.samples, "call": dict(first.params), "prompt_version": first.prompt_version}
    files = [output_of(options.output, condition) for condition in conditions]
    stage = run.start("run", options, show=views.show_run, params=params, more=files[1:])
    if options.dry_run:
        log = ReplyLog.peek(options.log)
        plans = [{"model": named(one, c), **asdict(estimate(inquiry, one, log))} for one, c, inquiry in asked]
        report = {"calls": sum(len(inquiry.calls) for _, _, inquiry in asked), "items": first.items}
        log_name = options.log.name if options.log else None
        run.report(report | {"log": log_name, "estimates": plans}, views.show_plan)
        return
    log, answered = open_log(options.log, fresh=run.force, say=run.console.warn), []
    whom = {one.model: one.endpoint() for one in targets}
    for one, c, inquiry in asked:
        with run.console.progress(f"asking {named(one, c)}") as progress:
            answered.append(
                carry_out(
                    inquiry,
                    named(one, c),
                    whom[one.model],
                    log,
                    rules=one.rules,
                    on_progress=progress,
                    batch=options.batch,
                )
            )
    for place, file in enumerate(files):
        put_together(answered[place * len(targets) : (place + 1) * len(targets)]).write(file)
    answers = put_together(answered)
    stage.finish(
        answers.report,
        exit_code=1 if answers.report["failed"] else 0,
        models={one.model: "as served" for one in targets},
        reused={"replies": answers.reused},
    )


def extract(run: Run, options: ExtractOptions) -> None:
    """Read the letter of each reply; --json writes one row {id, letter, status, rule} a reply."""
    from kina_build.rows.jsonl import read_records, write_records
    from kina_build.rows.source import STREAM
    from kina_build.scoring.extraction import Reply, count_statuses, extract_row
    from kina_build.scoring.replies import EXTRACTOR_VERSION

    stage = run.start(
        "extract",
        replace(options, output=options.output or STREAM),
        show=views.show_extraction,
        params={"extractor_version": EXTRACTOR_VERSION},
    )
    if stage.up_to_date():
        return
    rows = [extract_row(reply) for reply in read_records(options.replies, Reply)]
    if options.output is not None:
        write_records(options.output, rows)
        stage.finish(count_statuses(rows))
    elif run.console.json:
        run.console.rows(rows)
    else:
        views.show_rows(rows, run.console)


def score(run: Run, options: ScoreOptions) -> None:
    """Mark replies: accuracy of multiple choice, F1 of enumerated universes, F1 of triples.

    --stages tells where reasoning over a universe breaks down. Put the same multiple-choice
    questions four times: alone (question), with the gold universe (universe), with the
    operations to carry out (operations), with both (both); mark each; give the four files
    of scores. Or one table whose rows item_id, model, score, condition hold all.

    A reply is about option texts in an order: it is matched to its form by prompt_sha or
    option_hashes. One with neither is read only in the order that --letters-of states.
    """
    options.check()
    if options.task == "multiple-choice":
        _score_choices(run, options)
    elif options.task == "triples":
        _score_triples(run, options)
    elif options.stages:
        _score_stages(run, options)
    else:
        _score_lists(run, options)


def _score_choices(run: Run, options: ScoreOptions) -> None:
    from kina_build.scoring.marking import score_files
    from kina_build.scoring.prompts import PROMPT_VERSION
    from kina_build.scoring.replies import EXTRACTOR_VERSION

    rules = run.settings.scoring
    versions = {"extractor_version": EXTRACTOR_VERSION, "prompt_version": PROMPT_VERSION}
    params = {"coverage_floor": rules.coverage_floor, **versions}
    stage = run.start("score", options, show=views.show_models, params=params)
    if options.output is not None and stage.up_to_date():
        return
    with run.console.progress("marking") as progress:
        scores = score_files(options, rules, say=run.console.warn, on_progress=progress)
    if options.output is None:
        run.report(scores.report, views.show_models, int(scores.held_back))
        return
    scores.write(options.output)
    stage.finish(scores.report, exit_code=int(scores.held_back))


def _score_lists(run: Run, options: ScoreOptions) -> None:
    from kina_build.chat import open_log
    from kina_build.scoring.lists.marking import mark_lists

    stage = run.start("score", options, show=views.show_universe)
    log = open_log(options.judge_log, fresh=run.force, say=run.console.warn) if options.judge else None
    with run.console.progress("judging") as progress:
        marked = mark_lists(options, log, rules=run.settings.chat, on_progress=progress)
    if options.output is not None:
        marked.write(options.output)
    stage.finish(marked.report, exit_code=int(marked.failed > 0))


def _score_triples(run: Run, options: ScoreOptions) -> None:
    from kina_build.scoring.triples.marking import mark_triples

    stage = run.start("score", options, show=views.show_triples)
    marked = mark_triples(options)
    repeats = marked.scores.repeats
    if options.mode == "strict" and repeats:
        run.console.warn(f"{repeats} predicted entries repeat another of their row; each counts once")
    if options.output is not None:
        marked.write(options.output)
    stage.finish(marked.report)


def _score_stages(run: Run, options: ScoreOptions) -> None:
    from kina_build.rows.jsonl import write_records
    from kina_build.scoring.lists.stages import compare_conditions, read_stages, stage_files

    stage = run.stage(
        "score",
        inputs=stage_files(options.stages),
        outputs=[options.output] if options.output else [],
        params={"task": "universe", "stages": [one.rpartition("=")[0] for one in options.stages]},
        show=views.show_stages,
    )
    compared = [one.as_row() for one in compare_conditions(read_stages(options.stages))]
    if options.output is not None:
        write_records(options.output, compared)
    report: dict[str, Any] = {"task": "universe", "stages": compared}
    stage.finish(report)


def results(run: Run, options: ResultsOptions) -> None:
    """Read other tools' logs into one scores file, and check each against the accuracy it states.

    Known are Inspect (.eval, .json), lm-evaluation-harness (samples_*.jsonl with results_*.json),
    lighteval (details and results), HELM run folders, Every Eval Ever, MMLU-Pro's eval_results and
    matrices of scores; a folder is looked through. The scores are each tool's own. To have all
    replies read by one rule, write them with --responses and mark them with `kina score`.

    From strangers' logs to a board in one command: kina results logs --apart --board board
    """
    from kina_build.scoring.results import collect_results

    options.check()
    stage = run.start("results", options, show=views.show_results)
    found = collect_results(options)
    board = _rank_results(run, options, found.trials) if options.board is not None else None
    found.write(options.output)
    if options.responses is not None:
        found.write_responses(options.responses)
    ranked = {} if board is None else {"board": board.report}
    stage.finish(found.report | ranked, exit_code=int(not found.agrees))


def _rank_results(run: Run, options: ResultsOptions, trials: Sequence[Any]) -> Leaderboard:
    """Rank the models of other tools' logs, and write the board and its pages."""
    from kina_build.ranking import rank
    from kina_build.report import write_report
    from kina_build.report.folder import check_target

    folder = options.board or Path()
    check_target(folder)
    with run.console.progress("resampling") as progress:
        board = rank(trials, missing=options.missing, rules=run.settings.ranking, on_progress=progress)
    write_report(folder, leaderboard=board, title="Leaderboard")
    board.write(folder / "leaderboard.json")
    return board


def link(run: Run, options: LinkOptions) -> None:
    """Link predicted names to Wikidata items, from a table or from Wikidata's search."""
    from kina_build.chat import open_log
    from kina_build.scoring.triples.linking import link_files

    options.check()
    client = "offline" if options.names else "wikidata"
    stage = run.start("link", options, show=views.show_links, params={"client": client})
    log = open_log(options.log, fresh=run.force, say=run.console.warn) if options.model else None
    with run.console.progress("choosing") as progress:
        links = link_files(options, log, rules=run.settings.chat, on_progress=progress)
    links.write(options.output)
    stage.finish(links.report, reused={"replies": links.reused})


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    of_run = "kina run --release release --model my-model -o responses.jsonl"
    of_score = "kina score --task multiple-choice --items pool.jsonl --responses responses.jsonl"
    of_link = "kina link predictions.jsonl --names names.csv -o linked.jsonl"
    command(app, "run", example=of_run)(run)
    command(app, "extract", example="kina extract replies.jsonl --json")(extract)
    command(app, "score", example=of_score)(score)
    command(app, "results", example="kina results logs -o scores.jsonl")(results)
    command(app, "link", example=of_link)(link)
