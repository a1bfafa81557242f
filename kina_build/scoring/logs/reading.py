"""Find out which tool wrote a file, and read files and folders of them into logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kina_build.errors import InputError
from kina_build.rows.jsonl import decode
from kina_build.rows.kinds import reading_as
from kina_build.rows.source import Source, limits, open_source
from kina_build.rows.strict import JsonFault, parse_json
from kina_build.rows.tables import PARQUET, Row, read_table
from kina_build.scoring.logs import harness_logs as harness
from kina_build.scoring.logs import inspect_logs as inspect
from kina_build.scoring.logs import published_logs as published
from kina_build.scoring.logs import table_logs as tables
from kina_build.scoring.logs.harness_logs import Wanted
from kina_build.scoring.logs.trials import Log

SUFFIXES = {".eval", ".json", ".jsonl", ".ndjson", ".parquet", ".csv", ".tsv"}
"""Files that are looked at in a folder."""

HELM_FILES = ("per_instance_stats.json", "display_predictions.json", "run_spec.json", "stats.json")

KINDS = (
    "Inspect .eval and .json, lm-evaluation-harness samples_*.jsonl with results_*.json, lighteval details "
    "with results, HELM run folders, Every Eval Ever, MMLU-Pro eval_results, KINA's runner, and CSV matrices"
)


@dataclass
class _Found:
    """What the files hold, before tables of one run are brought together."""

    logs: list[Log] = field(default_factory=list)
    lm_eval: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)
    lighteval: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)
    eee: list[Mapping[str, Any]] = field(default_factory=list)
    tables: list[tuple[Path, list[Row]]] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    """Files of a folder that are none of these."""


def read_logs(paths: Sequence[Path], wanted: Wanted | None = None) -> tuple[list[Log], list[str]]:
    """Read files and folders of logs.

    Args:
        paths: files, or folders all of whose files are looked at.
        wanted: model, metric, filter, questions.

    Returns:
        The logs, sorted by model, task and tool; and the files of folders that were passed over.

    Raises:
        InputError: a file of none of the kinds, or no log at all.
        RowErrors: rows that do not fit their kind.
    """
    found, wanted = _Found(), wanted or Wanted()
    for path in paths:
        if path.is_dir():
            _look_into(path, found, wanted)
        elif not _take(path, found, wanted):
            raise InputError(f"{path}: a log of no kind that is known", hint=f"known are {KINDS}")
    for path, rows in found.tables:
        with reading_as(str(path), "a log"):
            found.logs += [replace(log, source=str(path)) for log in _read_rows(path, rows, found, wanted)]
    if not found.logs:
        raise InputError(
            "; ".join(map(str, paths)) + ": no log with scores by item", hint=f"known are {KINDS}"
        )
    ordered = sorted(found.logs, key=lambda log: (log.model, log.task, log.tool))
    return ordered, found.passed_over


def _look_into(folder: Path, found: _Found, wanted: Wanted) -> None:
    for one in sorted(folder.rglob("*")):
        if one.name == "per_instance_stats.json" and one.is_file():
            found.logs.append(_read_helm(one.parent, wanted))
    for path in sorted(folder.rglob("*")):
        in_helm = (path.parent / "per_instance_stats.json").exists()
        if not path.is_file() or path.suffix.lower() not in SUFFIXES or in_helm:
            continue
        if not _take(path, found, wanted):
            found.passed_over.append(str(path.relative_to(folder)))


def _read_helm(folder: Path, wanted: Wanted) -> Log:
    documents = {name: _parse(open_source(folder / name)) for name in HELM_FILES if (folder / name).is_file()}
    stats = documents["per_instance_stats.json"]
    if not published.is_instance_stats(stats):
        raise InputError(f"{folder / HELM_FILES[0]}: no stats by instance of HELM")
    with reading_as(str(folder), "a run of HELM"):
        return replace(published.read_helm(stats, folder.name, documents, wanted), source=str(folder))


def _take(path: Path, found: _Found, wanted: Wanted) -> bool:
    """Take a file's content; False where it is of no kind that is known."""
    source = open_source(path)
    if source.data.startswith(inspect.ZIP):
        _add_inspect(inspect.read_eval(source), source.name, found, wanted)
        return True
    if source.data.startswith(PARQUET) or source.suffix not in (".json", ""):
        return _take_table(path, found)
    document = _parse(source, lenient=True)
    if document is None:
        return _take_table(path, found)
    return _take_document(document, source.name, path, found, wanted) or (
        isinstance(document, list) and _take_table(path, found)
    )


def _take_document(document: Any, name: str, path: Path, found: _Found, wanted: Wanted) -> bool:
    if inspect.is_log(document):
        _add_inspect(document, name, found, wanted)
    elif harness.is_results(document):
        found.lm_eval.append((path, document))
    elif harness.is_light_results(document):
        found.lighteval.append((path, document))
    elif published.is_eee_aggregate(document):
        found.eee.append(document)
    elif published.is_instance_stats(document):
        with reading_as(name, "stats of HELM"):
            found.logs.append(replace(published.read_helm(document, name, {}, wanted), source=name))
    else:
        return False
    return True


def _add_inspect(document: Mapping[str, Any], name: str, found: _Found, wanted: Wanted) -> None:
    with reading_as(name, "a log of Inspect"):
        found.logs.append(replace(inspect.read_log(document, name, wanted.metric), source=name))


def _take_table(path: Path, found: _Found) -> bool:
    rows = read_table(path)
    known = (
        harness.is_samples(rows)
        or harness.is_details(rows)
        or published.is_eee_rows(rows)
        or tables.is_mmlu_pro(rows)
        or tables.is_runner(rows)
        or (bool(rows) and tables.is_matrix(rows))
    )
    if known:
        found.tables.append((path, rows))
    return known


def _read_rows(path: Path, rows: list[Row], found: _Found, wanted: Wanted) -> Iterable[Log]:
    name = str(path)
    if harness.is_samples(rows):
        return [harness.read_samples(rows, name.removesuffix(".jsonl"), _beside(path, found.lm_eval), wanted)]
    if harness.is_details(rows):
        return [harness.read_details(rows, name, _beside(path, found.lighteval), wanted)]
    if published.is_eee_rows(rows):
        return published.read_eee(rows, found.eee)
    if tables.is_mmlu_pro(rows):
        return [tables.read_mmlu_pro(rows, name, wanted)]
    if tables.is_runner(rows):
        return tables.read_runner(path, wanted.model)
    return tables.read_matrix(rows, name)


def _beside(path: Path, results: Sequence[tuple[Path, Mapping[str, Any]]]) -> Mapping[str, Any] | None:
    """Return the results of the run that a table belongs to: those with its time in their name.

    Where none was given, files beside it are looked at. Both tools write the time of a run at the
    end of a name, behind an underscore.
    """
    moment = path.stem.rpartition("_")[2]
    same = [document for other, document in results if other.stem.rpartition("_")[2] == moment]
    near = [document for other, document in results if other.parent == path.parent]
    if same or len(near) == 1:
        return (same or near)[0]
    return next(_neighbours(path, moment), None)


def _neighbours(path: Path, moment: str) -> Iterator[Mapping[str, Any]]:
    for other in sorted(path.parent.glob(f"results_*{moment}.json")):
        document = _parse(open_source(other), lenient=True)
        if harness.is_results(document) or harness.is_light_results(document):
            yield document


def _parse(source: Source, *, lenient: bool = False) -> Any:
    """Parse a JSON document; None where it is none and that may be.

    Raises:
        InputError: no JSON.
    """
    try:
        return parse_json(decode(source), limits())
    except JsonFault as fault:
        if lenient:
            return None
        raise InputError(f"{source.name}: not a JSON document: {fault}") from None
