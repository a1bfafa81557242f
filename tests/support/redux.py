"""A domain of MMLU-Redux as a pool, with labels made from its error labels and subjects."""

from __future__ import annotations

import ast
import csv
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.text import fold_stem
from kina_build.support.anchors import Anchor
from kina_build.support.bank.labels import ItemLabel, PairLabel
from kina_build.support.embedding import item_text

MEDICINE = ("anatomy", "clinical_knowledge", "college_medicine", "virology")
"""Two of them share 19 questions; the annotators found errors in many of virology's."""


@dataclass(frozen=True)
class Redux:
    """A pool of one domain, its held-out reference anchors, and what the annotators say."""

    items: tuple[Item, ...]
    anchors: tuple[Anchor, ...]
    sound: dict[str, bool]
    """Item to: its annotators found no error."""


def read_redux(
    shared: Path, subjects: tuple[str, ...] = MEDICINE, domain: str = "medicine", most: int = 100
) -> Redux:
    """Read subjects as strata of one domain, at most so many rows of each.

    The first sound item of each subject becomes an anchor.
    """
    items: list[Item] = []
    anchors: list[Anchor] = []
    sound: dict[str, bool] = {}
    for subject in subjects:
        text = (shared / "mcq" / "mmlu_redux" / f"mmlu_{subject}.csv").read_text(encoding="utf-8-sig")
        delimiter = ";" if text.startswith("question;") else ","
        rows = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
        for number, row in enumerate(islice(rows, most)):
            item = _item(f"{subject}-{number:03}", row, subject, domain)
            is_sound = row["error_type"].strip().lower() == "ok"
            if is_sound and not any(anchor.stratum == subject for anchor in anchors):
                statement = item_text(item)
                anchors.append(
                    Anchor(
                        anchor_id=f"ref-{subject}",
                        domain=domain,
                        kind="item",
                        statement=statement,
                        stratum=subject,
                    )
                )
            else:
                items.append(item)
                sound[item.item_id] = is_sound
    return Redux(tuple(items), tuple(anchors), sound)


def draw_item_labels(redux: Redux, count: int, seed: int) -> list[ItemLabel]:
    """Draw items and label them by the annotators' verdict."""
    rng = np.random.default_rng(seed)
    picked = rng.choice(sorted(redux.sound), size=count, replace=False)
    return [ItemLabel(item_id=str(name), aligned=redux.sound[str(name)]) for name in picked]


def draw_pair_labels(redux: Redux, count: int, seed: int, copies: int = 10) -> list[PairLabel]:
    """Draw pairs: some copies, the rest half of one subject, half of two."""
    rng = np.random.default_rng(seed)
    by_stem: dict[str, list[Item]] = {}
    for item in redux.items:
        by_stem.setdefault(essence(item), []).append(item)
    twins = [group[:2] for stem, group in sorted(by_stem.items()) if len(group) > 1]
    picked = [tuple(twins[i]) for i in rng.permutation(len(twins))[:copies]]
    pairs = {(one.item_id, two.item_id): (True, True) for one, two in picked}
    while len(pairs) < count:
        one, two = (redux.items[int(i)] for i in rng.choice(len(redux.items), size=2, replace=False))
        same = one.subfield == two.subfield
        if same == (len(pairs) % 2 == 0) and essence(one) != essence(two):
            pairs[one.item_id, two.item_id] = (same, False)
    return [
        PairLabel(item_id=one, other_id=two, support=support, duplicate=duplicate)
        for (one, two), (support, duplicate) in pairs.items()
    ]


def essence(item: Item) -> str:
    """Return what makes an item a copy of another: its stem and its right answer."""
    return fold_stem(f"{item.question} {item.correct_text}")


def _item(item_id: str, row: dict[str, str], subject: str, domain: str) -> Item:
    options = ast.literal_eval(row["choices"])
    return Item(
        item_id=item_id,
        field=domain,
        subfield=subject,
        question=row["question"],
        options=tuple(Option(key=k, answer=str(o)) for k, o in zip(LETTERS, options, strict=False)),
        correct_answer=LETTERS[int(row["answer"])],
        question_source=row["source"] or None,
    )
