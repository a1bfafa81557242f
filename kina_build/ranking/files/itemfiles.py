"""Item files as a ranking needs them: keys, items to rank on, clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.model import LETTERS
from kina_build.rows.tables import read_table
from kina_build.scoring.lettering import match_places
from kina_build.scoring.questions import passage_of

ID_FIELDS = ("item_id", "id", "question_id")
"""Where item files keep the id: pools, releases, MMLU-Pro."""


class ItemKey(BaseModel):
    """What a ranking needs of an item: the right letter or letters, options, discipline."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    letter: str
    """The right one; of several right answers all, in the options' order: "AC"."""
    several: bool = False
    """The item takes several letters, even where one alone is right."""
    options: int
    discipline: str = ""
    texts: tuple[str, ...] = ()
    """Of the options, in order."""
    letters: tuple[str, ...] = ()
    """Of the options, in order."""
    passage: str | None = None
    """Digest of the passage shown before the question; None where there is none."""


def read_items(path: Path) -> list[ItemKey]:
    """Read the key, option count and discipline of each item of a pool, release or MMLU-Pro file.

    Raises:
        InputError: unreadable file.
        RowErrors: a row without id, options or a key among them, or a repeated id.
    """
    keys: list[ItemKey] = []
    faults: list[RowFault] = []
    seen: set[str] = set()
    for row in read_table(path):
        try:
            key = _item_key(row.values, seen)
        except ValueError as error:
            faults.append(RowFault(str(path), row.line, str(error)))
            continue
        seen.add(key.item_id)
        keys.append(key)
    if faults:
        raise RowErrors(faults, hint="each row needs an id, its options and the right letter")
    return keys


def key_of(items: Sequence[ItemKey], item_ids: Sequence[str]) -> AnswerKey:
    """Put the answer key into the order of a board's items.

    Raises:
        InputError: an item of the board that the file does not hold.
    """
    known = {key.item_id: key for key in items}
    missing = [item_id for item_id in item_ids if item_id not in known]
    if missing:
        raise InputError(f"{len(missing)} scored items are not in --items, first {missing[0]!r}")
    return AnswerKey(
        item_ids=tuple(item_ids),
        keys=tuple(known[i].letter for i in item_ids),
        option_counts=tuple(known[i].options for i in item_ids),
        several=tuple(known[i].several for i in item_ids),
    )


def rekey(asked: Sequence[ItemKey], items: Sequence[ItemKey]) -> list[ItemKey]:
    """Give items as they were asked the keys of another file, carried over by the options' texts.

    Raises:
        InputError: an item that the other file does not have, or whose options are others there.
    """
    known = {key.item_id: key for key in items}
    keyed: list[ItemKey] = []
    for one in asked:
        other = known.get(one.item_id)
        places = match_places(one.texts, other.texts) if other is not None else None
        if other is None or places is None:
            fault = "is not in --items" if other is None else "has other options in --items"
            raise InputError(
                f"item {one.item_id!r} of --letters-of {fault}", hint="leave out --items to use its own keys"
            )
        right = sorted(places.index(other.letters.index(letter)) for letter in other.letter)
        letters = "".join(one.letters[place] for place in right)
        keyed.append(one.model_copy(update={"letter": letters, "several": other.several}))
    return keyed


def read_clusters(path: Path) -> dict[str, str]:
    """Read rows of item_id, cluster.

    Raises:
        InputError: a row that lacks one of them.
    """
    clusters: dict[str, str] = {}
    for row in read_table(path):
        pair = row.values.get("item_id"), row.values.get("cluster")
        if not all(isinstance(value, str) for value in pair):
            raise InputError(f"{path}:{row.line}: needs item_id and cluster, both text")
        clusters[str(pair[0])] = str(pair[1])
    return clusters


def _item_key(values: dict[str, Any], seen: set[str]) -> ItemKey:
    item_id = next((values[name] for name in ID_FIELDS if values.get(name) not in (None, "")), None)
    options = values.get("options") or values.get("choices")
    letter = values.get("correct_answer") or values.get("answer")
    if item_id is None:
        raise ValueError(f"{' or '.join(ID_FIELDS)}: required")
    if str(item_id) in seen:
        raise ValueError(f"item_id: {item_id!r} stands on more than one row")
    if not isinstance(options, list) or not options:
        raise ValueError("options: a list required")
    if len(options) > len(LETTERS):
        raise ValueError(f"options: {len(options)}, but letters end at {LETTERS[-1]}")
    letters = [
        str(option["key"]) if isinstance(option, dict) and "key" in option else LETTERS[place]
        for place, option in enumerate(options)
    ]
    right = _right_letters(letter)
    if not right or not set(right) <= set(letters) or len(set(right)) < len(right):
        raise ValueError(f"answer: {letter!r} is not one of {', '.join(letters)}")
    discipline = values.get("discipline") or values.get("category") or ""
    texts = tuple(str(o.get("answer") or o.get("text")) if isinstance(o, dict) else str(o) for o in options)
    return ItemKey(
        item_id=str(item_id),
        letter="".join(sorted(right, key=letters.index)),
        several=len(right) > 1 or isinstance(letter, list),
        options=len(options),
        discipline=str(discipline),
        texts=texts,
        letters=tuple(letters),
        passage=passage_of(str(values.get("material") or values.get("question_material") or "")),
    )


def _right_letters(key: Any) -> str:
    """Join the letters of a key; "" where it holds none."""
    letters = key if isinstance(key, list) else [key]
    return "".join(letters) if all(isinstance(one, str) for one in letters) else ""


@dataclass(frozen=True)
class AnswerKey:
    """The right letters and option counts of a set of items, in the order of its ids."""

    item_ids: tuple[str, ...]
    keys: tuple[str, ...]
    option_counts: tuple[int, ...]
    several: tuple[bool, ...] = ()
    """Whether an item takes several letters; empty where none does."""

    @property
    def chances(self) -> list[float]:
        """Return what guessing scores on each item: one of its options, or one of all sets of them."""
        several = self.several or (False,) * len(self.keys)
        return [
            1 / (2**n - 1 if any_set else n) for n, any_set in zip(self.option_counts, several, strict=True)
        ]


@dataclass(frozen=True)
class Floors:
    """Scores that need no knowledge of the items."""

    chance: float
    """Mean over items of 1 / options, or of 1 / sets of options where several letters are taken."""
    letter: str
    """The best letter to give every time; the first of equals."""
    letter_accuracy: float
    habits: dict[str, float]
    """Model to the score its letter frequencies alone would earn; empty without letters."""


def find_floors(key: AnswerKey, letters: dict[str, Sequence[str]] | None = None) -> Floors:
    """Compute the floors of a board.

    Args:
        key: of the ranked items.
        letters: model to one letter an item, in the key's order.
    """
    counts = Counter(one for one in key.keys if len(one) == 1) or Counter(key.keys)
    letter = min(counts, key=lambda c: (-counts[c], c))
    return Floors(
        chance=float(np.mean(key.chances)),
        letter=letter,
        letter_accuracy=counts[letter] / len(key.keys),
        habits={model: letter_habit(row, key) for model, row in (letters or {}).items()},
    )


def letter_habit(letters: Sequence[str], key: AnswerKey) -> float:
    """Return the expected score if a model's letters were dealt anew to other items.

    Letters are permuted among items with the same number of options; the mean over all
    permutations is a sum of products of letter frequencies.

    Args:
        letters: one an item, in the key's order; a letter outside the options never scores.
        key: of the same items.
    """
    given: Counter[tuple[int, str]] = Counter(zip(key.option_counts, letters, strict=True))
    right: Counter[tuple[int, str]] = Counter(zip(key.option_counts, key.keys, strict=True))
    sizes = Counter(key.option_counts)
    hits = sum(count * right[cell] / sizes[cell[0]] for cell, count in given.items())
    return hits / len(key.keys)
