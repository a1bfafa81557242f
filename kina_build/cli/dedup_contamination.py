"""The command about copies between a pool and other corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from kina_build.config import DedupRules

BYTES_A_SECOND = 20e6
"""Text looked through in a second of one core (measured: 28 MB of source code)."""

TOLD_BYTES = 100e6
"""Size from which it is said beforehand how long it takes."""


def contamination(
    run: Run,
    pool: options.Pool,
    *,
    against: Annotated[
        list[Path],
        typer.Option(
            "--against",
            help="Another corpus: any file or folder of questions, rows or text (JSON, Parquet, CSV, HTML, "
            "Markdown, plain text; also .gz, .zst); repeatable.",
        ),
    ],
    output: Output = Path("contamination.json"),
    encoder: EncoderName = None,
    threshold: Threshold = None,
    near: Near = True,
    cache: Cache = None,
    no_cache: NoCache = False,
    unknown_limit: UnknownLimit = None,
    memory: options.Memory = None,
) -> None:
    """Find items of a pool or release that stand in other corpora.

    Each corpus is read as a stream of texts, in which items are found letter for letter,
    whatever line ends, hyphens and markup lie between: all strings of a row are one text.
    Corpora of questions and of paragraphs that fit in memory are also compared question by
    question: exact, folded (same stem, options and key after folding) or near (cosine,
    decided by evidence as in dedup). Items too short or too common to be found are listed.
    Leaves with 1 when an item is contaminated.
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
    from kina_build.dedup.contamination.corpora import name_corpora, open_corpus, read_questions
    from kina_build.dedup.contamination.find import find_contamination
    from kina_build.dedup.records import dump_rows
    from kina_build.dedup.search.memory import spare_bytes
    from kina_build.encode.kept import Reuse
    from kina_build.encode.loading import load_encoder
    from kina_build.jsonl import write_text

    items = read_questions(pool)
    loaded, reuse = load_encoder(rules.encoder, rules) if near else None, Reuse(run.force)
    room = spare_bytes(run.engine_rules(None, memory))
    corpora = {name: open_corpus(path, room) for name, path in name_corpora(against).items()}
    size = sum(corpus.size for corpus in corpora.values())
    if size > TOLD_BYTES:
        run.console.say(
            f"{size / 1e6:,.0f} MB to look through, about {size / BYTES_A_SECOND:,.0f} s of one core"
        )
    with run.console.progress("encoding") as encoding, run.console.progress("looking through") as looking:
        result = find_contamination(
            items,
            corpora,
            loaded,
            rules,
            cache=cache_file(cache, no_cache),
            on_progress=encoding,
            on_bytes=looking,
            reuse=reuse,
        )
    for name, count in result.unread.items():
        run.console.warn(f"{name}: {count} rows or files hold no text and are not compared")
    for name in result.as_text:
        near_too = ", and near copies not looked for" if near else ""
        run.console.warn(
            f"{name}: no questions, or too many for memory; looked through letter by letter only{near_too}"
        )
    tell_notes(run, reuse)
    document = result.model_dump(mode="json")
    write_text(output, dump_rows(document))
    stage.finish(
        {**document, "hits": document["hits"][:SHOWN], "items": len(items)},
        exit_code=1 if result.contaminated else 0,
        packages=["numpy", *_searchers(result.corpora, rules, near=near)],
        models={result.encoder: result.revision} if result.encoder else {},
        reused=reuse.counts("vectors"),
    )


def _searchers(corpora: dict[str, int], rules: DedupRules, *, near: bool) -> list[str]:
    """Name the packages that searched near texts, if any did."""
    vast = max(corpora.values(), default=0) > rules.ivf_above
    return ["sentence-transformers", *(["faiss-cpu"] if vast else [])] if near else []
