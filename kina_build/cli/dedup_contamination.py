"""The command about copies between a pool and other corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kina_build.cli import options
from kina_build.cli.command import Run
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
from kina_build.cli.dedup_views import SHOWN, show_contamination
from kina_build.cli.kept import tell_notes


def contamination(
    run: Run,
    pool: options.Pool,
    *,
    against: Annotated[
        list[Path],
        typer.Option(
            "--against",
            help="Another corpus: a pool, a release folder, any file or folder `kina import` reads, or .txt; "
            "repeatable.",
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
    A .txt file is cut at blank lines. Rows of a corpus that are no complete questions are
    compared all the same: without a key, or as text. Leaves with 1 when an item is contaminated.
    """
    rules = resolve(run, encoder=encoder, threshold=threshold, unknown_limit=unknown_limit)
    stage = run.stage(
        "contamination",
        inputs=[pool, *against],
        outputs=[output],
        params=shaping(rules, near=near),
        show=show_contamination,
        kept=[cache] if cache else [],
    )
    if stage.up_to_date():
        return
    from kina_build.dedup.contamination import find_contamination
    from kina_build.dedup.corpora import name_corpora, read_questions, read_texts
    from kina_build.dedup.embedding import load_encoder
    from kina_build.dedup.records import dump_rows
    from kina_build.dedup.reuse import Reuse
    from kina_build.jsonl import write_text

    items = read_questions(pool)
    corpora = {name: read_texts(path) for name, path in name_corpora(against).items()}
    for name, corpus in corpora.items():
        if corpus.unread:
            run.console.warn(f"{name}: {corpus.unread} rows hold no text and are not compared")
    loaded, reuse = load_encoder(rules.encoder, rules) if near else None, Reuse(run.force)
    with run.console.progress("encoding") as progress:
        result = find_contamination(
            items,
            corpora,
            loaded,
            rules,
            cache=cache_file(cache, no_cache),
            on_progress=progress,
            reuse=reuse,
        )
    tell_notes(run, reuse)
    document = result.model_dump(mode="json")
    write_text(output, dump_rows(document))
    stage.finish(
        {**document, "hits": document["hits"][:SHOWN], "items": len(items)},
        exit_code=1 if result.contaminated else 0,
        packages=["numpy", "faiss-cpu", *(["sentence-transformers"] if near else [])],
        models={result.encoder: result.revision} if result.encoder else {},
        reused=reuse.counts("vectors"),
    )
