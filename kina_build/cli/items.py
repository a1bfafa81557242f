"""`kina import`: questions in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli.check import check, collector_paused
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import SHOWN_FAULTS, UsageError

if TYPE_CHECKING:
    from kina_build.items.intake import ImportResult
    from kina_build.items.reject import Reject

Format = Literal["auto", "jsonl", "json", "csv", "tsv", "parquet", "arrow", "xlsx", "quiz"]
KeyWord = Literal["auto", "letter", "text", "index0", "index1"]

MAP_HELP = (
    "Read an item field from a column or a dotted path; 'options=A,B,C,D' takes several, 'verdict=' none. "
    "A file's name: one such line a line."
)
SET_HELP = "Give every row one value: --set field=law."


def import_(
    run: Run,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Question files, dataset folders.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The pool to write; '-' for stdout.")],
    format_: Annotated[Format, typer.Option("--format", help="Of the files; auto looks at them.")] = "auto",
    encoding: Annotated[str | None, typer.Option("--encoding", help="Of files that are not UTF-8.")] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Of CSV files; '\\t' for tab.")] = None,
    map_: Annotated[list[str] | None, typer.Option("--map", metavar="KEY=COLUMN", help=MAP_HELP)] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=SET_HELP)] = None,
    name_as: Annotated[
        str | None, typer.Option("--name-as", metavar="KEY", help="Item field that takes the file's name.")
    ] = None,
    cut_prefix: Annotated[str, typer.Option("--cut-prefix", help="Cut this off the file's name.")] = "",
    prefix_ids: Annotated[bool, typer.Option("--prefix-ids", help="Ids become FILE:ID.")] = False,
    key_form: Annotated[KeyWord, typer.Option("--key-form", help="How answer keys are written.")] = "auto",
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Write the good rows anyway.")] = False,
) -> None:
    """Read questions from JSON, JSON Lines, CSV, TSV, Parquet, xlsx, quizzes or a dataset folder into a pool.

    Quizzes are Aiken, GIFT and Moodle XML. Layouts of well-known sets are recognised.

    Nothing is guessed: "NA" and "001" stay text, keys and indices must be decidable, and
    each row that cannot be read is listed with its line and the reason. With rejects the
    exit code is 1, and nothing is written unless --keep-going is given.
    """
    from kina_build.items.intake import ImportOptions, read_all
    from kina_build.items.pool import write_pool

    rules = run.settings.items
    source = ImportOptions(
        format=format_,
        encoding=encoding,
        delimiter="\t" if delimiter in ("\\t", "tab") else delimiter,
        columns={**rules.columns, **_pairs("--map", _map_lines(map_))},
        constants={**rules.constants, **_pairs("--set", set_)},
        name_as=name_as,
        cut_prefix=cut_prefix,
        prefix_ids=prefix_ids,
        key_form=key_form,
    )
    params = {**source.__dict__, "keep_going": keep_going}
    stage = run.stage("import", inputs=files, outputs=[output], params=params, show=_show_import)
    if stage.up_to_date():
        return
    with collector_paused(), run.console.progress("reading") as progress:
        result = read_all(files, source, progress)
    report = _import_report(result)
    _tell_rejects(run.console, result)
    if result.rejects and not keep_going:
        run.console.warn(
            f"{len(result.rejects)} rejects: {output} is not written (--keep-going writes the rest)"
        )
        run.report(report, _show_import, exit_code=1)
        return
    write_pool(output, result.items)
    stage.finish(report, exit_code=1 if result.rejects else 0)


def _tell_rejects(console: Console, result: ImportResult) -> None:
    """Warn of rejects: one line for a fault that all rows of a file share, else a line for each."""
    shared = {one["file"]: one for one in result.detected["files"] if not one["items"] and one["rejects"] > 1}
    left: list[Reject] = []
    for file, rejects in _by_file(result.rejects).items():
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


def _by_file(rejects: Sequence[Reject]) -> dict[str, list[Reject]]:
    found: dict[str, list[Reject]] = {}
    for reject in rejects:
        found.setdefault(reject.file, []).append(reject)
    return found


def _import_report(result: ImportResult) -> dict[str, Any]:
    return {
        "items": len(result.items),
        "rejects": [reject.model_dump(exclude_none=True) for reject in result.rejects],
        "detected": dict(result.detected),
    }


def _show_import(report: dict[str, Any], console: Console) -> None:
    rejects = report["rejects"]
    console.line(f"{report['items']} items, {len(rejects)} rejects")
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


def _map_lines(given: Sequence[str] | None) -> list[str]:
    """Replace each file among --map's values by its lines FIELD=COLUMN; "#" begins a comment."""
    from kina_build.jsonl import read_text

    lines: list[str] = []
    for one in given or []:
        if "=" in one or not Path(one).is_file():
            lines.append(one)
        else:
            kept = (line.partition("#")[0].strip() for line in read_text(Path(one)).splitlines())
            lines += filter(None, kept)
    return lines


def _pairs(flag: str, given: Sequence[str] | None) -> dict[str, str]:
    """Split KEY=VALUE options."""
    pairs: dict[str, str] = {}
    for one in given or []:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} {one}: not of the form KEY=VALUE")
        pairs[key.strip()] = value
    return pairs


def register(app: typer.Typer) -> None:
    """Add the commands of questions."""
    command(app, "import", example="kina import questions.csv -o pool.jsonl")(import_)
    command(app, "check", example="kina check pool.jsonl --profile kina")(check)
