"""Commands that ask models and mark their replies: run, extract, score, link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options, scoring_views
from kina_build.cli.command import Run, command

if TYPE_CHECKING:
    from kina_build.chat import ChatReply
    from kina_build.config import ChatRules
    from kina_build.scoring.questions import Question
    from kina_build.scoring.runs import Call

Release = Annotated[Path | None, typer.Option("--release", help="Folder of a release (`kina export`).")]
Split = Annotated[str, typer.Option("--split", help="Split of the release.")]
Items = Annotated[Path | None, typer.Option("--items", help="Items instead of a release: a pool.jsonl.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]


def run(
    run: Run,
    model: Annotated[str, typer.Option("--model", help="Name the endpoint knows the model by.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="responses.jsonl to write.")],
    release: Release = None,
    items: Items = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Enumeration questions (CSV or JSONL: id, question).")
    ] = None,
    split: Split = "test",
    base_url: Annotated[str | None, typer.Option("--base-url", help="Else OPENAI_BASE_URL.")] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=1, help="Replies per item.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, help="Else [scoring] or the endpoint's.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Tokens a reply may have.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", help="More of the call, NAME=JSON; repeatable.")
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Show each item's options in a seeded order of its own.")
    ] = False,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="Calls open at once.")
    ] = None,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=0, help="Stop after so many.")] = None,
    log: Annotated[Path | None, typer.Option("--log", help="Reply log; else beside the output.")] = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    dry_run: options.DryRun = False,
) -> None:
    """Ask a model every question of a release, and keep its raw replies.

    Every reply goes to the log as it comes; run the same command again to go on where it
    stopped: no answered call is made twice. OPENAI_API_KEY is read from the environment.
    """
    from kina_build.chat import Endpoint, ReplyLog, complete
    from kina_build.jsonl import write_records
    from kina_build.scoring.prompts import PROMPT_VERSION
    from kina_build.scoring.runs import collect_responses

    rules = _chat_rules(run, concurrency, max_calls)
    scoring = run.settings.scoring
    params = _call_params(
        param, scoring.temperature if temperature is None else temperature, max_tokens or scoring.max_tokens
    )
    k = samples or (1 if questions is not None else scoring.samples)
    calls = _plan(run, release, items, questions, split, limit, model, k, params, seed if shuffle else None)
    log_path = log or output.with_suffix(".replies.jsonl")
    if dry_run:
        run.report(
            {"calls": len(calls), "items": len({c.item_id for c in calls}), "log": log_path.name},
            scoring_views.show_plan,
        )
        return
    replies = ReplyLog(log_path)
    with run.console.progress(f"asking {model}") as progress:
        received = complete(
            [call.request for call in calls],
            Endpoint.from_environment(base_url),
            replies,
            rules=rules,
            on_progress=progress,
        )
    write_records(output, collect_responses(calls, received))
    stage = run.stage(
        "run",
        inputs=[path for path in (release, items, questions) if path is not None],
        outputs=[output],
        show=scoring_views.show_run,
        params={
            "model": model,
            "samples": k,
            "call": params,
            "shuffle": shuffle,
            "seed": seed,
            "split": split,
        }
        | {"limit": limit, "prompt_version": PROMPT_VERSION},
    )
    report = _run_report(model, calls, received, rules, replies.torn)
    stage.finish(report, exit_code=1 if report["failed"] else 0, models={model: "as served"})


def _chat_rules(run: Run, concurrency: int | None, max_calls: int | None) -> ChatRules:
    given = {"concurrency": concurrency, "max_calls": max_calls}
    rules = run.settings.chat
    return rules.model_copy(update={name: value for name, value in given.items() if value is not None})


def _call_params(pairs: list[str] | None, temperature: float | None, max_tokens: int) -> dict[str, Any]:
    import json

    from kina_build.errors import UsageError

    params: dict[str, Any] = {"max_tokens": max_tokens}
    if temperature is not None:
        params["temperature"] = temperature
    for pair in pairs or []:
        name, _, text = pair.partition("=")
        try:
            params[name] = json.loads(text)
        except json.JSONDecodeError:
            raise UsageError(
                f"--param {pair}: the value is not JSON", hint="for instance --param 'stop=[\"\\n\\n\"]'"
            ) from None
    return params


def _plan(
    run: Run,
    release: Path | None,
    items: Path | None,
    questions: Path | None,
    split: str,
    limit: int | None,
    model: str,
    samples: int,
    params: dict[str, Any],
    shuffle_seed: int | None,
) -> list[Call]:
    from kina_build.scoring.runs import plan_calls, plan_list_calls
    from kina_build.scoring.universe import read_seeds

    if questions is not None:
        return plan_list_calls(read_seeds(questions, with_gold=False)[:limit], model, samples, params)
    asked = _questions(run, release, items, split)[:limit]
    return plan_calls(asked, model, samples, params, shuffle_seed=shuffle_seed)


def _questions(run: Run, release: Path | None, items: Path | None, split: str) -> list[Question]:
    from kina_build.errors import UsageError
    from kina_build.scoring.questions import read_items, read_release

    if (release is None) == (items is None):
        raise UsageError("give either --release or --items", hint="kina export writes a release folder")
    return read_release(release, split) if release is not None else read_items(items or Path())


def _run_report(
    model: str, calls: list[Call], replies: list[ChatReply], rules: ChatRules, torn: int
) -> dict[str, Any]:
    from kina_build.chat import cost_of, count_statuses

    failed = [reply for reply in replies if not reply.answered]
    return {
        "model": model,
        "items": len({call.item_id for call in calls}),
        "calls": len(calls),
        "answered": len(calls) - len(failed),
        "failed": len(failed),
        "statuses": count_statuses(replies),
        "first_error": failed[0].error if failed else None,
        "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
        "completion_tokens": sum(reply.completion_tokens for reply in replies),
        "cost": cost_of(replies, rules),
        "torn_log_lines": torn,
    }


def extract(
    run: Run,
    replies: Annotated[Path, typer.Argument(help="Rows id, response, n_options or options; '-' for stdin.")],
    output: Output = None,
) -> None:
    """Read the letter of each reply; --json writes one row {id, letter, status, rule} a reply."""
    from kina_build.jsonl import STREAM, read_records, write_records
    from kina_build.scoring.letters import EXTRACTOR_VERSION
    from kina_build.scoring.replies import Reply, extract_row

    records = read_records(replies, Reply)
    stage = run.stage(
        "extract",
        inputs=[replies],
        outputs=[output or STREAM],
        show=scoring_views.show_extraction,
        params={"extractor_version": EXTRACTOR_VERSION},
    )
    if stage.up_to_date():
        return
    rows = [extract_row(reply) for reply in records]
    if output is not None:
        write_records(output, rows)
        stage.finish(scoring_views.count_statuses(rows))
    elif run.console.json:
        write_records(STREAM, rows)
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
    allow_partial: Annotated[
        bool, typer.Option("--allow-partial", help="Give a score below the coverage floor too.")
    ] = False,
    trust_letters: Annotated[
        bool,
        typer.Option("--trust-letters", help="Replies without prompt_sha follow the release's letters."),
    ] = False,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Triples: predicted rows.")
    ] = None,
    gold: Annotated[Path | None, typer.Option("--gold", help="Triples: gold rows.")] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="Triples: lm-kbc-2023, strict, seed-recipe, ...")
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
    output: Output = None,
) -> None:
    """Mark replies: accuracy of multiple choice, F1 of enumerated universes, F1 of triples."""
    from kina_build.cli import scoring_tasks as tasks
    from kina_build.errors import UsageError

    if task == "multiple-choice":
        tasks.multiple_choice(
            run, release, split, items, responses or [], allow_partial, trust_letters, output
        )
    elif task == "triples":
        tasks.triples(run, predictions, gold, mode, relative_tolerance, output)
    elif task == "universe":
        tasks.universe(run, questions, replies, matching, judge, judge_log, output)
    else:
        raise UsageError(f"--task {task}: no such task", hint="multiple-choice, universe or triples")


def link(
    run: Run,
    predictions: Annotated[Path, typer.Argument(help="LM-KBC rows with ObjectEntities (names).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Rows with ObjectEntitiesID filled in.")],
    names: Annotated[
        Path | None, typer.Option("--names", help="Table name, qid[, description] to link from, offline.")
    ] = None,
    fixed: Annotated[
        Path | None, typer.Option("--fixed", help="Table name, qid of cases decided by hand.")
    ] = None,
    keywords: Annotated[
        Path | None, typer.Option("--keywords", help="Table relation, keyword of the right description.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Let this model choose among candidates.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", help="Reply log of the model.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Else OPENAI_BASE_URL.")] = None,
) -> None:
    """Link predicted names to Wikidata items, from a table or from Wikidata's search."""
    from kina_build.cli import scoring_tasks as tasks

    tasks.link(run, predictions, output, names, fixed, keywords, model, log, base_url)


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    command(app, "run", example="kina run --release release --model my-model -o responses.jsonl")(run)
    command(app, "extract", example="kina extract replies.jsonl --json")(extract)
    command(
        app,
        "score",
        example="kina score --task multiple-choice --items pool.jsonl --responses responses.jsonl",
    )(score)
    command(app, "link", example="kina link predictions.jsonl --names names.csv -o linked.jsonl")(link)
