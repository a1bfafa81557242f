"""Command that scores a pool for its anchors, by any of the adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.kept import tell_notes
from kina_build.cli.support_adapters import ADAPTERS
from kina_build.cli.support_choice import Choice, Method
from kina_build.cli.support_judge import estimate
from kina_build.cli.support_page import show_estimate, show_sheets, show_support
from kina_build.cli.support_parts import check_parts, is_folder, score_in_parts, tell_place

AnchorFile = Annotated[Path, typer.Option("--anchors", help="Anchors, as `kina anchors` writes them.")]
Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="The support.npz to write; a name without .npz: a folder of such parts."
    ),
]
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
    list[Path] | None,
    typer.Option("--labels", help="judge, ratings: experts' ratings, to calibrate on; repeatable."),
]
SaveRatings = Annotated[
    Path | None, typer.Option("--save-ratings", help="judge: write the ratings as JSON Lines.")
]
Ratings = Annotated[
    list[Path] | None,
    typer.Option(
        "--ratings",
        help="ratings: rows of item_id, anchor_id and score (0-1) or judge, rating (0-4); repeatable.",
    ),
]
AllowUnjudged = Annotated[
    float | None,
    typer.Option(
        "--allow-unjudged", min=0, max=1, help="judge: share of items that may be left out unrated."
    ),
]
Scale = Annotated[
    int | None,
    typer.Option(
        "--scale",
        min=1,
        max=1_000_000,
        help="Levels a unit of score; up to 255 a score takes one byte. Default: support.scale.",
    ),
]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", min=0, help="judge: stop after so many calls.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="judge: stop at this cost.")]
ItemLabels = Annotated[
    list[Path] | None,
    typer.Option("--item-labels", help="bank: rows of item_id, aligned (1 or 0); repeatable."),
]
PairLabels = Annotated[
    list[Path] | None,
    typer.Option(
        "--pair-labels", help="bank: rows of item_id, other_id, support, duplicate (1 or 0); repeatable."
    ),
]
Signatures = Annotated[
    Path | None,
    typer.Option("--signatures", help="bank: signatures; else --judge writes them, else the wording does."),
]
Details = Annotated[Path | None, typer.Option("--details", help="bank: write what became of every item.")]
Draw = Annotated[
    Path | None, typer.Option("--draw", help="bank: write sheets of items and pairs to label here, and stop.")
]
Compare = Annotated[
    Path | None, typer.Option("--compare", help="Another support.npz to correlate the result with.")
]


def support(
    run: Run,
    *,
    pool: options.Pool,
    anchors: AnchorFile,
    output: Output = Path("support.npz"),
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
    item_labels: ItemLabels = None,
    pair_labels: PairLabels = None,
    signatures: Signatures = None,
    details: Details = None,
    scale: Scale = None,
    draw: Draw = None,
    seed: options.Seed = 0,
    compare: Compare = None,
    engine: options.Engine = None,
    memory: options.Memory = None,
    dry_run: options.DryRun = False,
) -> None:
    """Score how much each item shows of each anchor, in [0, 1], into one support matrix.

    An anchor is compared with the items of its own domain (their field) and scores 0
    elsewhere; an anchor without a domain is compared with all. Methods: embedding (cosine,
    no model calls), judge (a model rates 0 to 4 with quoted evidence), ratings (a file made
    elsewhere), bank (the paper's reference bank: the items' own well-aligned peers take the
    anchors' place, calibrated on labels).

    A name that does not end in .npz is a folder: the matrix is written in parts of
    support.part_items items (fewer if --memory asks for it), one at a time, and a run that is
    stopped goes on from the parts it finished (embedding and ratings). With --engine ray,
    parts and judge calls are made by the workers of a cluster, all of which must see the
    output's folder.
    """
    from kina_build.dedup.reuse import Reuse

    choice = Choice(
        run=run,
        method=method,
        encoder=encoder or run.settings.dedup.encoder,
        cache=cache,
        all_domains=all_domains,
        ratings=tuple(ratings or ()),
        judges=tuple(judge or ()),
        base_url=base_url,
        calls=calls or output.with_name(output.name + ".calls.jsonl"),
        labels=tuple(labels or ()),
        save_ratings=save_ratings,
        allow_unjudged=allow_unjudged,
        max_calls=max_calls,
        max_cost=max_cost,
        signatures=signatures,
        item_labels=tuple(item_labels or ()),
        pair_labels=tuple(pair_labels or ()),
        details=details,
        scale=scale,
        seed=seed,
        engine=run.engine_rules(engine, memory),
        reuse=Reuse(run.force),
    )
    from kina_build.support.partition.files import holds_partitions

    in_parts = is_folder(output)
    if not draw:
        choice.check()
    if in_parts and not (draw or dry_run):
        check_parts(choice, compare)
    tell_place(choice, output)
    stage = run.stage(
        "support",
        inputs=[path for path in (pool, anchors, compare, *choice.files()) if path],
        outputs=[draw] if draw else [path for path in (output, save_ratings, details) if path],
        params=choice.params(),
        show=show_sheets if draw else show_support,
        folders=[path for path in (draw, output if in_parts and not draw else None) if path],
        is_ours=holds_partitions if in_parts and not draw else None,
        kept=[path for path in (cache, choice.calls if choice.judges else None) if path],
    )
    if not (dry_run or draw) and stage.up_to_date():
        return
    from kina_build.items.pool import read_pool
    from kina_build.support.anchors import read_anchors
    from kina_build.support.diagnose import compare_support, describe_support
    from kina_build.support.experts import compare_domains
    from kina_build.support.npz import read_support, write_support

    targets = read_anchors(anchors)
    if in_parts and not (draw or dry_run):
        report, models = score_in_parts(choice, pool, targets, output)
        tell_notes(run, choice.reuse)
        stage.finish(
            report,
            packages=["numpy"],
            models=models,
            reused=choice.reuse.counts("parts", "vectors", "replies"),
        )
        return
    items = read_pool(pool)
    if draw:
        from kina_build.cli.support_bank import draw_sheets

        drawn = draw_sheets(choice, items, draw)
        tell_notes(run, choice.reuse)
        stage.finish(drawn)
        return
    if dry_run:
        run.report(estimate(choice, items, targets), show_estimate)
        return
    findings = [finding.model_dump() for finding in compare_domains(targets, items)]
    outcome = ADAPTERS[method](choice, items, targets)
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
    tell_notes(run, choice.reuse)
    stage.finish(
        report,
        packages=["numpy"],
        models=outcome.models,
        reused=choice.reuse.counts("vectors", "replies"),
    )


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "support", example="kina support pool.jsonl --anchors anchors.jsonl -o support.npz")(support)
