"""Scores or ratings of a pool made elsewhere, in parts: each row is dealt to the part of its item.

The file is read once, row by row; the rows of one part are in memory at a time.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kina_build.config import SupportRules
from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.model import Item
from kina_build.manifest import digest
from kina_build.support.anchors import Anchor
from kina_build.support.partfiles import cut_items, digest_part, part_name, write_part
from kina_build.support.ratings import Pair, matrix_of_pairs, read_pair_scores
from kina_build.support.rowstream import iter_table
from kina_build.tables import Row

ROWS_AT_ONCE = 200_000
"""Rows held before they are written to their parts' files."""


@dataclass(frozen=True)
class RatingPart:
    """One part to be made, with all that shapes it."""

    path: Path
    digest: str
    items: tuple[Item, ...]
    anchors: tuple[Anchor, ...]
    rows: Path
    """The rows about its items; no such file: there are none."""
    source: Path
    """The file they came from."""
    rules: SupportRules


def plan_ratings(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    source: Path,
    *,
    folder: Path,
    rules: SupportRules = SupportRules(),
) -> Iterator[RatingPart]:
    """Deal a file's rows out to the parts that `make_rating_part` makes in a folder.

    Raises:
        InputError: two items with one id; a missing file; rows with and without a score.
        RowErrors: rows that are no rows, or about an item that the pool does not have.
    """
    parts = list(cut_items(items, rules.part_items))
    deal_rows(source, parts, folder)
    numbers = ("scale", "weighting", "stratum_mass")
    shape = [
        {number: getattr(rules, number) for number in numbers},
        [anchor.model_dump(mode="json") for anchor in anchors],
    ]
    for number, part in enumerate(parts):
        rows = _rows_file(folder, number)
        made_from = digest(rows).sha256 if rows.exists() else ""
        stamp = digest_part([*shape, made_from], (item.item_id for item in part))
        yield RatingPart(
            folder / part_name(number), stamp, part, tuple(anchors), rows, source=source, rules=rules
        )


def deal_rows(source: Path, parts: Sequence[Sequence[Item]], folder: Path) -> None:
    """Write each row of a table to the file of its item's part, and the lines they stood on beside it.

    Raises:
        InputError: a missing file, or rows with and without a score.
        RowErrors: rows that are no rows, or about an item that no part has.
    """
    for old in folder.glob("rows-*"):
        old.unlink()
    known = {item.item_id for part in parts for item in part}
    firsts = [part[0].item_id for part in parts]
    waiting: dict[int, list[Row]] = defaultdict(list)
    faults: list[RowFault] = []
    without: dict[bool, int] = {}
    for count, row in enumerate(iter_table(source), start=1):
        without.setdefault("score" not in row.values, row.line)
        item_id = str(row.values.get("item_id", firsts[0]))
        if item_id not in known:
            faults.append(
                RowFault(str(source), row.line, f"item_id: {item_id!r} is not in the file of items")
            )
        waiting[max(0, bisect_right(firsts, item_id) - 1)].append(row)
        if count % ROWS_AT_ONCE == 0:
            _put_down(waiting, folder)
    _put_down(waiting, folder)
    if not without:
        raise InputError(f"{source}: no rows")
    if faults:
        raise RowErrors(faults, hint="the ids must be those of the pool and of the anchors")
    if len(without) > 1:
        raise InputError(
            f"{source}:{without[True]}: no score, but line {without[False]} has one",
            hint="a listed pair needs a score; leave the row out for support 0",
        )


def make_rating_part(part: RatingPart) -> None:
    """Lay one part's pairs out and write it.

    Raises:
        RowErrors: faulty rows, on the lines of the file that they came from.
    """
    scores: dict[Pair, float] = {}
    if part.rows.exists():
        try:
            scores = read_pair_scores(part.rows, part.items, part.anchors)
        except RowErrors as error:
            raise _at_source(error, part) from None
    write_part(part.path, matrix_of_pairs(part.items, part.anchors, scores, part.rules), part.digest)


def _rows_file(folder: Path, number: int) -> Path:
    return folder / f"rows-{number:05}.jsonl"


def _put_down(waiting: dict[int, list[Row]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in waiting.items():
        path = _rows_file(folder, number)
        with path.open("ab") as out:
            # whatever a JSON escape can bring goes in as it came out, and is judged with its part
            out.write("".join(json.dumps(row.values) + "\n" for row in rows).encode())
        with path.with_suffix(".lines").open("ab") as out:
            out.write(np.array([row.line for row in rows], dtype="<i8").tobytes())
    waiting.clear()


def _at_source(error: RowErrors, part: RatingPart) -> RowErrors:
    """Name the lines of the file that people know."""
    lines = np.fromfile(part.rows.with_suffix(".lines"), dtype="<i8").tolist()
    faults = [
        RowFault(
            str(part.source),
            lines[fault.line - 1],
            re.sub(r"on line (\d+)", lambda match: f"on line {lines[int(match[1]) - 1]}", fault.message),
        )
        for fault in error.faults
    ]
    return RowErrors(faults, hint=error.hint)
