"""What `kina dedup` and `kina contamination` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kina_build.errors import UsageError
from kina_build.options import Role, engine, memory, option, pool, setting

if TYPE_CHECKING:
    from kina_build.config import DedupRules

_ENCODER = (
    "all-MiniLM-L6-v2 (English, installed), use-multilingual-v3, a model's folder or hub name. "
    "Default: dedup.encoder of the settings."
)
_THRESHOLD = "Cosine from which items are compared; default .80."
_NO_NEAR = "Compare by letters only, without an encoder."
_CACHE = "File of kept vectors; default: in your cache folder."
_NO_CACHE = "Keep no vectors and read none."
_UNKNOWN = "Share of tokens the encoder may not know."


@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """Options of `kina dedup`."""

    pool: Path = pool()
    output: Path = option(Path("duplicates.json"), "-o", help="Where to write the result.", role=Role.output)
    page: Path | None = option(None, help="Write the clusters as an HTML page.", role=Role.output)
    encoder: str | None = setting("dedup.encoder", help=_ENCODER)
    threshold: float | None = setting("dedup.threshold", help=_THRESHOLD, min=0.01, max=1)
    labels: Path | None = option(
        None,
        help="Labelled pairs (item_id, other_id, duplicate): choose the largest threshold with a recall "
        "of .95 on them.",
        role=Role.input,
    )
    overrides: Path | None = option(
        None,
        help="Decisions of people: rows of decision (keep, drop, wrong_key, same, different), item_id, "
        "other_id (same, different), letter (the right key), note.",
        role=Role.input,
    )
    strong: str | None = setting(
        "dedup.strong_action", help="What strong evidence short of equality leads to: review or drop."
    )
    rule: str | None = setting(
        "dedup.rule", help="What decides about a pair: evidence, or cosine alone, as in the KINA paper."
    )
    explain: str | None = option(
        None,
        help="Print one item's neighbours and decision; write nothing.",
        role=Role.manner,
        metavar="ITEM",
    )
    near: Literal["exact", "fast"] = option(
        "exact",
        help="Encode every item, or, fast, only those that share words with another: some close pairs are "
        "missed, and how many at most is measured.",
    )
    no_near: bool = option(False, "--no-near", help=_NO_NEAR)
    index: Path | None = option(
        None,
        help="A FAISS index of the pool, made when absent and kept current: of a pool that grew, only new "
        "items are compared with it.",
        role=Role.kept,
    )
    cache: Path | None = option(None, help=_CACHE, role=Role.kept)
    no_cache: bool = option(False, help=_NO_CACHE, role=Role.manner)
    unknown_limit: float | None = setting("dedup.unknown_limit", help=_UNKNOWN, min=0, max=1)
    engine: Literal["local", "ray"] | None = engine()
    memory: int | None = memory()


@dataclass(frozen=True, kw_only=True)
class ContaminationOptions:
    """Options of `kina contamination`."""

    pool: Path = pool()
    against: tuple[Path, ...] = option(
        help="Another corpus: any file or folder of questions, rows or text (JSON, Parquet, CSV, HTML, "
        "Markdown, plain text; also .gz, .zst); repeatable.",
        role=Role.input,
    )
    map_: tuple[str, ...] = option(
        (),
        help="Read an item field of the corpora from a column or a dotted path, as `kina import` does.",
        metavar="KEY=COLUMN",
    )
    output: Path = option(
        Path("contamination.json"), "-o", help="Where to write the result.", role=Role.output
    )
    encoder: str | None = setting("dedup.encoder", help=_ENCODER)
    threshold: float | None = setting("dedup.threshold", help=_THRESHOLD, min=0.01, max=1)
    no_near: bool = option(False, "--no-near", help=_NO_NEAR)
    cache: Path | None = option(None, help=_CACHE, role=Role.kept)
    no_cache: bool = option(False, help=_NO_CACHE, role=Role.manner)
    unknown_limit: float | None = setting("dedup.unknown_limit", help=_UNKNOWN, min=0, max=1)
    memory: int | None = memory()


def shaping(options: DedupOptions | ContaminationOptions, rules: DedupRules) -> dict[str, Any]:
    """Return what shapes a result beside the options: the settings, and the text that is encoded.

    Raises:
        UsageError: options that exclude one another.
    """
    from kina_build.encode.texts import TEXT_FORM

    if isinstance(options, DedupOptions):
        _check(options, rules)
    form = {} if options.no_near else {"text_form": TEXT_FORM}
    made = {}
    if isinstance(options, DedupOptions):
        made = {"page": options.page is not None, **({"index": True} if options.index else {})}
    return {"dedup": rules.shaping, **form, **made}


def _check(options: DedupOptions, rules: DedupRules) -> None:
    if rules.rule == "cosine" and options.no_near:
        raise UsageError("--rule cosine needs an encoder", hint="leave --no-near out")
    if options.index and (options.no_near or options.near == "fast" or options.explain is not None):
        raise UsageError("--index keeps every item's vector: not with --no-near, --near fast or --explain")
    if options.near == "fast" and options.no_near:
        raise UsageError("--near fast and --no-near exclude one another")
    if options.near == "fast" and (options.labels or options.explain is not None):
        raise UsageError("--labels and --explain need every item's vector", hint="leave --near fast out")
