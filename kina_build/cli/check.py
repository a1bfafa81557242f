"""`kina check`: what is wrong with questions."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli import options
from kina_build.cli.command import Run
from kina_build.cli.console import Console
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.config import ItemRules
    from kina_build.items.findings import Finding
    from kina_build.items.model import Item

Profile = Literal["generic", "kina", "release"]

SEVERITIES = ("error", "warning", "info")
PROFILE_HELP = "Which rules count, how much; release adds the gates of `kina export`."


def check(
    run: Run,
    pool: options.Pool,
    *,
    profile: Annotated[Profile, typer.Option("--profile", help=PROFILE_HELP)] = "generic",
    rule: Annotated[list[str] | None, typer.Option("--rule", help="Look at these rules only.")] = None,
    not_: Annotated[list[str] | None, typer.Option("--not", metavar="RULE", help="Leave a rule out.")] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Write the items without errors as a pool.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the findings as JSON Lines.")
    ] = None,
) -> None:
    """Find what is wrong with items: keys, equal options, lost text, LaTeX, surface cues.

    Leaves with 1 when a rule of severity error fires. A file that is no pool is imported
    on the fly, and its rejects are listed among the findings. Severities can be changed
    in kina.toml: [items.severity] missing_media = "off". docs/rules.md lists all rules.
    """
    from kina_build.items.rulebook import RULES, need_rules
    from kina_build.release.gates import GATES

    rules = run.settings.items
    for option, names in (("--rule", rule), ("--not", not_)):
        need_rules([name for name in names or () if name not in GATES], option, UsageError)
    chosen = frozenset(rule or RULES.keys() | GATES.keys()) - frozenset(not_ or ())
    params = {"profile": profile, "rule": sorted(rule or ()), "not": sorted(not_ or ()), "keep": bool(keep)}
    stage = run.stage(
        "check",
        inputs=[pool],
        outputs=[path for path in (output, keep) if path],
        params={**params, "items": rules.shaping},
        show=_show_check,
    )
    if stage.up_to_date():
        return
    from kina_build.items.intake import read_pool_or_import
    from kina_build.items.lint import check_rejects, inspect, items_at_fault, summarise
    from kina_build.items.pool import write_pool
    from kina_build.items.workers import count_processes
    from kina_build.jsonl import write_records

    with collector_paused(), run.console.progress("checking") as progress:
        items, rejects = read_pool_or_import(pool)
        base = "generic" if profile == "release" else profile
        inspection = inspect(items, base, rules, progress, count_processes(len(items), rules))
    findings: Sequence[Finding] = inspection.findings
    if profile == "release":
        findings = _with_gates(items, findings, rules)
    found = tuple(finding for finding in findings if finding.rule in chosen)
    inspection = replace(inspection, findings=(*check_rejects(rejects), *found))
    report: dict[str, Any] = {
        "findings": [finding.model_dump() for finding in inspection.findings],
        "summary": {"profile": profile, **summarise(items, inspection)},
    }
    if output:
        write_records(output, inspection.findings)
    if keep:
        at_fault = items_at_fault(found)
        kept = [item for item in items if item.item_id not in at_fault]
        report["summary"]["kept"] = write_pool(keep, kept)
    stage.finish(report, exit_code=1 if report["summary"]["errors"] else 0)


def _with_gates(items: Sequence[Item], found: Sequence[Finding], rules: ItemRules) -> list[Finding]:
    """Run the gates of an export over a pool: they take the place of findings by the same rules.

    The letters of the keys are not looked at, since an export draws them anew.
    """
    from kina_build.items.findings import POOL, Finding
    from kina_build.release.gates import Draft, find_faults

    faults = [fault for fault in find_faults(Draft({"pool": items}), rules) if fault.rule != "key_position"]
    stopping = {fault.rule for fault in faults}
    gates = [
        Finding(item_id=item_id, rule=fault.rule, severity="error", field="release", message=message)
        for fault in faults
        for item_id, message in (fault.items or {POOL: fault.message}).items()
    ]
    left = [finding for finding in found if finding.rule not in stopping | {"key_position"}]
    return sorted([*left, *gates], key=lambda one: (one.item_id != POOL, one.item_id, one.rule, one.field))


def _show_check(report: dict[str, Any], console: Console) -> None:
    summary, findings = report["summary"], report["findings"]
    console.line(
        f"{summary['items']} items: {summary['errors']} errors, {summary['warnings']} warnings, "
        f"{summary['infos']} notes (profile {summary['profile']})"
    )
    if "kept" in summary:
        console.line(f"{summary['kept']} items without errors kept")
    if summary["chance"] is not None:
        console.line(f"chance level {summary['chance']:.1%}")
    if not findings:
        console.line("nothing found")
        return
    first: dict[str, dict[str, Any]] = {}
    for finding in findings:
        first.setdefault(finding["rule"], finding)
    ordered = sorted(first.values(), key=lambda one: (SEVERITIES.index(one["severity"]), one["rule"]))
    rows = [
        [one["severity"], one["rule"], summary["by_rule"][one["rule"]], one["item_id"], one["message"]]
        for one in ordered
    ]
    console.table("findings", ["severity", "rule", "count", "first item", "what"], rows)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python's collector from walking a million live options again and again; none form cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
