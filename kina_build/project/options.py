"""What `kina overrides` and `kina leave-out` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kina_build.options import Role, argument, option, pool


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
    reviewed: Path | None = option(
        None, help="The reviewers' decisions: items that they did not accept.", role=Role.input
    )
    ruling: tuple[Path, ...] = option((), help="Decisions of people; repeatable.", role=Role.input)
    output: Path = option(Path("left-out.json"), "-o", help="The file to write.", role=Role.output)

    @property
    def given(self) -> list[str]:
        """Name the kinds of files that were given: the same file in another role is another job."""
        names = ("findings", "duplicates", "contamination", "reviewed")
        return [name for name in names if getattr(self, name) is not None]
