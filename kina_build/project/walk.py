"""Walk the stages in order: what state each is in, and, when told to act, run what is stale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import networkx as nx
from pydantic import BaseModel, ConfigDict

from kina_build.errors import InputError
from kina_build.items.pool import read_pool
from kina_build.manifest import Job, Manifest
from kina_build.project.decisions import Rulings, check_texts, read_rulings
from kina_build.project.folder import Project
from kina_build.project.graph.plan import draw_graph, in_order, owner_of, plan
from kina_build.project.graph.stages import POOL, Stage
from kina_build.project.log import Case, Entry, read_log
from kina_build.project.runner import COLUMNS, Outcome, Runner, Work, ask, fingerprint, look, refusal_cases
from kina_build.project.waiting import find_cases, setting_cases, tell_cases

State = Literal["fresh", "stale", "waiting", "blocked"]
INTERRUPTED = 130


class StageStatus(BaseModel):
    """The state of one stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    state: State
    """fresh: nothing to do; stale: to be run; waiting: for people; blocked: by another stage or a fault."""
    reason: str
    line: str
    """The plain command."""
    artefact: str
    cases: tuple[Case, ...] = ()
    ran: bool = False
    """It was run just now."""
    stops: bool = False
    """The stages behind it cannot go on."""
    failed: bool = False
    """The command ended with a fault of usage, settings or files."""


def read_holding(project: Project) -> Rulings:
    """Return the decisions of people, those that hold on the pool's texts apart from others."""
    rulings = read_rulings(project.root)
    pool = project.root / POOL
    if not rulings.files or not pool.exists():
        return rulings
    try:
        items = {item.item_id: item for item in read_pool(pool)}
    except InputError:  # a pool that was damaged is the import's to tell
        return rulings
    return check_texts(rulings, items)


@dataclass
class Walk:
    """One walk over the graph, in the project's folder."""

    project: Project
    runner: Runner
    work: Work | None = None
    """Runs stages; None: look only."""
    force: bool = False
    """Run what is fresh, too."""
    statuses: dict[str, StageStatus] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    """Stages that wait for a place to run in, with the reason why they are run."""
    last: dict[str, Entry] = field(default_factory=dict)
    """Stage to the last line of the log about it."""

    def go(self, target: str | None = None) -> list[StageStatus]:
        """Visit every stage, or those that a target needs, each when those before it have ended.

        Raises:
            UsageError: no such stage.
            InputError: a decision, a log or an artefact that cannot be read.
        """
        self.last = {entry.stage: entry for entry in read_log(self.project.root)}
        self._draw()
        while True:
            self._advance(target)
            if self.work is None or not self.work.running:
                return [self.statuses[one.name] for one in in_order(self.graph, target)]
            stage, outcome = self.work.wait()
            self.statuses[stage.name] = self._end(stage, outcome)
            if stage.owns[0] == POOL:  # decisions hold or not by the texts of the pool
                self._draw()

    def _draw(self) -> None:
        self.rulings = read_holding(self.project)
        self.graph: nx.DiGraph[str] = draw_graph(plan(self.project, self.rulings))

    def _advance(self, target: str | None) -> None:
        """Visit the stages that nothing before them keeps waiting, and start what is to run."""
        order = in_order(self.graph, target)
        wanted = {stage.name for stage in order}
        for stage in order:
            before = [one for one in self.graph.predecessors(stage.name) if one in wanted]
            if stage.name in self.statuses or self._is_running(stage.name):
                continue
            if all(one in self.statuses for one in before):
                self._take(stage, [self.statuses[one] for one in before])

    def _take(self, stage: Stage, before: Sequence[StageStatus]) -> None:
        found = self.stale.get(stage.name) or self._visit(stage, before)
        if isinstance(found, StageStatus):
            self.statuses[stage.name] = found
        elif self.work is None or self.work.is_full:
            self.stale[stage.name] = found
        else:
            self.stale.pop(stage.name, None)
            self.work.start(stage, found)

    def _is_running(self, name: str) -> bool:
        return self.work is not None and name in self.work.running

    def _visit(self, stage: Stage, before: Sequence[StageStatus]) -> StageStatus | str:
        """Return the state of a stage, or the reason why it is run."""
        stopped = self._stopped(stage, before)
        if stopped:
            return self._status(stage, "blocked", f"by {stopped}", stops=True)
        if stage.lacks:
            return self._status(stage, "waiting", stage.lacks[0], setting_cases(stage), stops=True)
        missing = self._missing(stage)
        if missing:
            return self._status(stage, "blocked", f"there is no file {missing}", stops=True, failed=True)
        if any(one.state == "stale" for one in before):
            first = next(one.stage for one in before if one.state == "stale")
            built = (self.project.root / stage.owns[0]).exists()
            return self._status(stage, "stale", f"after {first}" if built else "never built")
        return self._look(stage)

    def _stopped(self, stage: Stage, before: Sequence[StageStatus]) -> str:
        """Name the first stage that keeps one from going on; what shows all there is needs one artefact."""
        if stage.last and any((self.project.root / one.artefact).exists() for one in before):
            return ""
        return next((one.stage for one in before if one.stops), "")

    def _missing(self, stage: Stage) -> str:
        owners = {name: one for one, data in self.graph.nodes(data=True) for name in data["stage"].artefacts}
        read = (name for name in stage.reads if owner_of(name, owners) is None)
        return next((name for name in read if not (self.project.root / name).exists()), "")

    def _look(self, stage: Stage) -> StageStatus | str:
        job, fault, hint = ask(self.project, stage, self.runner)
        if job is None:
            case = Case(kind="fault", subject=(stage.name,), message=fault, how=hint)
            return self._status(stage, "blocked", fault, [case], stops=True, failed=True)
        past, reason = look(self.project, stage, job)
        if past is None and self._handed_out(stage):
            return self._keep(stage, reason)
        if self.work is not None and (why := self._why_run(stage, past, reason)):
            return why
        if past is not None:
            return self._judge(stage, past, ran=False)
        return self._known_refusal(stage, job) or self._status(stage, "stale", reason)

    def _why_run(self, stage: Stage, past: Manifest | None, reason: str) -> str:
        """Return why a stage is to be run; empty where it is not."""
        if self.force:
            return "--force"
        if past is None:
            return reason
        return "it was refused before" if past.exit_code and not stage.finds else ""

    def _keep(self, stage: Stage, reason: str) -> StageStatus:
        """Leave an artefact as it is that people work with already."""
        case = Case(
            kind="handed out",
            subject=(stage.owns[0],),
            message=f"{reason}, but people work with {stage.owns[0]} already",
            how=f"give new items out beside it: --earlier {stage.owns[0]}; or anew: {stage.line} --force",
        )
        return self._status(stage, "waiting", case.message, [case])

    def _end(self, stage: Stage, outcome: Outcome) -> StageStatus:
        """Return the state of a stage that was run just now."""
        if outcome.exit_code == INTERRUPTED:
            raise KeyboardInterrupt
        if not outcome.exit_code or (outcome.exit_code == 1 and stage.finds):
            return self._judge(stage, None, ran=True)
        cases = refusal_cases(stage, outcome)
        state: State = "waiting" if outcome.exit_code == 1 or cases[0].kind == COLUMNS else "blocked"
        failed = state == "blocked"
        return self._status(stage, state, cases[0].message, cases, ran=True, stops=True, failed=failed)

    def _judge(self, stage: Stage, past: Manifest | None, *, ran: bool) -> StageStatus:
        """Return the state of a stage whose artefact is as it would be made."""
        if past is not None and past.exit_code and not stage.finds:
            cases = refusal_cases(stage, Outcome(past.exit_code, past.report))
            return self._status(stage, "waiting", cases[0].message, cases, stops=True)
        cases = find_cases(stage, self.project, self.rulings)
        return self._status(stage, "waiting" if cases else "fresh", tell_cases(cases), cases, ran=ran)

    def _known_refusal(self, stage: Stage, job: Job) -> StageStatus | None:
        """Return what the command said when it was last run on the very same."""
        entry = self.last.get(stage.name)
        if entry is None or not entry.refused or entry.refused != fingerprint(job):
            return None
        reason = entry.cases[0].message if entry.cases else "it was refused"
        return self._status(stage, "waiting", reason, entry.cases, stops=True)

    def _handed_out(self, stage: Stage) -> bool:
        root = self.project.root
        return (
            bool(stage.once)
            and (root / stage.owns[0]).exists()
            and any((root / name).exists() for name in stage.once)
        )

    def _status(
        self, stage: Stage, state: State, reason: str, cases: Iterable[Case] = (), **more: bool
    ) -> StageStatus:
        told = {
            "reason": reason,
            "line": stage.line,
            "artefact": stage.owns[0],
            "cases": tuple(cases),
            **more,
        }
        return StageStatus.model_validate({"stage": stage.name, "state": state, **told})
