"""Options of the commands that merge anchors and score a pool for them."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Literal

from kina_build.options import Role, argument, dry_run, engine, memory, option, pool, seed

Method = Literal["embedding", "judge", "ratings", "bank"]
"""Where scores come from."""


@dataclass(frozen=True, kw_only=True)
class AnchorsOptions:
    """Options of `kina anchors`."""

    files: tuple[Path, ...] = argument(
        "Anchor lists, CSV or JSON Lines; one file an expert.", default=(), metavar="FILE..."
    )
    output: Path | None = option(None, "-o", help="The merged anchors.jsonl to write.", role=Role.output)
    worksheet: Path | None = option(
        None, help="Write a CSV for experts: known anchors and blank rows.", role=Role.output
    )
    pool: Path | None = option(
        None, help="A pool.jsonl whose domains the anchors must cover.", role=Role.input
    )
    min_experts: int = option(1, help="Leave out anchors that fewer experts named.", min=1)


@dataclass(frozen=True, kw_only=True)
class SupportOptions:
    """Options of `kina support`."""

    pool: Path = pool()
    anchors: Path = option(MISSING, help="Anchors, as `kina anchors` writes them.", role=Role.input)
    output: Path = option(
        Path("support.npz"),
        "-o",
        help="The support.npz to write; a name without .npz: a folder of such parts.",
        role=Role.output,
    )
    method: Method = option("embedding", help="Where scores come from.")
    encoder: str | None = option(None, help="Encoder name or folder; default: dedup.encoder of the settings.")
    cache: Path | None = option(
        None, help="File of kept vectors; default: in your cache folder.", role=Role.kept
    )
    spread: float | None = option(
        None,
        help="Share of all weight (0 to 1) for spread: every item is an anchor too, shown by the "
        "support.spread_near items nearest to it by embedding.",
        min=0,
        max=1,
    )
    all_domains: bool = option(False, help="Compare anchors with the items of every domain.")
    ratings: tuple[Path, ...] = option(
        (),
        help="ratings: rows of item_id, anchor_id and score (0-1) or judge, rating (0-4); repeatable.",
        role=Role.input,
    )
    judge: tuple[str, ...] = option(
        (), help="judge: a model's name; repeat for several. NAME#2 is a second reading."
    )
    base_url: str | None = option(None, help="judge: endpoint; default: OPENAI_BASE_URL.")
    calls: Path | None = option(
        None, help="judge: log of replies; default: beside the output.", role=Role.kept
    )
    labels: tuple[Path, ...] = option(
        (), help="judge, ratings: experts' ratings, to calibrate on; repeatable.", role=Role.input
    )
    save_ratings: Path | None = option(None, help="judge: write the ratings as JSON Lines.", role=Role.output)
    allow_unjudged: float | None = option(
        None, help="judge: share of items that may be left out unrated.", min=0, max=1
    )
    allow_disagreement: bool = option(
        False, help="judge, ratings, bank: go on although judges or experts agree by chance only."
    )
    max_calls: int | None = option(None, help="judge: stop after so many calls.", min=0)
    max_cost: float | None = option(None, help="judge: stop at this cost.", min=0)
    item_labels: tuple[Path, ...] = option(
        (),
        help="bank: rows of item_id, aligned (1 or 0), and judge; repeatable, a file an expert.",
        role=Role.input,
    )
    pair_labels: tuple[Path, ...] = option(
        (),
        help="bank: rows of item_id, other_id, support, duplicate (1 or 0), and judge; repeatable.",
        role=Role.input,
    )
    signatures: Path | None = option(
        None,
        help="bank: signatures; else --judge writes them, else the wording does.",
        role=Role.input,
    )
    details: Path | None = option(None, help="bank: write what became of every item.", role=Role.output)
    difficulty: Path | None = option(
        None,
        help="bank: rows of item_id, p (share right) or difficulty (share wrong); default: items' metadata.",
        role=Role.input,
    )
    recheck: int = option(
        0,
        help="bank: calls for a second reading of items of uncertain alignment, by a second --judge or the "
        "first again.",
        min=0,
    )
    save_conflicts: Path | None = option(
        None,
        help="bank: write the shortlist's duplicates, for `kina select --conflicts`.",
        role=Role.output,
    )
    scale: int | None = option(
        None,
        help="Levels a unit of score; up to 255 a score takes one byte. Default: support.scale.",
        min=1,
        max=1_000_000,
    )
    draw: Path | None = option(
        None, help="bank: write sheets of items and pairs to label here, and stop.", role=Role.folder
    )
    experts: int = option(
        1, help="bank: with --draw, sheets for so many experts, with rows they share.", min=1
    )
    seed: int = seed()
    compare: Path | None = option(
        None, help="Another support.npz to correlate the result with.", role=Role.input
    )
    engine: Literal["local", "ray"] | None = engine()
    memory: int | None = memory()
    dry_run: bool = dry_run()
