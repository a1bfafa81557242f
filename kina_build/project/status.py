"""The state of a whole project, and the next thing to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kina_build.errors import InputError
from kina_build.project.folder import Project
from kina_build.project.funnel import Level, read_funnel
from kina_build.project.log import Case
from kina_build.project.waiting import REFILL, ruling_cases
from kina_build.project.walk import StageStatus, Walk


@dataclass(frozen=True)
class ProjectStatus:
    """What a walk found."""

    name: str
    stages: tuple[StageStatus, ...]
    rulings: tuple[Case, ...]
    """Decisions of people that are not followed: they differ, or the text has changed."""
    funnel: tuple[Level, ...]
    not_reviewed: bool
    """No review is part of the project: every item is eligible."""

    @property
    def waits(self) -> bool:
        """Tell whether something waits for people, or cannot go on."""
        return bool(self.rulings) or any(one.state in ("waiting", "blocked") for one in self.stages)

    @property
    def failed(self) -> bool:
        """Tell whether a command ended with a fault of usage, settings or files."""
        return any(one.failed for one in self.stages)

    @property
    def exit_code(self) -> int:
        """Return 0 where all is done, 1 where something waits, 2 where something is wrong."""
        return 2 if self.failed else int(self.waits)

    @property
    def next_step(self) -> str:
        """Name the next thing to do."""
        failed = next((one for one in self.stages if one.failed), None)
        if failed is not None:
            return f"{failed.stage}: {failed.reason}" + _how(failed.cases)
        refill = next((case for one in self.stages for case in one.cases if case.kind == REFILL), None)
        if refill is not None:
            return refill.how
        stopped = next((one for one in self.stages if one.stops and one.state == "waiting"), None)
        if stopped is not None:
            return f"{stopped.stage}: {stopped.reason}" + _how(stopped.cases)
        if any(one.state == "stale" for one in self.stages):
            return "kina build"
        cases = [*self.rulings, *(case for one in self.stages for case in one.cases)]
        return cases[0].how or cases[0].message if cases else ""


def _how(cases: Sequence[Case]) -> str:
    return f" ({cases[0].how})" if cases and cases[0].how else ""


def read_status(walk: Walk, target: str | None = None) -> ProjectStatus:
    """Walk the stages and sum up.

    Raises:
        UsageError: no such stage.
        InputError: a decision, a log or an artefact that cannot be read.
    """
    stages = walk.go(target)
    return ProjectStatus(
        walk.project.table.name,
        tuple(stages),
        tuple(ruling_cases(walk.rulings)),
        tuple(_funnel(walk.project)),
        walk.project.batch is None,
    )


def _funnel(project: Project) -> list[Level]:
    try:
        return read_funnel(project)
    except InputError:  # an artefact that is damaged is told by its stage
        return []
