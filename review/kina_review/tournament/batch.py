"""A batch file: what a batch is settled by, written down once instead of on every command line."""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError

from kina_build.errors import InputError, UsageError
from kina_build.jsonl import describe, read_text
from kina_review.records import Record


def _as_text(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_as_text)]
"""An amount or instant: quoted, or as TOML has it."""
Files = Annotated[tuple[Path, ...], BeforeValidator(_as_list)]
"""One file or several."""


class Batch(Record):
    """What `kina review settle` is told of a batch; paths are seen from the batch file."""

    reviews: Files = ()
    scores: Files = ()
    findings: Files = ()
    draw: Path | None = None
    rules: Path | None = None
    rule_version: Text | None = None
    base: Text | None = None
    bonus: Text | None = None
    currency: str | None = None
    bar: Text | None = None
    tie: str | None = None
    deadline: Text | None = None
    penalty: Text | None = None
    seed: int | None = None
    ledger: Path | None = None
    contests: Path | None = None
    decisions: Path | None = None
    awards: Path | None = None


def read_batch(path: Path) -> Batch:
    """Read a batch file.

    Raises:
        InputError: unreadable, no TOML, an unknown key or a bad value.
    """
    try:
        batch = Batch.model_validate(tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    except ValidationError as error:
        raise InputError(
            *(f"{path}: {text}" for text in describe(error)), hint=f"keys are {', '.join(Batch.model_fields)}"
        ) from None
    return batch.model_copy(update={name: _seen_from(path, value) for name, value in batch})


def merge(batch: Batch, given: dict[str, Any], name: str) -> Batch:
    """Add what the command line says to a batch file.

    Raises:
        UsageError: both say the same thing, or nothing names the reviews.
    """
    told = {key: value for key, value in given.items() if value is not None}
    clash = [f"--{key.replace('_', '-')}" for key in told if getattr(batch, key) not in (None, ())]
    if clash:
        raise UsageError(f"{name} already says what {', '.join(clash)} would say")
    return batch.model_copy(update={key: tuple(v) if isinstance(v, list) else v for key, v in told.items()})


def _seen_from(path: Path, value: Any) -> Any:
    if isinstance(value, Path):
        return path.parent / value
    return tuple(path.parent / one for one in value) if isinstance(value, tuple) else value
