"""Scores or ratings of a pool made elsewhere, in parts: each row is dealt to the part of its item.

The file is read once, row by row; the rows of one part are in memory at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.config import SupportRules
from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.manifest import digest
from kina_build.rows.source import each
from kina_build.rows.tables import Row
from kina_build.support.anchors import Anchor
from kina_build.support.judge.agreement import Mark, compare_crossed, cross_marks, refuse_chance
from kina_build.support.judge.prompts import read_rating
from kina_build.support.judge.ratings import Pair, matrix_of_pairs, read_pair_scores
from kina_build.support.partition.dealing import Dealer, iter_json, iter_table, read_lines
from kina_build.support.partition.files import digest_partition, partition_name, write_partition
from kina_build.support.partition.pool import ITEM_BYTES, PartitionedPool, read_partition

BASE_BYTES = 200_000_000
"""Resident memory of the program."""
ROW_BYTES = 1500
"""Resident memory of one row of scores or ratings while its part is made."""


@dataclass(frozen=True)
class RatingPartition:
    """One part to be made, with all that shapes it."""

    path: Path
    digest: str
    pool: Path
    """Its items."""
    anchors: tuple[Anchor, ...]
    rows: Path
    """The rows about its items; no such file: there are none."""
    sources: tuple[Path, ...]
    """The files they came from."""
    rules: SupportRules


def plan_ratings(
    pool: PartitionedPool,
    anchors: Sequence[Anchor],
    sources: Path | Sequence[Path],
    *,
    rules: SupportRules = SupportRules(),
) -> Iterator[RatingPartition]:
    """Deal the rows of files out to the parts that `make_rating_partition` makes beside the pool's parts.

    Raises:
        InputError: a missing or empty file; rows with and without a score.
        RowErrors: lines that are no rows.
        Refusal: a judge agrees with no other better than by chance.
    """
    numbers = ("scale", "weighting", "stratum_mass")
    shape = [
        {number: getattr(rules, number) for number in numbers},
        [anchor.model_dump(mode="json") for anchor in anchors],
    ]
    dealt = deal_rows(sources, pool)
    refuse_chance(compare_dealt(dealt), rules)
    for number, (items, rows, ids) in enumerate(zip(pool.paths, dealt, pool.read_ids(), strict=True)):
        made_from = digest(rows).sha256 if rows.exists() else ""
        yield RatingPartition(
            path=items.with_name(partition_name(number)),
            digest=digest_partition([*shape, made_from], ids),
            pool=items,
            anchors=tuple(anchors),
            rows=rows,
            sources=tuple(each(sources)),
            rules=rules,
        )


def deal_rows(sources: Path | Sequence[Path], pool: PartitionedPool) -> tuple[Path, ...]:
    """Write each row of some tables to the file of its item's part; return the parts' files.

    Raises:
        InputError: a missing or empty file; rows with and without a score.
        RowErrors: lines that are no rows.
    """
    dealer = Dealer(pool.paths[0].parent, "rows", pool.firsts)
    first: dict[bool, Row] = {}
    for number, source in enumerate(each(sources)):
        rows = 0
        for row in iter_table(source):
            first.setdefault("score" in row.values, row)
            # whatever a JSON escape can bring goes in as it came out, and is judged with its part
            dealer.deal(str(row.values.get("item_id", "")), json.dumps(row.values), _place(number, row.line))
            rows += 1
        if not rows:
            raise InputError(f"{source}: no rows")
    dealer.put_down()
    if len(first) > 1:
        scored, bare = first[True], first[False]
        raise InputError(
            f"{bare.file}:{bare.line}: no score, but {scored.seen_from(bare)} has one",
            hint="a listed pair needs a score; leave the row out for support 0",
        )
    return dealer.paths


LINE_BITS = 40


def _place(source: int, line: int) -> int:
    """Fold the number of a file and a line of it into the one number that is kept of a dealt row."""
    return source << LINE_BITS | line


def compare_dealt(rows: Iterable[Path]) -> list[dict[str, Any]]:
    """Compare the judges of dealt rows, a part at a time; what is no rating is refused with its part."""
    return compare_crossed([cross_marks(_marks(path)) for path in rows if path.exists()])


def _marks(path: Path) -> Iterator[Mark]:
    for row in iter_json(path):
        item_id, anchor_id, judge = (row.values.get(name) for name in ("item_id", "anchor_id", "judge"))
        rating = read_rating(row.values.get("rating"))
        if judge is not None and rating is not None:
            yield (str(item_id), str(anchor_id)), str(judge), rating


def rating_item_bytes(rows: int, count: int, anchors: int) -> int:
    """Return what one of `count` items takes while its part is made: itself, its rows, its scores."""
    return ITEM_BYTES + ROW_BYTES * rows // count + 3 * 8 * anchors


def make_rating_partition(part: RatingPartition) -> None:
    """Lay one part's pairs out and write it.

    Raises:
        RowErrors: faulty rows, or rows about an item or anchor that is not given, on the lines
            of the file that they came from.
    """
    items = read_partition(part.pool)
    scores: dict[Pair, float] = {}
    if part.rows.exists():
        try:
            scores = read_pair_scores(part.rows, items, part.anchors)
        except RowErrors as error:
            raise _at_source(error, part) from None
    write_partition(part.path, matrix_of_pairs(items, part.anchors, scores, part.rules), part.digest)


def _at_source(error: RowErrors, part: RatingPartition) -> RowErrors:
    """Name the lines of the file that people know."""
    lines = read_lines(part.rows)
    faults = [
        RowFault(
            str(part.sources[lines[fault.line - 1] >> LINE_BITS]),
            lines[fault.line - 1] & (1 << LINE_BITS) - 1,
            re.sub(r"on line (\d+)", lambda match: f"on line {lines[int(match[1]) - 1]}", fault.message),
        )
        for fault in error.faults
    ]
    return RowErrors(faults, hint=error.hint)
