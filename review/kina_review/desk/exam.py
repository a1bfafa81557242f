"""The recruitment exam: two rounds of sound items and items with one planted flaw, their key, and the marks.

The bank is a pool whose bad items are known: seeded on purpose, each with its kind of flaw. A round is
drawn so that half of it is flawed, and no item stands in both (paper, App. E.1).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from kina_build.errors import InputError, Refusal
from kina_build.escapes import in_markdown
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.rows.jsonl import write_records, write_text
from kina_build.rows.outputs import make_folder
from kina_build.rows.tables import read_typed, write_csv
from kina_review.desk.options import ExamDrawOptions, ExamMarkOptions
from kina_review.manuals import render, show_page
from kina_review.records import Id, Record
from kina_review.rubric import EXAM_ROUNDS, ReviewRules
from kina_review.words import ITEM_WORDS, FlawKind, read_flaw_kind, read_word

SOUND = "ok"
"""What the key says of an item without a planted flaw."""


class PlantedRow(Record):
    """One item of the bank that is bad on purpose."""

    item_id: Id
    flaw: Annotated[FlawKind, BeforeValidator(read_flaw_kind)]


class KeyRow(Record):
    """The right answer to one question of the exam; keep it from those who sit it."""

    round: Annotated[int, Field(ge=1)]
    number: Annotated[int, Field(ge=1)]
    item_id: Id
    answer: str
    """"ok", or the kind of the planted flaw."""


class AnswerRow(Record):
    """What one candidate says of one question."""

    candidate_id: Id
    round: Annotated[int, Field(ge=1)]
    number: Annotated[int, Field(ge=1)]
    answer: Annotated[str, BeforeValidator(lambda word: read_word(word, ITEM_WORDS))]


@dataclass(frozen=True)
class Mark:
    """What one candidate reached in one round."""

    candidate_id: str
    round: int
    right: int
    asked: int
    caught: int
    """Planted flaws called a flaw, whatever kind was named."""
    planted: int
    passed: bool


def draw_exam(
    items: Sequence[Item], planted: Sequence[PlantedRow], rules: ReviewRules = ReviewRules(), seed: int = 0
) -> list[KeyRow]:
    """Draw the rounds of an exam: half of each round is flawed, and no item stands in two.

    Raises:
        InputError: a planted item that is not in the pool, or stands twice.
        Refusal: too few sound or planted items for all rounds.
    """
    ids = {item.item_id for item in items}
    flaws = {row.item_id: row.flaw for row in planted}
    strange = sorted(flaws.keys() - ids)
    if strange or len(flaws) < len(planted):
        told = f"not in the pool: {', '.join(strange[:5])}" if strange else "an item stands twice"
        raise InputError(f"the planted items: {told}")
    bad = rules.exam_items // 2
    good = rules.exam_items - bad
    sound = _shuffled(sorted(ids - flaws.keys()), seed)
    broken = _shuffled(sorted(flaws), seed)
    if len(sound) < good * EXAM_ROUNDS or len(broken) < bad * EXAM_ROUNDS:
        raise Refusal(
            f"{EXAM_ROUNDS} rounds of {rules.exam_items} need {good * EXAM_ROUNDS} sound and "
            f"{bad * EXAM_ROUNDS} planted items; there are {len(sound)} and {len(broken)}",
            hint="plant more items, or lower review.exam_items",
        )
    key = []
    for round_ in range(1, EXAM_ROUNDS + 1):
        part = sound[(round_ - 1) * good : round_ * good] + broken[(round_ - 1) * bad : round_ * bad]
        for number, item_id in enumerate(_shuffled(part, seed + round_), start=1):
            key.append(KeyRow(round=round_, number=number, item_id=item_id, answer=flaws.get(item_id, SOUND)))
    return key


def write_round(
    key: Sequence[KeyRow], items: Mapping[str, Item], round_: int, rules: ReviewRules = ReviewRules()
) -> str:
    """Return one round as Markdown: each question with its options and the answer that its author marked."""
    questions = [
        {
            "number": row.number,
            "text": _stem(items[row.item_id]),
            "options": [_option(items[row.item_id], n) for n in range(len(items[row.item_id].options))],
        }
        for row in key
        if row.round == round_
    ]
    return render("exam.md.j2", rules, round=round_, rounds=EXAM_ROUNDS, questions=questions)


def _stem(item: Item) -> str:
    parts = (item.question_material, item.question)
    return "\n\n".join(in_markdown(part) for part in parts if part)


def _option(item: Item, n: int) -> str:
    option = item.options[n]
    marked = " **(marked)**" if option.key in item.right_keys else ""
    return f"{option.key}. {in_markdown(option.answer)}{marked}"


def mark_exam(
    key: Sequence[KeyRow], answers: Sequence[AnswerRow], rules: ReviewRules = ReviewRules()
) -> list[Mark]:
    """Mark the answers: right is "ok" on a sound item, and the kind of the flaw on a planted one.

    What is left out is wrong. Who did not pass a round is not marked in a later one.

    Raises:
        InputError: an answer to a question that was not asked, or two to one.
    """
    wanted = {(row.round, row.number): row.answer for row in key}
    said: dict[str, dict[tuple[int, int], str]] = defaultdict(dict)
    for row in answers:
        place = (row.round, row.number)
        if place not in wanted:
            raise InputError(
                f"candidate {row.candidate_id!r} answers question {row.number} of round {row.round}, "
                "which was not asked"
            )
        if place in said[row.candidate_id]:
            raise InputError(
                f"candidate {row.candidate_id!r} answers question {row.number} of round {row.round} twice"
            )
        said[row.candidate_id][place] = row.answer
    marks = []
    for name, own in sorted(said.items()):
        for round_ in sorted({row.round for row in key}):
            if not any(place[0] == round_ for place in own):
                break
            marks.append(_mark(name, round_, wanted, own, rules))
            if not marks[-1].passed:
                break
    return marks


def _mark(
    name: str,
    round_: int,
    wanted: Mapping[tuple[int, int], str],
    said: Mapping[tuple[int, int], str],
    rules: ReviewRules,
) -> Mark:
    asked = {place: answer for place, answer in wanted.items() if place[0] == round_}
    right = sum(said.get(place) == answer for place, answer in asked.items())
    planted = [place for place, answer in asked.items() if answer != SOUND]
    caught = sum(said.get(place, SOUND) not in (SOUND, "expert") for place in planted)
    passed = Fraction(right, len(asked)) >= Fraction(rules.exam_pass)
    return Mark(name, round_, right, len(asked), caught, len(planted), passed)


def report_marks(marks: Sequence[Mark]) -> dict[str, Any]:
    """Return marks as plain values, and who passed every round."""
    last: dict[str, Mark] = {mark.candidate_id: mark for mark in marks}
    return {
        "marks": [vars(mark) for mark in marks],
        "admitted": sorted(name for name, mark in last.items() if mark.passed and mark.round == EXAM_ROUNDS),
    }


def _shuffled(ids: Sequence[str], seed: int) -> list[str]:
    return sorted(ids, key=lambda name: hashlib.sha256(f"{seed}|exam|{name}".encode()).digest())


def write_exam(options: ExamDrawOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Draw an exam and write its rounds, a table for answers and its key; return the report.

    Raises:
        InputError: an unreadable file, or a planted item that is not in the pool.
        Refusal: too few items for all rounds.
    """
    items = {item.item_id: item for item in read_pool(options.pool)}
    planted = read_typed(options.seeded_bad, PlantedRow)
    key = draw_exam(list(items.values()), planted, rules, options.seed)
    make_folder(options.output)
    files = []
    for round_ in range(1, EXAM_ROUNDS + 1):
        text = write_round(key, items, round_, rules)
        write_text(options.output / f"exam-{round_}.md", text)
        write_text(options.output / f"exam-{round_}.html", show_page(text))
        rows = [
            {"candidate_id": "", "round": row.round, "number": row.number, "answer": ""}
            for row in key
            if row.round == round_
        ]
        write_csv(options.output / f"answers-{round_}.csv", list(rows[0]), rows)
        files += [f"exam-{round_}.md", f"exam-{round_}.html", f"answers-{round_}.csv"]
    write_records(options.output / "key.jsonl", key, private=True)
    return {"questions": len(key), "rounds": EXAM_ROUNDS, "files": [*files, "key.jsonl"]}


def mark_files(options: ExamMarkOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Mark tables of answers against a key; return the report.

    Raises:
        InputError: an unreadable file, an answer to what was not asked, or two to one question.
    """
    answers = read_typed(list(options.answers), AnswerRow)
    return report_marks(mark_exam(read_typed(options.key, KeyRow), answers, rules))
