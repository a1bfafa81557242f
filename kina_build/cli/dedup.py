"""The command about copies within a pool, and how it is registered with its sister."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.dedup_contamination import contamination
from kina_build.cli.dedup_options import (
    Cache,
    EncoderName,
    Near,
    NoCache,
    Output,
    Threshold,
    UnknownLimit,
    cache_file,
    resolve,
    shaping,
)
from kina_build.cli.dedup_place import Place, work_folder
from kina_build.cli.dedup_views import show_dedup, show_explanation
from kina_build.cli.kept import tell_notes
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.config import DedupRules
    from kina_build.dedup.corpus import Corpus
    from kina_build.dedup.threshold import ThresholdChoice


def dedup(
    run: Run,
    pool: options.Pool,
    *,
    output: Output = Path("duplicates.json"),
    page: Annotated[Path | None, typer.Option("--page", help="Write the clusters as an HTML page.")] = None,
    encoder: EncoderName = None,
    threshold: Threshold = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            help="Labelled pairs (item_id, other_id, duplicate): choose the largest threshold with a recall "
            "of .95 on them.",
        ),
    ] = None,
    overrides: Annotated[
        Path | None,
        typer.Option(
            "--overrides",
            help="Decisions of people: rows of decision (keep, drop, wrong_key, same, different), item_id, "
            "other_id (same, different), letter (the right key), note.",
        ),
    ] = None,
    strong: Annotated[
        str | None,
        typer.Option("--strong", help="What strong evidence short of equality leads to: review or drop."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            help="What decides about a pair: evidence, or cosine alone, as in the KINA paper.",
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain", metavar="ITEM", help="Print one item's neighbours and decision; write nothing."
        ),
    ] = None,
    near: Near = True,
    cache: Cache = None,
    no_cache: NoCache = False,
    unknown_limit: UnknownLimit = None,
    engine: options.Engine = None,
    memory: options.Memory = None,
) -> None:
    """Find copies in a pool and decide which items stay.

    Items with the same stem, options (in any order) and key are copies: one stays. With
    another key they are a conflict and held for a person. Close texts are compared by
    their options, keys, numbers and negations, and reported as review, template sibling
    or same passage; a cosine alone drops nothing. The result does not depend on the
    order of rows, on memory or on the engine. Texts stay in memory, about 8 KB an item;
    vectors that do not fit beside them are kept in a folder beside the output and compared
    block by block, and a run that was stopped goes on from there.
    """
    rules = resolve(
        run,
        encoder=encoder,
        threshold=threshold,
        strong_action=strong,
        rule=rule,
        unknown_limit=unknown_limit,
    )
    if rules.rule == "cosine" and not near:
        raise UsageError("--rule cosine needs an encoder", hint="leave --no-near out")
    inputs = [path for path in (pool, labels, overrides) if path is not None]
    stage = run.stage(
        "dedup",
        inputs=inputs,
        outputs=[path for path in (output, page) if path is not None] if explain is None else [],
        params=shaping(rules, near=near) | {"page": page is not None},
        show=show_dedup,
        kept=[cache] if cache else [],
    )
    if explain is None and stage.up_to_date():
        return
    from kina_build.dedup.explain import render_clusters
    from kina_build.dedup.find import find_duplicates
    from kina_build.dedup.overrides import Override
    from kina_build.dedup.records import dump_rows
    from kina_build.encode.kept import Reuse
    from kina_build.items.pool import read_pool
    from kina_build.jsonl import write_text
    from kina_build.tables import read_typed

    decisions = read_typed(overrides, Override) if overrides else []
    place = Place(run.engine_rules(engine, memory), work_folder(output), Reuse(run.force))
    if run.force:
        place.clear()
    corpus = _read(run, read_pool(pool), rules, place, near=near, cache=cache_file(cache, no_cache))
    choice = _choose(labels, corpus, rules) if labels else None
    if choice is not None and threshold is None:
        rules = rules.model_copy(update={"threshold": choice.chosen.threshold})
    with place.scanning(corpus, rules) as scan, run.console.progress("comparing") as progress:
        result = find_duplicates(corpus, rules, decisions, progress, scan)
    if explain is not None:
        from kina_build.dedup.explain import explain_item

        run.report(explain_item(explain, corpus, result, rules).model_dump(mode="json"), show_explanation)
        place.clear()
        return
    for row in result.unused_overrides:
        run.console.warn(f"override {row!r} names no item of this pool")
    document = result.model_dump(mode="json")
    write_text(output, dump_rows(document))
    if page:
        write_text(page, render_clusters(result, corpus.items))
    place.clear()
    stage.finish(
        _report(document, choice),
        packages=[
            "numpy",
            *(["faiss-cpu"] if place.by_faiss(corpus, rules) else []),
            *(["sentence-transformers"] if near else []),
        ],
        models={result.encoder: result.revision} if result.encoder else {},
        reused=place.reuse.counts("vectors", "blocks"),
    )


def _read(
    run: Run, items: list[Any], rules: DedupRules, place: Place, *, near: bool, cache: Path | None
) -> Corpus:
    from kina_build.dedup.corpus import read_corpus
    from kina_build.encode.loading import load_encoder

    encoder = load_encoder(rules.encoder, rules) if near else None
    with run.console.progress("encoding") as progress:
        corpus = read_corpus(
            items,
            encoder,
            rules,
            cache=cache,
            files=place.folder,
            memory=lambda dimension: place.room(len(items), dimension, rules),
            on_progress=progress,
            reuse=place.reuse,
        )
    tell_notes(run, place.reuse)
    place.tell(run, corpus)
    return corpus


def _choose(path: Path, corpus: Corpus, rules: DedupRules) -> ThresholdChoice:
    from kina_build.dedup.threshold import LabelledPair, choose_for_corpus
    from kina_build.tables import read_typed

    return choose_for_corpus(read_typed(path, LabelledPair), corpus, rules)


def _report(document: dict[str, Any], choice: ThresholdChoice | None) -> dict[str, Any]:
    clusters = document["clusters"]
    report = {
        "items": len(document["kept"]) + len(document["dropped"]) + len(document["held"]),
        "kept": len(document["kept"]),
        "dropped": len(document["dropped"]),
        "held": len(document["held"]),
        "pairs": document["counts"],
        "conflict_edges": len(document["conflict_edges"]),
        "clusters": {
            status: sum(cluster["status"] == status for cluster in clusters)
            for status in ("conflict", "duplicate", "review")
        },
        "need_decision": [cluster["item_ids"] for cluster in clusters if cluster["needs_decision"]],
        **{
            key: document[key]
            for key in ("encoder", "revision", "dimension", "unknown_rate", "threshold", "unused_overrides")
        },
    }
    if choice is not None:
        report["threshold_choice"] = choice.model_dump(mode="json")
    return report


def register(app: typer.Typer) -> None:
    """Add the commands to `kina`."""
    command(app, "dedup", example="kina dedup pool.jsonl -o duplicates.json")(dedup)
    command(app, "contamination", example="kina contamination pool.jsonl --against other.jsonl")(
        contamination
    )
