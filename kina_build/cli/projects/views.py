"""How a project's state is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kina_build.cli.console import Console

if TYPE_CHECKING:
    from kina_build.project.status import ProjectStatus

CASES_SHOWN = 3
"""Cases of one kind that are shown; --json has all."""


def describe_status(status: ProjectStatus) -> dict[str, Any]:
    """Return the document of `kina status` and `kina build`."""
    return {
        "project": status.name,
        "complete": not status.waits and all(one.state == "fresh" for one in status.stages),
        "reviewed": not status.not_reviewed,
        "stages": [one.model_dump(mode="json", exclude={"stops"}) for one in status.stages],
        "decisions": [case.model_dump(mode="json") for case in status.rulings],
        "funnel": [{"step": one.step, "count": one.count, "lost": one.lost} for one in status.funnel],
        "next": status.next_step,
    }


def show_status(report: Mapping[str, Any], console: Console) -> None:
    """Print the stages, what waits, the funnel and the next thing to do."""
    rows = [[one["stage"], one["state"], one["reason"]] for one in report["stages"]]
    console.table(f"project {report['project']}", ["stage", "state", "why"], rows)
    show_rest(report, console)


def show_build(report: Mapping[str, Any], console: Console) -> None:
    """Print what a build left undone, the funnel and the next thing to do."""
    states = Counter(one["state"] for one in report["stages"])
    ran = sum(one["ran"] for one in report["stages"])
    told = ", ".join(f"{count} {state}" for state, count in states.items())
    console.line(f"{ran} of {len(report['stages'])} stages run; now {told}")
    left = [
        [one["stage"], one["state"], one["reason"]] for one in report["stages"] if one["state"] != "fresh"
    ]
    if left:
        console.table("not done", ["stage", "state", "why"], left)
    show_rest(report, console)


def show_rest(report: Mapping[str, Any], console: Console) -> None:
    """Print cases, funnel and the next step."""
    cases = [*report["decisions"], *(case for one in report["stages"] for case in one["cases"])]
    shown = _few(cases)
    if shown:
        console.table("waiting", ["what", "how to go on"], [[one["message"], one["how"]] for one in shown])
    if len(shown) < len(cases):
        console.line(f"... and {len(cases) - len(shown)} more (--json lists all)")
    if report["funnel"]:
        steps = " → ".join(f"{one['step']} {one['count']:,}" for one in report["funnel"])
        console.line(f"items: {steps}" + ("" if report["reviewed"] else " (not reviewed)"))
    console.line(
        f"next: {report['next']}" if report["next"] else "complete: nothing waits (kina desk shows it)"
    )


def _few(cases: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    counts: dict[str, int] = {}
    found = []
    for case in cases:
        counts[case["kind"]] = counts.get(case["kind"], 0) + 1
        if counts[case["kind"]] <= CASES_SHOWN:
            found.append(case)
    return found
