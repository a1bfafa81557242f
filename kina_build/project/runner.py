"""How a project has its commands asked and run: the command line hands down something of these forms."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from kina_build import __version__
from kina_build.errors import InputError
from kina_build.manifest import Job, Manifest, digests
from kina_build.project.folder import Project
from kina_build.project.graph.stages import Stage
from kina_build.project.log import Case, Entry, append
from kina_build.rows.jsonl import canonical, write_document
from kina_build.rows.outputs import expect

COLUMNS = "file not understood"
"""Kind of a case: a file whose columns people have to name."""
SOME_MAP = "--map FIELD=COLUMN ..."
"""What stands in a hint where no map is proposed."""
SAID = 20
"""Lines of a refusal that are kept."""


@dataclass(frozen=True)
class Answer:
    """What a command would do, asked without running it."""

    job: Job | None = None
    """What it reads, writes and is shaped by; None: it came to no job."""
    said: tuple[str, ...] = ()
    """Why it came to none."""
    hint: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    report: Mapping[str, Any] = field(default_factory=dict)
    """The document that `--json` prints; empty where there is none."""
    said: tuple[str, ...] = ()
    """Lines it wrote on stderr."""


class Runner(Protocol):
    """Asks what commands would do, in the current folder."""

    def ask(self, argv: Sequence[str]) -> Answer:
        """Return what a command would do."""
        ...


class Crew(Protocol):
    """Runs commands in the current folder, several side by side."""

    places: int
    """How many at most."""

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Hand a command over; it is known by a name."""
        ...

    def wait(self) -> tuple[str, Outcome]:
        """Return the first command that ends, by its name."""
        ...


@dataclass(frozen=True)
class Running:
    """A stage that was handed over."""

    stage: Stage
    reason: str
    began: datetime
    clock: float


@dataclass
class Work:
    """The stages that run now: each is told when it begins and when it ends, and stands in the log."""

    project: Project
    runner: Runner
    crew: Crew
    began: Callable[[Stage], None]
    """Told of a stage that begins."""
    ended: Callable[[Entry, Outcome], None]
    """Told of one that ended."""
    running: dict[str, Running] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Tell whether no more stages can run beside these."""
        return len(self.running) >= self.crew.places

    def start(self, stage: Stage, reason: str) -> None:
        """Have a stage run."""
        self.began(stage)
        self.running[stage.name] = Running(stage, reason, datetime.now(UTC), time.monotonic())
        self.crew.start(stage.name, stage.argv)

    def wait(self) -> tuple[Stage, Outcome]:
        """Wait for the first stage that ends; keep its document where it writes no file, and log it."""
        name, outcome = self.crew.wait()
        one = self.running.pop(name)
        if one.stage.reported and outcome.exit_code <= 1:
            job, _, _ = ask(self.project, one.stage, self.runner)
            if job is not None:
                _keep(job, outcome)
        entry = self._entry(one, outcome)
        append(self.project.root, entry)
        self.ended(entry, outcome)
        return one.stage, outcome

    def _entry(self, one: Running, outcome: Outcome) -> Entry:
        refused = ""
        cases: tuple[Case, ...] = ()
        if outcome.exit_code and not (outcome.exit_code == 1 and one.stage.finds):
            cases = tuple(refusal_cases(one.stage, outcome))
        if outcome.exit_code == 1 or any(case.kind == COLUMNS for case in cases):
            job, _, _ = ask(self.project, one.stage, self.runner)
            refused = fingerprint(job) if job and cases else ""
        cost = outcome.report.get("cost")
        return Entry(
            stage=one.stage.name, line=one.stage.line, began=one.began, reason=one.reason,
            seconds=round(time.monotonic() - one.clock, 3), exit_code=outcome.exit_code,
            version=__version__, cost=cost if isinstance(cost, int | float) else None,
            refused=refused, cases=cases,
        )  # fmt: skip


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


def _keep(job: Job, outcome: Outcome) -> None:
    expect(job.files)
    write_document(job.outputs[0], outcome.report)
    job.record(outcome.report, exit_code=outcome.exit_code)


def refusal_cases(stage: Stage, outcome: Outcome) -> list[Case]:
    """Turn what a command said no to into cases."""
    report = outcome.report
    if report.get("gates"):
        return [_gate_case(gate) for gate in report["gates"]]
    if report.get("rejects"):
        unread = _unread_files(report)
        rows = [one for one in report["rejects"] if one["file"] not in unread]
        cases = [
            _columns_case(file, f"{file}: no row is read as a question", proposed)
            for file, proposed in unread.items()
        ]
        return cases + [_reject_case(one) for one in rows]
    faults = [
        str(one.get("message", one)) if isinstance(one, Mapping) else str(one)
        for one in report.get("faults") or ()
    ]
    lines = faults or [line for line in outcome.said if line.strip()] or ["it was refused"]
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), "")
    told = [line.removeprefix("error: ") for line in lines if not line.startswith("hint: ")]
    if "--map " in hint:
        proposed = hint if hint.startswith("--map ") else SOME_MAP
        return [_columns_case(told[0].partition(": ")[0], told[0], proposed)]
    return [Case(kind="refused", subject=(stage.name,), message=line, how=hint) for line in told[:SAID]]


def _unread_files(report: Mapping[str, Any]) -> dict[str, str]:
    """Return each file of which no row was read, with the map that is proposed for it."""
    files = (report.get("detected") or {}).get("files") or ()
    return {one["file"]: one["proposed"] or SOME_MAP for one in files if not one["items"]}


def _columns_case(file: str, message: str, proposed: str) -> Case:
    how = (
        f"kina desk, queue of columns; or: kina decide columns {file} map {proposed} --who NAME --reason WHY"
    )
    return Case(kind=COLUMNS, subject=(file,), message=message, how=how)


def _gate_case(gate: Mapping[str, Any]) -> Case:
    items = tuple(gate.get("items") or ())
    few = ", ".join(items[:3]) + (f" and {len(items) - 3} more" if len(items) > 3 else "")
    return Case(
        kind="gate",
        subject=(str(gate["rule"]), *items),
        message=f"{gate['rule']}: {gate['message']}" + (f" ({few})" if items else ""),
        how=f"mend the items, or: kina decide gate {gate['rule']} allow --who NAME --reason WHY",
    )


def _reject_case(one: Mapping[str, Any]) -> Case:
    return Case(
        kind="row not read",
        subject=(f"{one['file']}:{one['line']}",),
        message=f"{one['file']}:{one['line']}: {one['message']}",
        how="mend the row or the source's map; or leave such rows out: keep_going = true of the source",
    )
