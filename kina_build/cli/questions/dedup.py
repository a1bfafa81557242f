"""The commands about copies: within a pool, and between a pool and other corpora."""

from __future__ import annotations

import typer

from kina_build.cli.command import command
from kina_build.cli.questions.dedup_views import show_contamination, show_dedup, show_explanation
from kina_build.cli.run import Run
from kina_build.dedup.options import ContaminationOptions, DedupOptions, shaping


def dedup(run: Run, options: DedupOptions) -> None:
    """Find copies in a pool and decide which items stay.

    Items with the same stem, options (in any order) and key are copies: one stays. With
    another key they are a conflict and held for a person. Close texts are compared by
    their options, keys, numbers and negations, and reported as review, template sibling
    or same passage; a cosine alone drops nothing. The result does not depend on the
    order of rows, on memory or on the engine. Texts stay in memory, about 8 KB an item;
    vectors that do not fit beside them are kept in a folder beside the output and compared
    block by block, and a run that was stopped goes on from there.
    """
    rules = run.section(options, "dedup")
    params = shaping(options, rules)
    stage = None
    if options.explain is None:
        stage = run.start("dedup", options, show=show_dedup, params=params)
        if (options.index is None or options.index.exists()) and stage.up_to_date():
            return
    from kina_build.dedup.run import run_dedup, run_explain
    from kina_build.dedup.search.place import Place, work_folder
    from kina_build.encode.kept import Reuse

    engine = run.engine_rules(options.engine, options.memory)
    place = Place(engine, work_folder(options.output), Reuse(run.force), options.index)
    encoding = run.settings.encode.engine
    if stage is None:
        told = run_explain(options, rules, place, engine=encoding, tell=run.console)
        run.report(told.model_dump(mode="json"), show_explanation)
        return
    done = run_dedup(options, rules, place, engine=encoding, tell=run.console)
    stage.finish(
        done.report,
        packages=done.packages,
        models={done.result.encoder: done.result.revision} if done.result.encoder else {},
        reused=place.reuse.counts("vectors", "blocks", *(["indexed"] if options.index else [])),
    )


def contamination(run: Run, options: ContaminationOptions) -> None:
    """Find items of a pool or release that stand in other corpora.

    Each corpus is read as a stream of texts, in which items are found letter for letter,
    whatever line ends, hyphens and markup lie between: all strings of a row are one text.
    Corpora of questions and of paragraphs that fit in memory are also compared question by
    question: exact, folded (same stem, options and key after folding) or near (cosine,
    decided by evidence as in dedup). Items too short or too common to be found are listed.
    Leaves with 1 when an item is contaminated.
    """
    rules = run.section(options, "dedup")
    stage = run.start("contamination", options, show=show_contamination, params=shaping(options, rules))
    if stage.up_to_date():
        return
    from kina_build.dedup.contamination.run import run_contamination
    from kina_build.encode.kept import Reuse

    reuse = Reuse(run.force)
    done = run_contamination(
        options,
        rules,
        run.engine_rules(None, options.memory),
        reuse,
        encoding=run.settings.encode.engine,
        tell=run.console,
    )
    result = done.result
    stage.finish(
        result.report,
        exit_code=1 if result.contaminated else 0,
        packages=done.packages,
        models={result.encoder: result.revision} if result.encoder else {},
        reused=reuse.counts("vectors"),
    )


def register(app: typer.Typer) -> None:
    """Add the commands to `kina`."""
    command(app, "dedup", example="kina dedup pool.jsonl -o duplicates.json")(dedup)
    command(app, "contamination", example="kina contamination pool.jsonl --against other.jsonl")(
        contamination
    )
