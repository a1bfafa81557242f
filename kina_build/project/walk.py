"""Walk the stages in order: what state each is in, and, when told to act, run what is stale."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import networkx as nx
from pydantic import BaseModel, ConfigDict

from kina_build import __version__
from kina_build.errors import InputError
from kina_build.items.pool import read_pool
from kina_build.manifest import Job, Manifest, digests
from kina_build.project.decisions import Rulings, check_texts, read_rulings
from kina_build.project.graph import draw_graph, in_order, owner_of
from kina_build.project.log import Case, Entry, append, read_log
from kina_build.project.plan import plan
from kina_build.project.runner import Outcome, Runner
from kina_build.project.stages import POOL, Stage
from kina_build.project.table import Project
from kina_build.project.waiting import find_cases, refusal_cases, setting_cases, tell_cases
from kina_build.rows.jsonl import canonical, write_document
from kina_build.rows.outputs import expect

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
    act: Callable[[Stage, str], Outcome] | None = None
    """Runs a stage for a reason; None: look only."""
    force: bool = False
    """Run what is fresh, too."""
    statuses: dict[str, StageStatus] = field(default_factory=dict)
    last: dict[str, Entry] = field(default_factory=dict)
    """Stage to the last line of the log about it."""

    def go(self, target: str | None = None) -> list[StageStatus]:
        """Visit every stage, or those that a target needs, in order.

        Raises:
            UsageError: no such stage.
            InputError: a decision, a log or an artefact that cannot be read.
        """
        self.last = {entry.stage: entry for entry in read_log(self.project.root)}
        self._draw()
        while True:
            left = (stage for stage in in_order(self.graph, target) if stage.name not in self.statuses)
            stage = next(left, None)
            if stage is None:
                return list(self.statuses.values())
            status = self.statuses[stage.name] = self._visit(stage)
            if status.ran and stage.owns[0] == POOL:  # decisions hold or not by the texts of the pool
                self._draw()

    def _draw(self) -> None:
        self.rulings = read_holding(self.project)
        self.graph: nx.DiGraph[str] = draw_graph(plan(self.project, self.rulings))

    def _visit(self, stage: Stage) -> StageStatus:
        before = [
            self.statuses[name] for name in self.graph.predecessors(stage.name) if name in self.statuses
        ]
        stopped = next((one for one in before if one.stops), None)
        if stopped is not None:
            return self._status(stage, "blocked", f"by {stopped.stage}", stops=True)
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

    def _missing(self, stage: Stage) -> str:
        owners = {name: one for one, data in self.graph.nodes(data=True) for name in data["stage"].artefacts}
        read = (name for name in stage.reads if owner_of(name, owners) is None)
        return next((name for name in read if not (self.project.root / name).exists()), "")

    def _look(self, stage: Stage) -> StageStatus:
        job, fault, hint = ask(self.project, stage, self.runner)
        if job is None:
            case = Case(kind="fault", subject=(stage.name,), message=fault, how=hint)
            return self._status(stage, "blocked", fault, [case], stops=True, failed=True)
        past, reason = look(self.project, stage, job)
        if past is None and self._handed_out(stage):
            return self._keep(stage, reason)
        if self.act is not None and (reason := self._why_run(stage, past, reason)):
            return self._run(stage, reason)
        if past is not None:
            return self._judge(stage, past, ran=False)
        return self._known_refusal(stage, job) or self._status(stage, "stale", reason)

    def _why_run(self, stage: Stage, past: Manifest | None, reason: str) -> str:
        """Return why a stage is to be run; empty where it is not."""
        if self.force:
            return "--force"
        if past is None:
            return reason
        return "it said no before" if past.exit_code and not stage.finds else ""

    def _keep(self, stage: Stage, reason: str) -> StageStatus:
        """Leave an artefact as it is that people work with already."""
        case = Case(
            kind="handed out",
            subject=(stage.owns[0],),
            message=f"{reason}, but people work with {stage.owns[0]} already",
            how=f"give new items out beside it: --earlier {stage.owns[0]}; or anew: {stage.line} --force",
        )
        return self._status(stage, "waiting", case.message, [case])

    def _run(self, stage: Stage, reason: str) -> StageStatus:
        if self.act is None:
            raise AssertionError("a walk that only looks runs nothing")
        outcome = self.act(stage, reason)
        if outcome.exit_code == INTERRUPTED:
            raise KeyboardInterrupt
        if outcome.exit_code > 1:
            cases = refusal_cases(stage, outcome)
            return self._status(stage, "blocked", cases[0].message, cases, ran=True, stops=True, failed=True)
        if outcome.exit_code == 1 and not stage.finds:
            cases = refusal_cases(stage, outcome)
            return self._status(stage, "waiting", cases[0].message, cases, ran=True, stops=True)
        return self._judge(stage, None, ran=True)

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
        reason = entry.cases[0].message if entry.cases else "it said no"
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


def ask(project: Project, stage: Stage, runner: Runner) -> tuple[Job | None, str, str]:
    """Return the job that a stage's command would run; else why it cannot, and a hint."""
    if stage.reported:
        root = project.root
        inputs = [root / name for name in stage.reads]
        return Job(stage.name, inputs, [root / stage.owns[0]], {"line": stage.line}), "", ""
    answer = runner.ask(stage.argv)
    said = answer.said[0] if answer.said else "the command came to no job"
    return answer.job, said, answer.hint


def look(project: Project, stage: Stage, job: Job) -> tuple[Manifest | None, str]:
    """Return the manifest that still holds, or the first reason why none does."""
    lost = next((name for name in stage.keeps if not (project.root / name).exists()), None)
    past, reason = job.look()
    if past is not None and lost is not None:
        return None, f"{lost} is missing"
    return past, reason


def fingerprint(job: Job) -> str:
    """Digest what a job reads and is told, outputs apart."""
    try:
        read: Any = {name: one.sha256 for name, one in digests(job.inputs).items()}
    except InputError:
        return ""
    text = canonical([job.command, __version__, dict(job.params), read])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def run_stage(project: Project, stage: Stage, reason: str, runner: Runner) -> tuple[Outcome, float]:
    """Run one stage, keep its document where it writes no file, and add a line to the log."""
    began, start = datetime.now(UTC), time.monotonic()
    outcome = runner.run(stage.argv)
    if stage.reported and outcome.exit_code <= 1:
        job, _, _ = ask(project, stage, runner)
        if job is not None:
            _keep(job, outcome)
    seconds = round(time.monotonic() - start, 3)
    refused = ""
    cases: tuple[Case, ...] = ()
    if outcome.exit_code == 1 and not stage.finds:
        job, _, _ = ask(project, stage, runner)
        refused, cases = fingerprint(job) if job else "", tuple(refusal_cases(stage, outcome))
    cost = outcome.report.get("cost")
    entry = Entry(
        stage=stage.name, line=stage.line, began=began, seconds=seconds, exit_code=outcome.exit_code,
        reason=reason, version=__version__, cost=cost if isinstance(cost, int | float) else None,
        refused=refused, cases=cases,
    )  # fmt: skip
    append(project.root, entry)
    return outcome, seconds


def _keep(job: Job, outcome: Outcome) -> None:
    expect(job.files)
    write_document(job.outputs[0], outcome.report)
    job.record(outcome.report, exit_code=outcome.exit_code)
