"""`kina import`, `check` and `fix`: questions in, what is wrong with them, and what mends itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.errors import SHOWN_FAULTS, UsageError
from kina_build.items.options import CheckOptions, FixOptions, ImportOptions

if TYPE_CHECKING:
    from kina_build.items.importing.rawfile import Reject
    from kina_build.items.pool import Pool

SEVERITIES = ("error", "warning", "info")


def import_(run: Run, options: ImportOptions) -> None:
    """Read questions from JSON, JSON Lines, CSV, TSV, Parquet, xlsx, quizzes or a dataset folder into a pool.

    Quizzes are Aiken, GIFT and Moodle XML. Layouts of well-known sets are recognised.

    Nothing is guessed: "NA" and "001" stay text, keys and indices must be decidable, and
    each row that cannot be read is listed with its line and the reason. With rejects the
    exit code is 1, and nothing is written unless --keep-going is given.
    """
    from kina_build.items.questions import import_questions, layout_of

    rules = run.settings.items
    layout = layout_of(options, rules)
    params = {"columns": dict(layout.columns), "constants": dict(layout.constants)}
    stage = run.start("import", options, params=params, show=_show_import)
    if stage.up_to_date():
        return
    with run.console.progress("reading") as progress:
        pool = import_questions(options, rules, progress)
    _tell_rejects(run.console, pool)
    if pool.rejects and not options.keep_going:
        run.console.warn(
            f"{len(pool.rejects)} rejects: {options.output} is not written (--keep-going writes the rest)"
        )
        run.report(pool.report, _show_import, exit_code=1)
        return
    pool.write(options.output)
    stage.finish(pool.report, exit_code=1 if pool.rejects else 0)


def check(run: Run, options: CheckOptions) -> None:
    """Find what is wrong with items: keys, equal options, lost text, LaTeX, surface cues.

    Leaves with 1 when a rule of severity error fires. A file that is no pool is imported
    on the fly, and its rejects are listed among the findings. Severities can be changed
    in kina.toml: [items.severity] missing_media = "off". docs/rules.md lists all rules.
    """
    from kina_build.items.checking.rulebook import need_rules
    from kina_build.release.gates import GATES

    rules = run.settings.items
    for option, names in (("--rule", options.rule), ("--not", options.not_)):
        need_rules([name for name in names if name not in GATES], option, UsageError)
    stage = run.start("check", options, params={"items": rules.shaping}, show=_show_check)
    if stage.up_to_date():
        return
    from kina_build.items.questions import check_questions
    from kina_build.release.gates import add_gates

    with run.console.progress("checking") as progress:
        found = check_questions(options, rules, progress, add_gates, GATES)
    report = found.report
    if options.output:
        found.write(options.output)
    if options.keep:
        report["summary"]["kept"] = found.keep(options.keep)
    stage.finish(report, exit_code=1 if found.errors else 0)


def fix(run: Run, options: FixOptions) -> None:
    """Write patches that mend items without judgment: entities, blanks at the ends, Unicode.

    A patch names an item, the digest of its text, and each field's old and new text with the
    reason. It is made only where the item then breaks no rule of `kina check` that it did not
    break before. Patches are added to the file; `kina import --patch` applies them, again after
    every re-import, and refuses an item whose text has changed.

    With --item and --set a person patches one item: a new key must name the explanation too.
    With --accept the patch is the one that `kina repair` proposed for --item.
    """
    from kina_build.items.mending.fixes import fix as make_fixes
    from kina_build.repair.mend import accept

    stage = run.start("fix", options, show=_show_fix)
    fixes = accept(options) if options.accept else make_fixes(options, run.settings.items)
    if fixes.patches and not options.dry_run:
        fixes.add_to(options.output)
    stage.finish(fixes.report)


def _show_fix(report: dict[str, Any], console: Console) -> None:
    console.line(f"{len(report['patches'])} of {report['items']} items patched")
    if report["earlier"]:
        console.line(f"{report['earlier']} earlier patches stay")
    if report["by_reason"]:
        console.table("changes", ["reason", "fields"], [list(pair) for pair in report["by_reason"].items()])


def _tell_rejects(console: Console, pool: Pool) -> None:
    """Warn of rejects: one line for a fault that all rows of a file share, else a line for each."""
    shared = {one["file"]: one for one in pool.detected["files"] if not one["items"] and one["rejects"] > 1}
    left: list[Reject] = []
    for file, rejects in _by_file(pool.rejects).items():
        if file in shared and len({reject.reason for reject in rejects}) == 1:
            cure = shared[file].get("proposed")
            console.warn(
                f"{rejects[0]}; so with all {len(rejects)} rows"
                + (f"; perhaps: kina import {file} {cure}" if cure else "")
            )
        else:
            left += rejects
    for reject in left[:SHOWN_FAULTS]:
        console.warn(str(reject))
    if len(left) > SHOWN_FAULTS:
        console.say(f"... and {len(left) - SHOWN_FAULTS} more rejects (--json lists all)")
    for one in pool.detected["files"]:
        if one["items"] and one.get("proposed"):
            console.warn(
                f"most rows can be read by one column alone: kina import {one['file']} {one['proposed']}"
            )


def _by_file(rejects: Sequence[Reject]) -> dict[str, list[Reject]]:
    found: dict[str, list[Reject]] = {}
    for reject in rejects:
        found.setdefault(reject.file, []).append(reject)
    return found


def _show_import(report: dict[str, Any], console: Console) -> None:
    rejects = report["rejects"]
    patched = f", {report['patched']} patched" if "patched" in report else ""
    console.line(f"{report['items']} items, {len(rejects)} rejects{patched}")
    columns = ["file", "format", "encoding", "delimiter", "key", "items", "rejects"]
    rows = [
        [one.get(name) if name != "key" else _key_words(one) for name in columns]
        for one in report["detected"]["files"]
    ]
    console.table("files", columns, rows)
    for one in report["detected"]["files"]:
        if one["unread"]:
            console.line(
                f"{one['file']}: texts left unread (in metadata): {', '.join(one['unread'])}; "
                f"as the passage: --map question_material={one['unread'][0]}"
            )
    if rejects:
        counts = Counter(reject["reason"] for reject in rejects)
        console.table("rejects", ["reason", "rows"], [list(pair) for pair in counts.most_common()])


def _key_words(file: dict[str, Any]) -> str:
    return ", ".join(f"{column}: {form}" for column, form in file["keys"].items())


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


def register(app: typer.Typer) -> None:
    """Add the commands of questions."""
    command(app, "import", example="kina import questions.csv -o pool.jsonl")(import_)
    command(app, "check", example="kina check pool.jsonl --profile kina")(check)
    command(app, "fix", example="kina fix pool.jsonl -o patches.jsonl")(fix)
