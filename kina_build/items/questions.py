"""Questions in, and checked: a pool is read strictly, all else is imported: files, rows, data frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kina_build.config import ItemRules
from kina_build.errors import UsageError
from kina_build.items.batches import count_processes
from kina_build.items.checking.lint import check
from kina_build.items.findings import Findings, select_rules
from kina_build.items.importing.assemble import draft_items
from kina_build.items.importing.files import Layout, read_all, read_items
from kina_build.items.importing.identity import assign_ids
from kina_build.items.importing.keycolumns import Reading, key_form
from kina_build.items.importing.rawfile import RawFile, RawRow, Reject
from kina_build.items.mending.patch import apply_patches, read_patches
from kina_build.items.model import Item
from kina_build.items.options import CheckOptions, ImportOptions
from kina_build.items.pool import Pool, read_pool
from kina_build.progress import Progress, collector_paused, silent
from kina_build.rows import strict
from kina_build.rows.jsonl import read_text
from kina_build.rows.source import STREAM, limits, open_source

IN_MEMORY = "rows"
"""What rejects call rows that come from no file."""
PLAIN = Layout()
"""Nothing is said of the files."""


def import_questions(
    options: ImportOptions, rules: ItemRules = ItemRules(), on_progress: Progress = silent
) -> Pool:
    """Import the files of `kina import`, and apply the patches that are given.

    Raises:
        InputError: a file cannot be read at all.
        UsageError: the options ask for a field or a column that does not exist.
    """
    pool = read_all(options.files, layout_of(options, rules), on_progress)
    if not options.patch:
        return pool
    patched = apply_patches(pool.items, read_patches(options.patch))
    return replace(
        pool, items=patched.items, rejects=(*pool.rejects, *patched.rejects), patched=patched.changed
    )


def check_questions(
    options: CheckOptions,
    rules: ItemRules = ItemRules(),
    on_progress: Progress = silent,
    add_gates: Callable[[Findings, ItemRules], Findings] | None = None,
    gates: Collection[str] = (),
) -> Findings:
    """Check a pool, or a file that is imported on the fly, as `kina check` does.

    Args:
        options: of the command.
        rules: numbers and severities.
        on_progress: told of items done.
        add_gates: adds the gates of a release under the profile "release": release.gates.add_gates.
        gates: their names.

    Raises:
        ConfigError: kina.toml names a rule that does not exist.
        InputError: the file cannot be read.
    """
    with collector_paused():
        items, rejects = read_pool_or_import(options.pool)
        pool = Pool(tuple(items), rejects)
        found = check(pool, options.profile, rules, on_progress, count_processes(len(items), rules))
        if options.profile == "release" and add_gates is not None:
            found = add_gates(found, rules)
    return select_rules(found, options.rule, options.not_, gates)


def layout_of(options: ImportOptions, rules: ItemRules = ItemRules()) -> Layout:
    """Return what options and settings say of the files; options win.

    Raises:
        UsageError: a mapping that is not of the form KEY=VALUE.
    """
    return Layout(
        format=options.format_,
        encoding=options.encoding,
        delimiter="\t" if options.delimiter in ("\\t", "tab") else options.delimiter,
        columns={**rules.columns, **read_map(options.map_)},
        constants={**rules.constants, **_pairs("--set", options.set_)},
        name_as=options.name_as,
        cut_prefix=options.cut_prefix,
        prefix_ids=options.prefix_ids or options.parallel,
        parallel=options.parallel,
        key_form=options.key_form,
        several_keys=options.several_keys,
    )


def read_questions(
    source: Path | str | Sequence[Path | str] | Iterable[Mapping[str, Any]] | Any, layout: Layout = PLAIN
) -> Pool:
    """Read questions from files, from rows, or from a data frame (pandas, polars).

    Args:
        source: a path or several, dictionaries, or a frame. A pool of `kina import` is read as it is.
        layout: what is known of foreign files; the rest is found out and stated in `detected`.

    Returns:
        The pool: its items, and the rows that could not be read, each with its place and the reason.

    Raises:
        InputError: a file cannot be read at all: missing, not decodable, no known layout.
        UsageError: the layout names a field or a column that does not exist.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        return Pool(tuple(read_pool(path))) if is_pool(path) else read_all([path], layout)
    given = _rows_of(source)
    if given and all(isinstance(one, str | Path) for one in given):
        return read_all([Path(one) for one in given], layout)
    file = RawFile(IN_MEMORY, tuple(RawRow(n, row) for n, row in enumerate(given, start=1)), (), {})
    reading = Reading(layout.columns, layout.constants, key_form(layout.key_form), layout.several_keys)
    drafts = draft_items(file, reading)
    items, repeated = assign_ids(drafts.drafts)
    return Pool(tuple(items), (*drafts.rejects, *repeated), dict(drafts.stated))


def read_pool_or_import(path: Path) -> tuple[list[Item], tuple[Reject, ...]]:
    """Read a pool strictly; import a file that is none, in its own order.

    Raises:
        InputError: as read_pool and read_items.
    """
    if is_pool(path):
        return read_pool(path), ()
    result = read_items(path)
    return list(result.items), result.rejects


def is_pool(path: Path) -> bool:
    """Tell whether a file is a pool already: its first row has an item_id and keyed options."""
    if path.is_dir():
        return False
    source = open_source(path)
    first = source.data.lstrip().partition(b"\n")[0]
    try:
        row = strict.parse_json(first.decode("utf-8-sig"), limits())
    except ValueError:
        return (source.suffix == ".jsonl" or path == STREAM) and b'"item_id"' in first
    return isinstance(row, dict) and "item_id" in row and "correct_answer" in row


def _rows_of(source: Any) -> list[Any]:
    if hasattr(source, "to_dicts"):  # polars
        return list(source.to_dicts())
    return list(source.to_dict("records") if hasattr(source, "to_dict") else source)


def read_map(given: Sequence[str]) -> dict[str, str]:
    """Read --map: item field to column, from KEY=COLUMN or files of such lines.

    Raises:
        UsageError: one has another form.
    """
    return _pairs("--map", _map_lines(given))


def _map_lines(given: Sequence[str]) -> list[str]:
    """Replace each file among --map's values by its lines FIELD=COLUMN; "#" begins a comment."""
    lines: list[str] = []
    for one in given:
        if "=" in one or not Path(one).is_file():
            lines.append(one)
        else:
            kept = (line.partition("#")[0].strip() for line in read_text(Path(one)).splitlines())
            lines += filter(None, kept)
    return lines


def _pairs(flag: str, given: Sequence[str]) -> dict[str, str]:
    """Split KEY=VALUE options.

    Raises:
        UsageError: one has another form.
    """
    pairs: dict[str, str] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} {one}: not of the form KEY=VALUE")
        pairs[key.strip()] = value
    return pairs
