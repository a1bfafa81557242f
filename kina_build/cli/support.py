"""Command that scores a pool for its anchors, by any of the adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.adapters import ADAPTERS, Choice, Method, estimate
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console

AnchorFile = Annotated[Path, typer.Option("--anchors", help="Anchors, as `kina anchors` writes them.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The support.npz to write.")]
How = Annotated[Method, typer.Option("--method", help="Where scores come from.")]
EncoderName = Annotated[
    str | None,
    typer.Option("--encoder", help="Encoder name or folder; default: dedup.encoder of the settings."),
]
Cache = Annotated[
    Path | None, typer.Option("--cache", help="File of kept vectors; default: in your cache folder.")
]
AllDomains = Annotated[
    bool, typer.Option("--all-domains", help="Compare anchors with the items of every domain.")
]
Judges = Annotated[
    list[str] | None,
    typer.Option("--judge", help="judge: a model's name; repeat for several. NAME#2 is a second reading."),
]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="judge: endpoint; default: OPENAI_BASE_URL.")]
Calls = Annotated[
    Path | None, typer.Option("--calls", help="judge: log of replies; default: beside the output.")
]
Labels = Annotated[
    Path | None, typer.Option("--labels", help="judge, ratings: experts' ratings, to calibrate on.")
]
SaveRatings = Annotated[
    Path | None, typer.Option("--save-ratings", help="judge: write the ratings as JSON Lines.")
]
Ratings = Annotated[
    Path | None,
    typer.Option(
        "--ratings", help="ratings: rows of item_id, anchor_id and score (0-1) or judge, rating (0-4)."
    ),
]
AllowUnjudged = Annotated[
    float | None,
    typer.Option(
        "--allow-unjudged", min=0, max=1, help="judge: share of items that may be left out unrated."
    ),
]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", min=0, help="judge: stop after so many calls.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="judge: stop at this cost.")]

SHOWN = 12
"""Ids printed for people before the rest is only counted."""


def support(
    run: Run,
    *,
    pool: options.Pool,
    anchors: AnchorFile,
    output: Output,
    method: How = Method.embedding,
    encoder: EncoderName = None,
    cache: Cache = None,
    all_domains: AllDomains = False,
    ratings: Ratings = None,
    judge: Judges = None,
    base_url: BaseUrl = None,
    calls: Calls = None,
    labels: Labels = None,
    save_ratings: SaveRatings = None,
    allow_unjudged: AllowUnjudged = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", help="Another support.npz to correlate the result with.")
    ] = None,
    dry_run: options.DryRun = False,
) -> None:
    """Score how much each item shows of each anchor, in [0, 1], into one support matrix.

    An anchor is compared with the items of its own domain (their field) and scores 0
    elsewhere; an anchor without a domain is compared with all. Methods: embedding (cosine,
    no model calls), judge (a model rates 0 to 4 with quoted evidence), ratings (a file made
    elsewhere).
    """
    choice = Choice(
        run=run,
        method=method,
        encoder=encoder or run.settings.dedup.encoder,
        cache=cache,
        all_domains=all_domains,
        ratings=ratings,
        judges=tuple(judge or ()),
        base_url=base_url,
        calls=calls or output.with_name(output.name + ".calls.jsonl"),
        labels=labels,
        save_ratings=save_ratings,
        allow_unjudged=allow_unjudged,
        max_calls=max_calls,
        max_cost=max_cost,
    ).checked()
    stage = run.stage(
        "support",
        inputs=[path for path in (pool, anchors, ratings, labels, compare) if path],
        outputs=[path for path in (output, save_ratings) if path],
        params=choice.params(),
        show=_show,
    )
    if not dry_run and stage.up_to_date():
        return
    from kina_build.items.pool import read_pool
    from kina_build.support.anchors import read_anchors
    from kina_build.support.diagnose import compare_support, describe_support
    from kina_build.support.experts import compare_domains
    from kina_build.support.matrix import read_support, write_support

    items, targets = read_pool(pool), read_anchors(anchors)
    if dry_run:
        run.report(estimate(choice, items, targets), _show_estimate)
        return
    outcome = ADAPTERS[method](choice, items, targets)
    findings = [finding.model_dump() for finding in compare_domains(targets, items)]
    report = {
        "method": method.value,
        **describe_support(outcome.matrix),
        "findings": findings,
        **outcome.report,
    }
    if compare:
        report["compared"] = compare_support(outcome.matrix, read_support(compare))
    outcome.write_more()
    write_support(output, outcome.matrix)
    stage.finish(report, packages=["numpy"], models=outcome.models)


def _show(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['items']} items x {report['anchors']} anchors by {report['method']}; "
        f"if every item were taken, {report['mean_best']:.1%} of the anchors' weight would be covered"
    )
    console.line("pairs by score: " + ", ".join(f"{band}: {n}" for band, n in report["distribution"].items()))
    _list(console, "anchors that no item supports", report["unsupported_anchors"])
    _list(console, "items that support nothing", report["idle_items"])
    for finding in report["findings"]:
        console.line(f"{finding['subject']}: {finding['message']}")
    if "ratings" in report:
        _show_ratings(report, console)
    if "compared" in report:
        compared = report["compared"]
        console.line(
            f"against the other file: Spearman {compared['spearman']}, Pearson {compared['pearson']}, "
            f"same best anchor {compared['same_best']} ({compared['pairs']} pairs)"
        )


def _show_ratings(report: dict[str, Any], console: Console) -> None:
    rows = [[judge, *counts, report["unquoted"][judge]] for judge, counts in report["ratings"].items()]
    console.table("ratings", ["judge", "0", "1", "2", "3", "4", "not quoted"], rows)
    for pair in report["agreement"]:
        console.line(
            f"{' and '.join(pair['judges'])}: equal {pair['exact']}, within one {pair['within_one']}, "
            f"weighted kappa {pair['kappa']} ({pair['pairs']} pairs)"
        )
    experts = report["experts"]
    if experts:
        fit = experts["calibration"]
        state = "calibrated" if fit["applied"] else "not calibrated"
        console.line(
            f"against experts: equal {experts['exact']}, bias {experts['bias']} on {experts['pairs']} pairs; "
            f"{state} (mean error {fit['error_before']}, on held-out items {fit['error_after']})"
        )
    if "calls" in report:
        calls = report["calls"]
        console.line(
            f"{calls['calls']} calls ({', '.join(f'{k} {n}' for k, n in calls['statuses'].items())}), "
            f"{calls['prompt_tokens']} + {calls['completion_tokens']} tokens, cost {calls['cost']}"
        )
        _list(console, "items left out because a pair got no rating", report["left_out"])


def _show_estimate(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['calls']} calls to make ({report['calls_answered']} answered already) "
        f"for {report['pairs']} ratings"
    )
    console.line(
        f"about {report['prompt_tokens']} tokens in, at most {report['completion_tokens_at_most']} out, "
        f"cost at most {report['cost_at_most']}"
    )


def _list(console: Console, title: str, ids: list[str]) -> None:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    console.line(f"{title}: {len(ids)}" + (f" ({', '.join(ids[:SHOWN])}{more})" if ids else ""))


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "support", example="kina support pool.jsonl --anchors anchors.jsonl -o support.npz")(support)
