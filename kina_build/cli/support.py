"""Command that scores a pool for its anchors, by any of the adapters."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console

if TYPE_CHECKING:
    from kina_build.dedup.embedding import Encoder
    from kina_build.support.embedding import Embed


class Method(StrEnum):
    """The adapters that end in one support matrix."""

    embedding = "embedding"


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
Compare = Annotated[
    Path | None, typer.Option("--compare", help="Another support.npz to correlate the result with.")
]

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
    compare: Compare = None,
) -> None:
    """Score how much each item shows of each anchor, in [0, 1], into one support matrix.

    An anchor is compared with the items of its own domain (their field) and scores 0
    elsewhere; an anchor without a domain is compared with all.
    """
    settings = run.settings
    name = encoder or settings.dedup.encoder
    stage = run.stage(
        "support",
        inputs=[pool, anchors, *([compare] if compare else [])],
        outputs=[output],
        params={
            "method": method.value,
            "encoder": name,
            "all_domains": all_domains,
            "rules": settings.support.model_dump(),
            "dedup": settings.dedup.model_dump(),
        },
        show=_show_support,
    )
    if stage.up_to_date():
        return
    from kina_build.items.pool import read_pool
    from kina_build.support.anchors import read_anchors
    from kina_build.support.diagnose import compare_support, describe_support
    from kina_build.support.embedding import support_by_embedding
    from kina_build.support.experts import compare_domains
    from kina_build.support.matrix import read_support, write_support

    items, targets = read_pool(pool), read_anchors(anchors)
    loaded = _load_encoder(run, name)
    matrix = support_by_embedding(
        items, targets, _embedder(run, loaded, cache), rules=settings.support, all_domains=all_domains
    )
    findings = [finding.model_dump() for finding in compare_domains(targets, items)]
    report = {"method": method.value, **describe_support(matrix), "findings": findings}
    if compare:
        report["compared"] = compare_support(matrix, read_support(compare))
    write_support(output, matrix)
    stage.finish(report, packages=["numpy"], models={loaded.name: loaded.revision})


def _load_encoder(run: Run, name: str) -> Encoder:
    from kina_build.dedup.embedding import load_encoder

    return load_encoder(name, run.settings.dedup)


def _embedder(run: Run, encoder: Encoder, cache: Path | None) -> Embed:
    """Return texts-to-vectors with the cache and a progress bar.

    Raises:
        Refusal: the encoder does not know too many of the texts' tokens.
    """
    from kina_build.dedup.embedding import embed, unknown_rate
    from kina_build.dedup.vectorcache import default_cache
    from kina_build.errors import Refusal

    rules = run.settings.dedup

    def work(texts: Any) -> Any:
        rate = unknown_rate(texts, encoder, rules.unknown_sample)
        if rate > rules.unknown_limit:
            raise Refusal(
                f"encoder {encoder.name!r} does not know {rate:.1%} of the tokens",
                hint="take a multilingual one, such as --encoder use-multilingual-v3",
            )
        with run.console.progress("embedding") as on_progress:
            return embed(texts, encoder, cache or default_cache(), on_progress)

    return work


def _show_support(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['items']} items x {report['anchors']} anchors by {report['method']}; "
        f"if every item were taken, {report['mean_best']:.1%} of the anchors' weight would be covered"
    )
    console.line("pairs by score: " + ", ".join(f"{band}: {n}" for band, n in report["distribution"].items()))
    _list(console, "anchors that no item supports", report["unsupported_anchors"])
    _list(console, "items that support nothing", report["idle_items"])
    for finding in report["findings"]:
        console.line(f"{finding['subject']}: {finding['message']}")
    if "compared" in report:
        compared = report["compared"]
        console.line(
            f"against the other file: Spearman {compared['spearman']}, Pearson {compared['pearson']}, "
            f"same best anchor {compared['same_best']} ({compared['pairs']} pairs)"
        )


def _list(console: Console, title: str, ids: list[str]) -> None:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    console.line(f"{title}: {len(ids)}" + (f" ({', '.join(ids[:SHOWN])}{more})" if ids else ""))


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "support", example="kina support pool.jsonl --anchors anchors.jsonl -o support.npz")(support)
