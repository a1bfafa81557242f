"""A batch file: what a batch is settled and paid by, written down once instead of on every command line."""

from __future__ import annotations

import dataclasses
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ValidationError

from kina_build.errors import InputError, UsageError
from kina_build.rows.jsonl import describe, read_text
from kina_review.records import Record

Options = TypeVar("Options")


def _as_text(value: object) -> object:
    if isinstance(value, date):  # an instant is one too
        return value.isoformat()
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_as_text)]
"""An amount or instant: quoted, or as TOML has it."""
Files = Annotated[tuple[Path, ...], BeforeValidator(_as_list)]
"""One file or several."""


class Batch(Record):
    """What is fixed once for a batch; paths are seen from the batch file."""

    reviews: Files = ()
    scores: Files = ()
    findings: Files = ()
    draw: Path | None = None
    rules: Path | None = None
    scarcity: Path | None = None
    items: Path | None = None
    rule_version: Text | None = None
    base: Text | None = None
    bonus: Text | None = None
    grade_pay: Text | None = None
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
    payments: Path | None = None
    """The payment file: --output of `kina review pay plan`."""
    provider: str | None = None
    payees: Files = ()
    cap: Text | None = None
    paid_before: Path | None = None
    since: Text | None = None


OTHER_NAMES = {"payments": "output"}
"""Keys of a batch file, to the option that they stand for."""


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


def fill_in(options: Options, path: Path | None) -> Options:
    """Return a command's options with what its batch file says; what it does not take is left.

    Raises:
        InputError: unreadable, no TOML, an unknown key or a bad value.
        UsageError: the command line and the file both say the same thing.
    """
    if path is None:
        return options
    names = {one.name for one in dataclasses.fields(options)}  # type: ignore[arg-type]
    told = {OTHER_NAMES.get(key, key): value for key, value in read_batch(path) if value not in (None, ())}
    told = {name: value for name, value in told.items() if name in names}
    clash = [f"--{name.replace('_', '-')}" for name in told if getattr(options, name) not in (None, ())]
    if clash:
        raise UsageError(f"{path} already says what {', '.join(clash)} would say")
    return dataclasses.replace(options, **told)  # type: ignore[type-var]


def need(path: Path | None, name: str) -> Path:
    """Return a path that must be given, by an option or a batch file.

    Raises:
        UsageError: it is not.
    """
    if path is None:
        raise UsageError(f"--{name} is missing", hint=f"--{name} FILE, or a --batch-file that names it")
    return path


def _seen_from(path: Path, value: Any) -> Any:
    if isinstance(value, Path):
        return path.parent / value
    return tuple(path.parent / one for one in value) if isinstance(value, tuple) else value
