"""Commands about copies: within a pool, and between a pool and other corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console

if TYPE_CHECKING:
    from kina_build.config import DedupRules
    from kina_build.dedup.find import Corpus
    from kina_build.dedup.threshold import ThresholdChoice

Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write the result.")]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="all-MiniLM-L6-v2 (English, installed), use-multilingual-v3, a model's folder or hub name. "
        "Default: dedup.encoder of the settings.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", min=0.01, max=1, help="Cosine from which items are compared; default .80."),
]
Cache = Annotated[
    Path | None, typer.Option("--cache", help="File of kept vectors; default: in your cache folder.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep no vectors and read none.")]
Near = Annotated[
    bool, typer.Option("--near/--no-near", help="Compare by an encoder too, or by letters only.")
]
UnknownLimit = Annotated[
    float | None,
    typer.Option("--unknown-limit", min=0, max=1, help="Share of tokens the encoder may not know."),
]

SHOWN = 15


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
            help="Decisions of people: rows of decision (keep, same, different), item_id, other_id.",
        ),
    ] = None,
    strong: Annotated[
        str | None,
        typer.Option("--strong", help="What strong evidence short of equality leads to: review or drop."),
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
) -> None:
    """Find copies in a pool and decide which items stay.

    Items with the same stem, options (in any order) and key are copies: one stays. With
    another key they are a conflict and held for a person. Close texts are compared by
    their options, keys, numbers and negations, and reported as review, template sibling
    or same passage; a cosine alone drops nothing. The result does not depend on the
    order of rows.
    """
    rules = _resolve(
        run, encoder=encoder, threshold=threshold, strong_action=strong, unknown_limit=unknown_limit
    )
    inputs = [path for path in (pool, labels, overrides) if path is not None]
    stage = run.stage(
        "dedup",
        inputs=inputs,
        outputs=[path for path in (output, page) if path is not None],
        params=_shaping(rules, near=near) | {"page": page is not None},
        show=_show_dedup,
    )
    if explain is None and stage.up_to_date():
        return
    from kina_build.dedup.find import find_duplicates
    from kina_build.dedup.overrides import Override
    from kina_build.dedup.page import render_clusters
    from kina_build.dedup.records import dump_rows
    from kina_build.items.pool import read_pool
    from kina_build.jsonl import write_text
    from kina_build.tables import read_typed

    decisions = read_typed(overrides, Override) if overrides else []
    corpus = _read(run, read_pool(pool), rules, near=near, cache=_cache(cache, no_cache))
    choice = _choose(labels, corpus, rules) if labels else None
    if choice is not None and threshold is None:
        rules = rules.model_copy(update={"threshold": choice.chosen.threshold})
    with run.console.progress("comparing") as progress:
        result = find_duplicates(corpus, rules, decisions, progress)
    if explain is not None:
        from kina_build.dedup.explain import explain_item

        run.report(explain_item(explain, corpus, result, rules).model_dump(mode="json"), _show_explanation)
        return
    for row in result.unused_overrides:
        run.console.warn(f"override {row!r} names no item of this pool")
    document = result.model_dump(mode="json")
    write_text(output, dump_rows(document))
    if page:
        write_text(page, render_clusters(result, corpus.items))
    stage.finish(
        _report(document, choice),
        packages=["numpy", "faiss-cpu", *(["sentence-transformers"] if near else [])],
        models={result.encoder: result.revision} if result.encoder else {},
    )


def contamination(
    run: Run,
    pool: options.Pool,
    *,
    against: Annotated[
        list[Path],
        typer.Option(
            "--against", help="Another corpus: a pool, any file `kina import` reads, or .txt; repeatable."
        ),
    ],
    output: Output = Path("contamination.json"),
    encoder: EncoderName = None,
    threshold: Threshold = None,
    near: Near = True,
    cache: Cache = None,
    no_cache: NoCache = False,
    unknown_limit: UnknownLimit = None,
) -> None:
    """Find items of a pool or release that stand in other corpora.

    Each hit tells how it was found: exact, folded (same stem, options and key after
    folding), near (cosine, decided by evidence as in dedup) or by runs of 13 tokens.
    A .txt file is cut at blank lines. Leaves with 1 when an item is contaminated.
    """
    rules = _resolve(run, encoder=encoder, threshold=threshold, unknown_limit=unknown_limit)
    stage = run.stage(
        "contamination",
        inputs=[pool, *against],
        outputs=[output],
        params=_shaping(rules, near=near),
        show=_show_contamination,
    )
    if stage.up_to_date():
        return
    from kina_build.dedup.contamination import find_contamination
    from kina_build.dedup.corpora import name_corpora, read_texts
    from kina_build.dedup.embedding import load_encoder
    from kina_build.dedup.records import dump_rows
    from kina_build.jsonl import write_text

    items = read_texts(pool)
    corpora = {name: read_texts(path) for name, path in name_corpora(against).items()}
    loaded = load_encoder(rules.encoder, rules) if near else None
    with run.console.progress("encoding") as progress:
        result = find_contamination(
            items, corpora, loaded, rules, cache=_cache(cache, no_cache), on_progress=progress
        )
    document = result.model_dump(mode="json")
    write_text(output, dump_rows(document))
    stage.finish(
        {**document, "hits": document["hits"][:SHOWN], "items": len(items)},
        exit_code=1 if result.contaminated else 0,
        packages=["numpy", "faiss-cpu", *(["sentence-transformers"] if near else [])],
        models={result.encoder: result.revision} if result.encoder else {},
    )


def _resolve(run: Run, **given: Any) -> DedupRules:
    """Let the options that were given win over the settings."""
    from kina_build.config import check_section

    rules = run.settings.dedup
    chosen = {key: value for key, value in given.items() if value is not None}
    return check_section(type(rules), rules.model_dump() | chosen, "options")


def _shaping(rules: DedupRules, *, near: bool) -> dict[str, Any]:
    """Return what the manifest keeps of settings that shape a result."""
    from kina_build.dedup.lexical import TEXT_FORM

    form = {"text_form": TEXT_FORM} if near else {}
    return {"dedup": rules.model_dump(mode="json", exclude={"block_rows"}), "near": near, **form}


def _cache(path: Path | None, no_cache: bool) -> Path | None:
    from kina_build.dedup.vectorcache import default_cache

    return None if no_cache else path or default_cache()


def _read(run: Run, items: list[Any], rules: DedupRules, *, near: bool, cache: Path | None) -> Corpus:
    from kina_build.dedup.embedding import load_encoder
    from kina_build.dedup.find import read_corpus

    encoder = load_encoder(rules.encoder, rules) if near else None
    with run.console.progress("encoding") as progress:
        return read_corpus(items, encoder, rules, cache=cache, on_progress=progress)


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


def _show_dedup(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['kept']} of {report['items']} items kept: {report['dropped']} dropped as copies, "
        f"{report['held']} held for a decision"
    )
    rows = [[status.replace("_", " "), count] for status, count in report["pairs"].items()]
    if rows:
        console.table("pairs compared", ["verdict", "pairs"], rows)
    encoder = f"{report['encoder']} at cosine >= {report['threshold']}"
    console.line(f"compared by {encoder if report['encoder'] else 'letters only'}")
    if report["need_decision"]:
        console.line(f"{len(report['need_decision'])} clusters need a decision of a person, such as:")
        for names in report["need_decision"][:SHOWN]:
            console.line(f"  {' / '.join(names[:SHOWN])}")
    if "threshold_choice" in report:
        _show_choice(report["threshold_choice"], console)


def _show_choice(choice: dict[str, Any], console: Console) -> None:
    console.line(
        f"{choice['duplicates']} of {choice['pairs']} labelled pairs are duplicates; "
        f"largest threshold with recall >= {choice['recall_floor']}: {choice['chosen']['threshold']}"
    )
    rows = [
        [name, *(choice[key][column] for column in ("threshold", "recall", "precision", "found"))]
        for name, key in (("chosen", "chosen"), ("configured", "default"))
    ]
    console.table("on the labelled pairs", ["", "threshold", "recall", "precision", "pairs found"], rows)


def _show_explanation(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['item_id']}: {report['decision']}; {report['reason']}")
    console.line(f"content {report['content']}")
    rows = [
        [
            pair["other_id"] if pair["item_id"] == report["item_id"] else pair["item_id"],
            pair["cosine"],
            pair["stem_overlap"],
            pair["option_overlap"],
            pair["gold"],
            pair["status"].replace("_", " "),
            pair["reason"],
        ]
        for pair in report["nearest"]
    ]
    console.table("nearest", ["item", "cosine", "stems", "options", "key", "verdict", "reason"], rows)


def _show_contamination(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{len(report['contaminated'])} of {report['items']} items contaminated, "
        f"{len(report['review'])} to be reviewed, {report['clean']} clean"
    )
    corpora = ", ".join(f"{name} ({count})" for name, count in report["corpora"].items())
    console.line(f"compared with {corpora}")
    rows = [
        [
            *(
                hit[key]
                for key in (
                    "item_id",
                    "corpus",
                    "other_id",
                    "finding",
                    "rule",
                    "cosine",
                    "ngram_share",
                    "reason",
                )
            )
        ]
        for hit in report["hits"]
    ]
    if rows:
        columns = ["item", "corpus", "there", "finding", "rule", "cosine", "runs", "reason"]
        console.table(f"the first {len(rows)} of {sum(report['counts'].values())} hits", columns, rows)


def register(app: typer.Typer) -> None:
    """Add the commands to `kina`."""
    command(app, "dedup", example="kina dedup pool.jsonl -o duplicates.json")(dedup)
    command(app, "contamination", example="kina contamination pool.jsonl --against other.jsonl")(
        contamination
    )
