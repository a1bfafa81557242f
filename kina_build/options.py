"""How an operation says what it takes: one dataclass, whose fields are written once.

The fields of an operation's Options feed the signature and the help of its command, the check of its
places, the inputs and parameters of its manifest, and the settings it overrides. Nothing here knows
how a command line is parsed.

    @dataclass(frozen=True, kw_only=True)
    class DedupOptions:
        pool: Path = argument("Items, as `kina import` writes them; '-' for stdin.")
        output: Path = option(Path("duplicates.json"), "-o", help="Where to write.", role=Role.output)
        threshold: float | None = setting("dedup.threshold", help="Cosine from which items are compared.")
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

METADATA = "option"
"""Key of a Spec in a field's metadata."""


class Role(StrEnum):
    """What an option is to a run."""

    input = "input"
    """A file that is read: its digest decides whether a result is current."""
    output = "output"
    """A file that is written."""
    folder = "folder"
    """A folder that is written."""
    kept = "kept"
    """A file that is read and added to: a cache, a log, a ledger."""
    parameter = "parameter"
    """A value that shapes the result."""
    setting = "setting"
    """A value that wins over one of kina.toml; what it came to stands among the parameters."""
    manner = "manner"
    """How the work is done or shown: never what comes of it."""


@dataclass(frozen=True)
class Spec:
    """All that is known of one option beside its name, type and default."""

    help: str
    role: Role
    names: tuple[str, ...] = ()
    """Letters and other names of it; the first long one is made from the field's name."""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    positional: bool = False
    setting: str = ""
    """`section.key` of the setting it wins over."""


def option(
    default: Any = MISSING,
    *names: str,
    help: str,
    role: Role = Role.parameter,
    metavar: str | None = None,
    min: float | None = None,
    max: float | None = None,
) -> Any:
    """Declare an option; without a default it must be given.

    Args:
        default: its value when it is not given.
        names: letters ("-o"), other long names ("--quota"), or a pair ("--near/--no-near").
        help: one or two sentences.
        role: what it is to a run.
        metavar: what stands for its value in the help.
        min: least value of a number.
        max: greatest value of a number.
    """
    return _field(default, Spec(help, role, names, metavar, min, max))


def argument(
    help: str, *, default: Any = MISSING, role: Role = Role.input, metavar: str | None = None
) -> Any:
    """Declare an argument: a value that is known by its place."""
    return _field(default, Spec(help, role, (), metavar, positional=True))


def setting(
    key: str,
    *names: str,
    help: str,
    metavar: str | None = None,
    min: float | None = None,
    max: float | None = None,
) -> Any:
    """Declare an option that wins over a setting, `section.key`, when it is given."""
    return _field(None, Spec(help, Role.setting, names, metavar, min, max, setting=key))


def _field(default: Any, spec: Spec) -> Any:
    if default is MISSING:
        return dataclasses.field(metadata={METADATA: spec})
    return dataclasses.field(default=default, metadata={METADATA: spec})


def dry_run() -> Any:
    """Declare --dry-run."""
    return option(False, help="Show what would be done; write nothing.", role=Role.manner)


def limit() -> Any:
    """Declare --limit."""
    return option(None, help="Take only the first N records, by id.", min=1)


def seed(default: int = 0) -> Any:
    """Declare --seed."""
    return option(default, help="Seed of everything random in this command.", min=0)


def pool() -> Any:
    """Declare the pool as an argument."""
    return argument("Items: a pool.jsonl as `kina import` writes it; '-' for stdin.")


def letters_of() -> Any:
    """Declare --letters-of."""
    return option(
        None,
        help="Whose order of options letters mean where a row does not say (no prompt_sha or option_hashes).",
        role=Role.input,
        metavar="POOL|RELEASE",
    )


def engine() -> Any:
    """Declare --engine: where the work runs."""
    return option(
        None,
        help="Run in this process, or on Ray: the cluster of RAY_ADDRESS, else a local one.",
        role=Role.manner,
    )


def memory() -> Any:
    """Declare --memory."""
    return option(
        None,
        help="Resident memory to keep to, in MB; what is larger stays on disk.",
        role=Role.manner,
        min=1,
    )


def specs(kind: type) -> Iterator[tuple[dataclasses.Field[Any], Any, Spec]]:
    """Yield the fields of an Options class with their types and what is known of them.

    Raises:
        TypeError: a field was not declared by `option`, `argument` or `setting`.
    """
    types = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        spec = field.metadata.get(METADATA)
        if spec is None:
            raise TypeError(f"{kind.__name__}.{field.name} is not declared as an option")
        yield field, types[field.name], spec


def paths(options: Any, *roles: Role) -> list[Path]:
    """List the paths given for some roles, in the order of the fields."""
    found = [
        value
        for field, _, spec in specs(type(options))
        if spec.role in roles
        for value in _several(getattr(options, field.name))
    ]
    return [path for path in found if isinstance(path, Path)]


def parameters(options: Any) -> dict[str, Any]:
    """Return what shapes the result beside files and settings, as plain values."""
    return {
        field.name: _plain(getattr(options, field.name))
        for field, _, spec in specs(type(options))
        if spec.role is Role.parameter
    }


def overridden(options: Any, section: str) -> dict[str, Any]:
    """Return the settings of one section that were given as options."""
    given = {
        spec.setting.rpartition(".")[2]: getattr(options, field.name)
        for field, _, spec in specs(type(options))
        if spec.setting.rpartition(".")[0] == section
    }
    return {key: value for key, value in given.items() if value is not None}


def _several(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    return () if value is None else (value,)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return value.name
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return value
