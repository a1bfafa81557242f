"""The reference bank behind `kina support --method bank`, and the sheets people label for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.errors import RowErrors, UsageError
from kina_build.items.model import Item
from kina_build.rows.jsonl import write_records
from kina_build.rows.outputs import make_folder
from kina_build.rows.tables import need_rows, write_csv
from kina_build.support.anchors import Anchor
from kina_build.support.bank.labels import (
    ITEM_COLUMNS,
    PAIR_COLUMNS,
    deal_sheet,
    draw_item_sheet,
    draw_pair_sheet,
    read_item_labels,
    read_pair_labels,
)
from kina_build.support.bank.listing import BankSupport
from kina_build.support.bank.reference import Reread, support_by_bank
from kina_build.support.bank.signatures import Signature, ask_signatures, read_signatures, reread_alignment
from kina_build.support.embedding import item_text
from kina_build.support.judge.calls import asking
from kina_build.support.judge.pairs import split_judge
from kina_build.support.options import SupportOptions
from kina_build.support.setup import Outcome, Setup, load_embedder

DIFFICULTY = "difficulty"
"""Key of an item's metadata, and column, that holds the share of models that are wrong."""


def score_by_bank(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score the shortlist of each domain against its reference bank.

    Raises:
        UsageError: no labels are given.
    """
    options, rules = setup.options, setup.rules
    if not options.item_labels or not options.pair_labels:
        raise UsageError("--method bank needs --item-labels FILE and --pair-labels FILE")
    ids = {item.item_id for item in items}
    known = ids | {anchor.anchor_id for anchor in anchors}
    item_labels = read_item_labels(options.item_labels, ids)
    pair_labels = read_pair_labels(options.pair_labels, known)
    difficulty = read_difficulties(items, options.difficulty)
    embed, revision = load_embedder(setup)
    with _signing(setup) as (sign, reread):
        found = support_by_bank(
            items,
            anchors,
            item_labels=item_labels,
            pair_labels=pair_labels,
            embed=embed,
            signatures=sign(items),
            difficulty=difficulty,
            recheck=(options.recheck, reread) if options.recheck and reread else None,
            rules=rules,
            seed=options.seed,
        )
    bounded = (rules.difficulty_least, rules.difficulty_most) != (0, 1)
    unknown = len(ids - difficulty.keys()) if bounded else 0
    return Outcome(
        found.matrix,
        found.report
        | {"seed": options.seed, "conflicts": len(found.conflicts.pairs), "unknown_difficulty": unknown},
        models={setup.encoder: revision},
        write_more=partial(_write_more, options, found),
    )


def _write_more(options: SupportOptions, found: BankSupport) -> None:
    if options.details:
        write_records(options.details, found.rows)
    if options.save_conflicts:
        found.conflicts.write(options.save_conflicts)


Sign = Callable[[Sequence[Item]], Mapping[str, Signature]]


@contextmanager
def _signing(setup: Setup) -> Iterator[tuple[Sign, Reread | None]]:
    """Give what finds signatures: a file, or a model; without either they are derived later.

    Beside it stands what reads the alignment of uncertain items again: the second judge, or a second
    reading by the first; none without a judge.
    """
    options, rules = setup.options, setup.rules
    if options.signatures:
        yield lambda _: read_signatures(options.signatures) if options.signatures else {}, None
    elif options.judge:
        first, *second = options.judge
        model, reading = split_judge(first)
        other = second[0] if second else f"{model}#{reading + 2}"
        with asking(setup, "signatures") as ask:
            yield (
                lambda items: {one.item_id: one for one in ask_signatures(items, first, ask, rules)},
                lambda items: reread_alignment(items, other, ask, rules),
            )
    else:
        yield lambda _: {}, None


def read_difficulties(items: Sequence[Item], path: Path | None) -> dict[str, float]:
    """Return the share of models that are wrong by item: from a file, else from the items' metadata.

    Raises:
        InputError: missing or empty file.
        RowErrors: a row without an item or a share, or an item on two rows.
    """
    if path is None:
        found = {item.item_id: share_of(item.metadata.get(DIFFICULTY)) for item in items}
        return {item_id: share for item_id, share in found.items() if share is not None}
    given: dict[str, float] = {}
    faults = []
    for row in need_rows(path):
        item_id, right = str(row.values.get("item_id") or "").strip(), share_of(row.values.get("p"))
        wrong = 1 - right if right is not None else share_of(row.values.get(DIFFICULTY))
        if not item_id or wrong is None:
            faults.append(
                row.fault("needs an item_id and a share from 0 to 1: p (right) or difficulty (wrong)")
            )
        elif given.setdefault(item_id, wrong) != wrong:
            faults.append(row.fault(f"{item_id!r} stands on an earlier row too"))
    if faults:
        raise RowErrors(faults, hint="`kina difficulty` writes them")
    return given


def share_of(value: object) -> float | None:
    """Read a share from 0 to 1; None for anything else, such as "hard"."""
    try:
        number = float(value) if isinstance(value, int | float | str) and value is not True else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number <= 1 else None


def draw_sheets(setup: Setup, items: Sequence[Item], folder: Path) -> dict[str, Any]:
    """Write items.csv and pairs.csv for people to label; return what was drawn."""
    options, rules = setup.options, setup.rules
    ordered = sorted(items, key=lambda item: item.item_id)
    rng = np.random.default_rng(options.seed)
    embed, _ = load_embedder(setup)
    vectors = embed([item_text(item) for item in ordered])
    drawn = {
        "items": (ITEM_COLUMNS, draw_item_sheet(ordered, rules, rng)),
        "pairs": (PAIR_COLUMNS, draw_pair_sheet(ordered, vectors, rules, rng)),
    }
    make_folder(folder)
    files = []
    for name, (columns, rows) in drawn.items():
        sheets = deal_sheet(rows, options.experts, rules, rng) if options.experts > 1 else [rows]
        for number, sheet in enumerate(sheets, start=1):
            files.append(f"{name}-{number}.csv" if options.experts > 1 else f"{name}.csv")
            write_csv(folder / files[-1], columns, sheet)
    return {name: len(rows) for name, (_, rows) in drawn.items()} | {"files": files}
