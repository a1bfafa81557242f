"""A stage of a project: a plain command line, what it reads, and the artefacts it owns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

POOL = "pool.jsonl"
FINDINGS = "findings.jsonl"
OVERRIDES = "overrides.jsonl"
DUPLICATES = "duplicates.json"
CONTAMINATION = "contamination.json"
TRIAGE = "triage.jsonl"
PANEL = "panel.jsonl"
ANCHORS = "anchors.jsonl"
SUPPORT = "support.npz"
ASSIGNMENTS = "assignments.jsonl"
CONTESTS = "contests.jsonl"
DECISIONS = "decisions.jsonl"
LEDGER = "ledger.db"
AGREEMENT = "agreement.json"
LEFT_OUT = "left-out.json"
BUDGET = "budget.jsonl"
SELECTION = "selection.json"
TOPPED = "topped.json"
CERTIFICATE = "certificate.json"
RELEASE = "release"
VERIFICATION = "verification.json"
SCORES = "scores.jsonl"
LEADERBOARD = "leaderboard.json"
REPORT = "report"

NO_REVIEWS = "review.batch.reviews: no review is in yet"
"""What the stages behind the reviews lack until the first is there."""


@dataclass(frozen=True)
class Stage:
    """One command of the flow."""

    name: str
    argv: tuple[str, ...]
    """As a user types it after `kina`, in the project's folder."""
    reads: tuple[str, ...]
    """Artefacts of other stages, and files of the project."""
    owns: tuple[str, ...]
    """What it writes; the first carries the manifest."""
    keeps: tuple[str, ...] = ()
    """What it adds to, and must find again: a ledger."""
    finds: bool = False
    """Exit code 1 is a finding, which the stages behind it can go on with."""
    reported: bool = False
    """The command writes no file: its document is kept as the artefact."""
    once: tuple[str, ...] = ()
    """Files that tell that people work with the artefact: from then on it is not made anew."""
    lacks: tuple[str, ...] = ()
    """Lines of kina.toml that are not filled in, without which it cannot run."""
    last: bool = False
    """It shows what there is: it comes after all others, and none of them holds it up."""

    @property
    def artefacts(self) -> tuple[str, ...]:
        """Return all that it writes or adds to."""
        return (*self.owns, *self.keeps)

    @property
    def line(self) -> str:
        """Return the command line as it is typed."""
        return shlex.join(["kina", *self.argv])


def each(option: str, values: Iterable[object]) -> list[str]:
    """Repeat an option for each value."""
    return [part for value in values for part in (option, str(value))]


def given(option: str, value: object) -> list[str]:
    """Return an option with its value; nothing where there is none."""
    return [] if value in (None, "") else [option, str(value)]


def slug(name: str) -> str:
    """Return a name of a model as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"
