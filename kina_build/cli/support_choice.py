"""What a run of `kina support` was asked for, and what its method hands back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli.command import Run

if TYPE_CHECKING:
    from kina_build.config import EngineRules, SupportRules
    from kina_build.encode.kept import Reuse
    from kina_build.support.matrix import SupportMatrix


class Method(StrEnum):
    """Where scores come from."""

    embedding = "embedding"
    judge = "judge"
    ratings = "ratings"
    bank = "bank"


@dataclass(frozen=True)
class Choice:
    """The options of one run of `kina support`."""

    run: Run
    method: Method
    encoder: str
    cache: Path | None
    all_domains: bool
    ratings: tuple[Path, ...]
    judges: tuple[str, ...]
    base_url: str | None
    calls: Path
    labels: tuple[Path, ...]
    save_ratings: Path | None
    allow_unjudged: float | None
    max_calls: int | None
    max_cost: float | None
    signatures: Path | None
    item_labels: tuple[Path, ...]
    pair_labels: tuple[Path, ...]
    details: Path | None
    scale: int | None
    seed: int
    engine: EngineRules
    reuse: Reuse
    """Whether finished work may be taken over, and the count of what was."""

    @property
    def rules(self) -> SupportRules:
        """Return the settings, with what the flags say."""
        given = {"unjudged_limit": self.allow_unjudged, "scale": self.scale}
        return self.run.settings.support.model_copy(
            update={key: value for key, value in given.items() if value is not None}
        )

    def params(self) -> dict[str, Any]:
        """Return what shapes the result, for the manifest."""
        return {
            "method": self.method.value,
            "encoder": self.encoder,
            "all_domains": self.all_domains,
            "judges": list(self.judges),
            "seed": self.seed,
            "further_outputs": [bool(self.save_ratings), bool(self.details)],
            "rules": self.rules.model_dump(),
            "dedup": self.run.settings.dedup.model_dump(),
        }

    def files(self) -> tuple[Path, ...]:
        """Return the files it reads besides pool and anchors."""
        signatures = [self.signatures] if self.signatures else []
        return (*self.ratings, *self.labels, *signatures, *self.item_labels, *self.pair_labels)

    def check(self) -> None:
        """Check that the options fit the method.

        Raises:
            UsageError: an option that the method needs is missing, or a judge is named twice.
        """
        from kina_build.errors import UsageError

        if self.method == Method.judge and not self.judges:
            raise UsageError("--method judge needs --judge MODEL")
        if self.method == Method.ratings and not self.ratings:
            raise UsageError("--method ratings needs --ratings FILE")
        if self.method == Method.bank and not (self.item_labels and self.pair_labels):
            raise UsageError(
                "--method bank needs --item-labels FILE and --pair-labels FILE",
                hint="--draw FOLDER writes sheets of items and pairs to label",
            )
        odd = next((name for name in self.judges if not re.fullmatch(r"[^#]+(#[1-9]\d?)?", name)), None)
        if odd is not None:
            raise UsageError(f"--judge {odd!r} is no judge", hint="give NAME, or NAME#2 for a second reading")
        if len(set(self.judges)) < len(self.judges):
            raise UsageError("a judge is named twice", hint="NAME#2 is a second reading by the model NAME")


@dataclass(frozen=True)
class Outcome:
    """What an adapter hands back."""

    matrix: SupportMatrix
    report: dict[str, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    """Model name to revision, for the manifest."""
    write_more: Callable[[], object] = lambda: None
    """Writes the adapter's further outputs."""
