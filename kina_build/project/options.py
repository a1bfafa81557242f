"""What the commands of projects take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from kina_build.options import Role, argument, dry_run, option, pool

Kind = Literal["pair", "item", "key", "finding", "gate", "columns"]
"""What people decide on."""
Template = Literal["mcq", "kina", "universe", "triples"]
"""What kind of benchmark a project is."""


@dataclass(frozen=True, kw_only=True)
class OverridesOptions:
    """Options of `kina overrides`."""

    rulings: tuple[Path, ...] = argument("Decisions of people.", metavar="FILE...")
    pool: Path = option(help="The items they were made on.", role=Role.input)
    output: Path = option(Path("overrides.jsonl"), "-o", help="Overrides to write.", role=Role.output)


@dataclass(frozen=True, kw_only=True)
class LeaveOutOptions:
    """Options of `kina leave-out`."""

    pool: Path = pool()
    findings: Path | None = option(None, help="Of `kina check`: items with an error.", role=Role.input)
    duplicates: Path | None = option(None, help="Of `kina dedup`: copies and held items.", role=Role.input)
    contamination: Path | None = option(
        None, help="Of `kina contamination`: items that stand elsewhere.", role=Role.input
    )
    panel: Path | None = option(None, help="The items that `kina panel` let in.", role=Role.input)
    reviewed: Path | None = option(
        None, help="The reviewers' decisions: items that they did not accept.", role=Role.input
    )
    ruling: tuple[Path, ...] = option((), help="Decisions of people; repeatable.", role=Role.input)
    output: Path = option(Path("left-out.json"), "-o", help="The file to write.", role=Role.output)

    @property
    def given(self) -> list[str]:
        """Name the kinds of files that were given: the same file in another role is another job."""
        names = ("findings", "duplicates", "contamination", "panel", "reviewed")
        return [name for name in names if getattr(self, name) is not None]


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    """Options of `kina init`."""

    writes: ClassVar[bool] = True
    files: tuple[Path, ...] = argument(
        "Files to look at; default: those of this folder.", default=(), metavar="FILE..."
    )
    name: str | None = option(None, help="Short name; default: the folder's.")
    template: Template = option("mcq", help="What kind of benchmark it is.")


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of `kina build`."""

    writes: ClassVar[bool] = True
    stage: str | None = argument(
        "Build this stage and those it needs; default: all.", default=None, role=Role.parameter
    )
    dry_run: bool = dry_run()


@dataclass(frozen=True, kw_only=True)
class StatusOptions:
    """Options of `kina status`."""

    items: str | None = option(None, help="List the items of one step of the funnel.", metavar="STEP")


@dataclass(frozen=True, kw_only=True)
class WhyOptions:
    """Options of `kina why`."""

    item: str = argument("Id of the item.", role=Role.parameter)


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Options of `kina log`."""

    limit: int = option(20, help="Show the last N commands.", min=1)


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    """Options of `kina decide`."""

    kind: Kind = argument("What is decided on.", role=Role.parameter)
    subject: tuple[str, ...] = argument(
        "Ids of items or the gate, then what you decide.",
        role=Role.parameter,
        metavar="SUBJECT... VERDICT",
    )
    who: str = option(help="Your name, in small letters.")
    reason: str = option(help="Why.")
    letter: str | None = option(None, help="key wrong: the right key.")
    map: tuple[str, ...] = option(
        (), help="columns map: item field and column, as to `kina import`; repeatable.", metavar="KEY=COLUMN"
    )


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of `kina demo`."""

    into: Path = option(Path("demo"), help="Folder to work in; made if it is not there.", role=Role.folder)
