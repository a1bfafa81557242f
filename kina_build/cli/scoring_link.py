"""The command that turns predicted names into Wikidata items: kina link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kina_build.cli import scoring_views
from kina_build.cli.command import Run
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.scoring.triples.wikidata import LiveClient


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
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Keep Wikidata's answers here; a later run goes on from it."),
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Else OPENAI_BASE_URL.")] = None,
) -> None:
    """Link predicted names to Wikidata items, from a table or from Wikidata's search."""
    from kina_build.chat import Endpoint, Meter, complete
    from kina_build.cli.kept import open_log
    from kina_build.jsonl import read_records, write_records
    from kina_build.scoring.triples.linking import (
        NamedRow,
        link_rows,
        questions_for_model,
        read_cases,
        read_keywords,
        read_names,
        with_choices,
    )
    from kina_build.scoring.triples.wikidata import OfflineClient

    if names is not None and cache is not None:
        raise UsageError(
            "--cache keeps what Wikidata answers, and with --names nothing is asked",
            hint="leave one of the two out",
        )
    stage = run.stage(
        "link",
        inputs=[path for path in (predictions, names, fixed, keywords) if path is not None],
        outputs=[output],
        show=scoring_views.show_links,
        params={"model": model, "client": "offline" if names else "wikidata"},
        kept=[path for path in (log, cache) if path is not None],
    )
    rows = read_records(predictions, NamedRow)
    client = OfflineClient(read_names(names)) if names is not None else _live(run, cache)
    linked = link_rows(
        rows,
        client,
        fixed=read_cases(fixed) if fixed is not None else {},
        keywords=read_keywords(keywords) if keywords is not None else {},
    )
    meter = Meter()
    if model is not None:
        asked = questions_for_model(linked, model)
        with run.console.progress("choosing") as progress:
            received = complete(
                list(asked.values()),
                Endpoint.from_environment(base_url),
                open_log(run, log),
                rules=run.settings.chat,
                meter=meter,
                on_progress=progress,
            )
        linked = with_choices(linked, dict(zip(asked, received, strict=True)))
    write_records(output, (row.as_lm_kbc() for row in linked))
    counts: dict[str, int] = {}
    for row in linked:
        for one in row.links or ():
            counts[one.method] = counts.get(one.method, 0) + 1
    stage.finish(
        {"rows": len(linked), "methods": dict(sorted(counts.items()))}, reused={"replies": meter.reused}
    )


def _live(run: Run, cache: Path | None) -> LiveClient:
    from kina_build.scoring.triples.searches import SearchCache
    from kina_build.scoring.triples.wikidata import LiveClient

    return LiveClient(cache=SearchCache(cache), rules=run.settings.chat)
