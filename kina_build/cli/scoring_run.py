"""The command that asks a model: kina run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options, scoring_views
from kina_build.cli.command import Run
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.chat import ChatReply
    from kina_build.config import ChatRules
    from kina_build.scoring.runs import Call

Release = Annotated[Path | None, typer.Option("--release", help="Folder of a release (`kina export`).")]
Split = Annotated[str, typer.Option("--split", help="Split of the release.")]
Items = Annotated[Path | None, typer.Option("--items", help="Items instead of a release: a pool.jsonl.")]


def run(
    run: Run,
    model: Annotated[str, typer.Option("--model", help="Name the endpoint knows the model by.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="responses.jsonl to write.")],
    release: Release = None,
    items: Items = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Enumeration questions (CSV or JSONL: id, question).")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option("--pairs", help="LM-KBC inputs: rows SubjectEntity, Relation.")
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option("--examples", help="Pairs: LM-KBC rows with ObjectEntities to show first."),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option("--prompts", help="Pairs: table relation, prompt (with {subject}); else a general one."),
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

    Instead of a release: a pool (--items), enumeration questions (--questions), or subjects
    and relations of LM-KBC (--pairs; its rows go on to `kina link`).

    Every reply goes to the log as it comes; run the same command again to go on where it
    stopped: no answered call is made twice. OPENAI_API_KEY is read from the environment.
    """
    from kina_build.chat import Endpoint, Meter, complete
    from kina_build.cli import scoring_plans as plans
    from kina_build.cli.kept import open_log
    from kina_build.jsonl import write_records

    rules = _chat_rules(run, concurrency, max_calls)
    scoring = run.settings.scoring
    params = _call_params(
        param, scoring.temperature if temperature is None else temperature, max_tokens or scoring.max_tokens
    )
    plans.one_source(release=release, items=items, questions=questions, pairs=pairs)
    if pairs is None and (examples or prompts):
        raise UsageError("--examples and --prompts belong to --pairs")
    if pairs is not None:
        plan = plans.plan_pairs(pairs, examples, prompts, limit, model, samples, params)
    elif questions is not None:
        plan = plans.plan_lists(questions, limit, model, samples or 1, params)
    else:
        shuffle_seed = seed if shuffle else None
        plan = plans.plan_choice(
            release, items, split, limit, model, samples or scoring.samples, params, shuffle_seed
        )
    calls = plan.calls
    log_path = log or output.with_suffix(".replies.jsonl")
    stage = run.stage(
        "run",
        inputs=plan.inputs,
        outputs=[output],
        show=scoring_views.show_run,
        params={
            "model": model,
            "samples": plan.samples,
            "call": params,
            "shuffle": shuffle,
            "seed": seed,
            "split": split,
        }
        | {"limit": limit, "prompt_version": plan.prompt_version},
        kept=[log_path],
    )
    if dry_run:
        run.report(
            {"calls": len(calls), "items": len({c.item_id for c in calls}), "log": log_path.name},
            scoring_views.show_plan,
        )
        return
    replies, meter = open_log(run, log_path), Meter()
    with run.console.progress(f"asking {model}") as progress:
        received = complete(
            [call.request for call in calls],
            Endpoint.from_environment(base_url),
            replies,
            rules=rules,
            meter=meter,
            on_progress=progress,
        )
    write_records(output, plan.collect(calls, received))
    report = _run_report(model, calls, received, rules, replies.torn)
    stage.finish(
        report,
        exit_code=1 if report["failed"] else 0,
        models={model: "as served"},
        reused={"replies": meter.reused},
    )


def _chat_rules(run: Run, concurrency: int | None, max_calls: int | None) -> ChatRules:
    given = {"concurrency": concurrency, "max_calls": max_calls}
    rules = run.settings.chat
    return rules.model_copy(update={name: value for name, value in given.items() if value is not None})


def _call_params(pairs: list[str] | None, temperature: float | None, max_tokens: int) -> dict[str, Any]:
    import json

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


def _run_report(
    model: str, calls: Sequence[Call], replies: Sequence[ChatReply], rules: ChatRules, torn: int
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
