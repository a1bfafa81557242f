"""What the commands about copies share: their options, and how these win over the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli.command import Run

if TYPE_CHECKING:
    from kina_build.config import DedupRules

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


def resolve(run: Run, **given: Any) -> DedupRules:
    """Let the options that were given win over the settings."""
    from kina_build.config import check_section

    rules = run.settings.dedup
    chosen = {key: value for key, value in given.items() if value is not None}
    return check_section(type(rules), rules.model_dump() | chosen, "options")


def shaping(rules: DedupRules, *, near: bool) -> dict[str, Any]:
    """Return what the manifest keeps of settings that shape a result."""
    from kina_build.encode.embedding import TEXT_FORM

    form = {"text_form": TEXT_FORM} if near else {}
    return {"dedup": rules.shaping, "near": near, **form}


def cache_file(path: Path | None, no_cache: bool) -> Path | None:
    """Return the file of kept vectors: the one that was named, the user's own, or none."""
    from kina_build.encode.vectorcache import default_cache

    return None if no_cache else path or default_cache()
