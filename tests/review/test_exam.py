"""The recruitment exam: drawn from a bank with planted flaws, marked by its key, passed in two rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item, Option
from kina_review.desk.exam import (
    AnswerRow,
    KeyRow,
    PlantedRow,
    draw_exam,
    mark_exam,
    report_marks,
    write_round,
)
from kina_review.rubric import ReviewRules
from tests.review.test_commands import Kina

RULES = ReviewRules(exam_items=4)
ITEMS = [
    Item(
        item_id=f"q{n}",
        discipline="law",
        question=f"Which number is {n}?",
        options=tuple(Option(key=key, answer=f"{n + i}") for i, key in enumerate("ABCD")),
        correct_answer="A",
    )
    for n in range(10)
]
PLANTED = [PlantedRow(item_id=f"q{n}", flaw="wrong_groundtruth") for n in range(4)]
KEY = draw_exam(ITEMS, PLANTED, RULES, seed=1)


def answers(name: str, *, wrong: int = 0, rounds: tuple[int, ...] = (1, 2)) -> list[AnswerRow]:
    """Return the right answers of a candidate, but for the first `wrong` of each round."""
    return [
        AnswerRow(
            candidate_id=name,
            round=row.round,
            number=row.number,
            answer="other" if row.number <= wrong else row.answer,
        )
        for row in KEY
        if row.round in rounds
    ]


def test_half_of_each_round_is_flawed_and_no_item_comes_twice() -> None:
    assert len(KEY) == len({row.item_id for row in KEY}) == 8
    for round_ in (1, 2):
        own = [row for row in KEY if row.round == round_]
        assert [row.number for row in own] == [1, 2, 3, 4]
        assert sorted(row.answer for row in own) == ["ok", "ok", "wrong_groundtruth", "wrong_groundtruth"]
    assert draw_exam(ITEMS[::-1], PLANTED[::-1], RULES, seed=1) == KEY
    assert draw_exam(ITEMS, PLANTED, RULES, seed=2) != KEY


def test_a_round_shows_the_marked_answer_and_not_the_key() -> None:
    text = write_round(KEY, {item.item_id: item for item in ITEMS}, 1, RULES)
    assert text.startswith("# Recruitment exam, round 1 of 2")
    assert text.count("**(marked)**") == 4
    assert "80 % of the items right" in text
    assert not any(f"q{n}" in text for n in range(10))


def test_who_passes_both_rounds_is_admitted() -> None:
    given = [*answers("ann"), *answers("bob", wrong=1), *answers("eve", rounds=(1,))]
    report = report_marks(mark_exam(KEY, given, RULES))
    assert report["admitted"] == ["ann"]
    told = [(m["candidate_id"], m["round"], m["right"], m["passed"]) for m in report["marks"]]
    assert told == [("ann", 1, 4, True), ("ann", 2, 4, True), ("bob", 1, 3, False), ("eve", 1, 4, True)]


def test_what_is_left_out_is_wrong_and_strange_answers_are_refused() -> None:
    (mark,) = mark_exam(KEY, answers("ann", rounds=(1,))[:1], RULES)
    assert (mark.right, mark.asked) == (1, 4)
    with pytest.raises(InputError, match="which was not asked"):
        mark_exam(KEY, [AnswerRow(candidate_id="ann", round=3, number=1, answer="ok")], RULES)
    with pytest.raises(InputError, match="question 1 of round 1 twice"):
        mark_exam(KEY, [*answers("ann")[:1], *answers("ann")[:1]], RULES)


def test_a_bank_that_is_too_small_is_refused() -> None:
    with pytest.raises(Refusal, match="need 4 sound and 4 planted items; there are 7 and 3"):
        draw_exam(ITEMS, PLANTED[:3], RULES)
    with pytest.raises(InputError, match="not in the pool: q99"):
        draw_exam(ITEMS, [PlantedRow(item_id="q99", flaw="other")], RULES)


def test_from_a_pool_to_marks_on_the_command_line(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "kina.toml").write_text("[review]\nexam_items = 4\n")
    (tmp_path / "pool.jsonl").write_text("".join(item.model_dump_json() + "\n" for item in ITEMS))
    planted = "".join(f"q{n},wrong_groundtruth\n" for n in range(4))
    (tmp_path / "bad.csv").write_text("item_id,flaw\n" + planted)
    drawn = kina("review", "exam", "draw", "pool.jsonl", "--seeded-bad", "bad.csv", "--json")
    assert drawn.exit_code == 0, drawn.output
    assert json.loads(drawn.stdout)["questions"] == 8
    lines = (tmp_path / "exam/key.jsonl").read_text().splitlines()
    key = [KeyRow.model_validate_json(line) for line in lines]
    rows = "".join(f"ann,{row.round},{row.number},{row.answer}\n" for row in key)
    (tmp_path / "answers.csv").write_text("candidate_id,round,number,answer\n" + rows)
    marked = kina("review", "exam", "mark", "answers.csv", "--key", "exam/key.jsonl", "--json")
    assert json.loads(marked.stdout)["admitted"] == ["ann"]
