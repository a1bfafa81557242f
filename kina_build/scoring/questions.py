"""The questions a run asks and a scorer marks, from a release, a pool or a public results file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.model import Item, named_keys
from kina_build.items.pool import read_pool
from kina_build.items.questions import read_pool_or_import
from kina_build.rows.jsonl import describe, iter_rows, read_records
from kina_build.rows.outputs import refuse_strangers
from kina_build.scoring.replies import labels


class Question(BaseModel):
    """One multiple-choice question as it is asked and marked."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    question: str
    material: str = ""
    """A passage shown before the question."""
    choices: tuple[str, ...] = Field(min_length=2)
    """Option texts in order; their labels are A, B, ..., Z, 1, 2, ..."""
    answer: str
    """Label of the right option, of several all of them ("BD"); empty where a split's answers are private."""
    several: bool = False
    """More than one option is right, and a reply has to name them all."""
    discipline: str = ""
    field: str = ""
    subfield: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the options."""
        return labels(len(self.choices))

    @property
    def keyed(self) -> bool:
        """Tell whether the answer names options: several where several are right, else one."""
        return len(named_keys(self.answer, self.labels)) > 1 if self.several else self.answer in self.labels

    @property
    def ways(self) -> int:
        """Return how many answers can be given: where several options are right, any set of them."""
        return 2 ** len(self.choices) - 1 if self.several else len(self.choices)


def from_item(item: Item, *, keyed: bool = True) -> Question:
    """Turn a pool item into a question; options are relabelled A, B, ... in their order.

    Args:
        item: with at least two options.
        keyed: whether its key is needed; else one that names no option becomes the empty answer.

    Raises:
        InputError: fewer than two options, or a key that names none.
    """
    keys = [option.key for option in item.options]
    if len(keys) < 2:
        raise InputError(
            f"item {item.item_id!r}: it has {len(keys)} option, so there is nothing to choose",
            hint="`kina check` lists such items",
        )
    if not item.right_keys and keyed:
        raise InputError(
            f"item {item.item_id!r}: the key {item.correct_answer!r} names none of its options",
            hint="`kina check` lists such items",
        )
    return Question(
        item_id=item.item_id,
        question=item.question,
        material=item.question_material or "",
        choices=tuple(option.answer for option in item.options),
        answer="".join(labels(len(keys))[keys.index(key)] for key in item.right_keys),
        several=item.several,
        discipline=item.discipline,
        field=item.field,
        subfield=item.subfield,
    )


def from_release_row(row: dict[str, Any]) -> Question:
    """Turn a row of a release's split into a question.

    Raises:
        ValidationError: a field is missing or of the wrong kind.
    """
    renamed = {
        "item_id": row.get("id"),
        "material": row.get("material") or row.get("question_material") or "",
    }
    private = {"answer": ""} if row.get("answer", "") is None else {}
    return Question.model_validate(row | renamed | private)


def from_kina_metadata(metadata: dict[str, Any]) -> Question:
    """Turn the `metadata` of a row of KINA's public results into a question.

    Raises:
        ValidationError: a field is missing.
        ValueError: the key names no option.
    """
    options = metadata.get("options") or {}
    keys = sorted(options)
    path = [level.strip() for level in str(metadata.get("category") or "").split("/")]
    return Question(
        item_id=str(metadata.get("id")),
        question=metadata.get("question") or "",
        material=str(metadata.get("materials") or ""),
        choices=tuple(options[key]["answer"] for key in keys),
        answer=labels(len(keys))[keys.index(metadata["ground_truth"])],
        **dict(zip(("discipline", "field", "subfield"), path, strict=False)),
    )


def as_questions(asked: Iterable[Question | Item]) -> list[Question]:
    """Turn items into questions, sorted by id; questions stay as they are.

    Raises:
        InputError: an id that stands twice, or a key that names no option.
    """
    return _by_id(one if isinstance(one, Question) else from_item(one) for one in asked)


def hash_option(text: str) -> str:
    """Return the sha256 of an option's text, blanks folded, by which a reply says what it was shown."""
    return hashlib.sha256(fold_blanks(text).encode()).hexdigest()


def passage_of(material: str) -> str | None:
    """Return a short digest of the passage shown before a question; None of no passage.

    Questions on one passage are not independent: a ranking draws them together.
    """
    folded = fold_blanks(material)
    return hashlib.sha256(folded.encode()).hexdigest()[:16] if folded else None


def fold_blanks(text: str) -> str:
    """Fold runs of blanks, and drop those at the ends."""
    return " ".join(text.split())


def read_items(path: Path) -> list[Question]:
    """Read the questions of a pool.jsonl, sorted by id.

    Raises:
        InputError: an unreadable pool, an id used twice, or a key that names no option.
    """
    return _by_id(from_item(item) for item in read_pool(path))


def read_forms(path: Path) -> dict[str, Question]:
    """Read the forms in which a pool, or all splits of a release folder, put their items.

    Raises:
        InputError: as read_pool_or_import and read_release, or a folder without a split.
    """
    if not path.is_dir():
        return forms_of(read_pool_or_import(path)[0])
    splits = sorted(file.stem for file in path.glob("*.jsonl") if file.stat().st_size)
    if not splits:
        raise InputError(f"{path}: no split of a release", hint="give the folder that `kina export` wrote")
    return {one.item_id: one for split in splits for one in read_release(path, split, keyed=False)}


def forms_of(items: Iterable[Item]) -> dict[str, Question]:
    """Return the forms of items that have at least two options, whatever their keys."""
    return {item.item_id: from_item(item, keyed=False) for item in items if len(item.options) > 1}


class Answer(BaseModel):
    """One row of the file in which an export keeps private answers."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    answer: str


def read_release(
    folder: Path, split: str = "test", answers: Path | None = None, *, keyed: bool = True
) -> list[Question]:
    """Read the questions of a release's split, sorted by id.

    Args:
        folder: of the release.
        split: whose rows to read.
        answers: the file that `kina export --private` keeps beside the release.
        keyed: whether the answers are needed; to ask a model they are not.

    Raises:
        InputError: no such split, an id used twice, a key outside the options, or answers
            that are needed and private.
        RowErrors: rows that do not fit.
    """
    refuse_strangers(folder)
    path = folder / f"{split}.jsonl"
    kept = {row.id: row.answer for row in read_records(answers, Answer)} if answers else {}
    questions: list[Question] = []
    faults: list[RowFault] = []
    for line, row in iter_rows(path):
        try:
            question = from_release_row(row)
        except ValidationError as error:
            faults += [RowFault(str(path), line, text) for text in describe(error)]
            continue
        private = row["answer"] is None
        if private:
            question = question.model_copy(update={"answer": kept.get(question.item_id, "")})
        if not question.keyed and not (private and not question.answer):
            faults.append(RowFault(str(path), line, f"answer: {question.answer!r} names no choice"))
        questions.append(question)
    if faults:
        raise RowErrors(faults, hint="rows of a release as `kina export` writes them")
    unkeyed = [question.item_id for question in questions if not question.answer]
    if keyed and unkeyed:
        raise InputError(
            f"{path}: the answers of {len(unkeyed)} items are private, as of {unkeyed[0]!r}",
            hint="give the file that `kina export` wrote beside the release: --answers FILE",
        )
    return _by_id(questions)


def _by_id(questions: Iterable[Question]) -> list[Question]:
    ordered = sorted(questions, key=lambda question: question.item_id)
    for one, other in pairwise(ordered):
        if one.item_id == other.item_id:
            raise InputError(f"id {one.item_id!r} stands on more than one row")
    return ordered


def chance_level(questions: Sequence[Question]) -> float:
    """Return the expected accuracy of blind guessing: the mean of 1 / number of answers that can be given."""
    return sum(1 / question.ways for question in questions) / len(questions) if questions else 0.0
