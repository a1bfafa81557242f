"""Items with several right answers: taken only when asked for, and then whole, from import to release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.items.checking.structure import check_structure
from kina_build.items.importing.files import Layout, read_all
from kina_build.items.model import Item, Option, named_keys
from kina_build.items.pool import read_pool
from kina_build.release.lettering.order import assign_letters

Kina = Callable[..., Result]

GASES = ["neon", "iron", "argon", "zinc"]


def item(key: str, **more: Any) -> Item:
    options = tuple(Option(key=k, answer=text) for k, text in zip("ABCD", GASES, strict=True))
    return Item(item_id="q", question="Which are noble gases?", options=options, correct_answer=key, **more)


@pytest.mark.parametrize("said", ["AC", "CA", "A, C", "A;C", "A / C"])
def test_keys_are_written_side_by_side_in_the_order_of_options(said: str) -> None:
    made = item(said)
    assert (made.correct_answer, made.right_keys, made.several) == ("AC", ("A", "C"), True)
    assert made.correct_text == "neon; argon"


@pytest.mark.parametrize("said", ["AE", "AA", "A-C", "neon", ""])
def test_what_names_anything_else_names_no_option(said: str) -> None:
    assert (item(said).correct_answer, item(said).right_keys) == (said, ())
    assert [fault.rule for fault in check_structure(item(said))] == ["key_not_in_options"]


def test_a_key_is_not_found_inside_the_letters() -> None:
    assert named_keys("ABC", "ABCD") == ("A", "B", "C")


MOODLE = """<quiz><question type="multichoice"><questiontext><text>Which?</text></questiontext>
<single>false</single><answer fraction="50"><text>neon</text></answer>
<answer fraction="-50"><text>iron</text></answer><answer fraction="50"><text>argon</text></answer>
</question></quiz>"""

CELLS: dict[str, Any] = {
    "list": ["A", "C"], "joined": "AC", "commas": "A, C", "words": "A and C", "bars": "a|c",
    "marks": [1, 0, 1, 0],
    "texts": ["neon", "argon"], "texts in one": "neon; argon", "texts by comma": "argon, neon",
    "json in a cell": '["A", "C"]', "python in a cell": "['neon', 'argon']",
}  # fmt: skip


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_every_way_of_writing_them_is_read_alike(cell: Any, tmp_path: Path) -> None:
    path = tmp_path / "raw.jsonl"
    path.write_text(json.dumps({"question": "Which?", "options": GASES, "answer": cell}) + "\n")
    taken = read_all([path], Layout(several_keys=True))
    assert [one.correct_answer for one in taken] == ["AC"]
    refused = read_all([path])
    assert [(one.reason, "--several-keys" in one.message) for one in refused.rejects] == [
        ("multiple_keys", True)
    ]


@pytest.mark.parametrize(
    ("first", "last", "keys"),
    [("1,3", "4", "AC"), ("0,2", "3", "AC"), ([1, 3], [4], "AC"), ("[0, 2]", "[3]", "AC")],
)
def test_indices_count_from_where_the_column_says(first: Any, last: Any, keys: str, tmp_path: Path) -> None:
    rows = [{"question": f"Q{n}?", "options": GASES, "answer": one} for n, one in enumerate((first, last))]
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = read_all([path], Layout(several_keys=True))
    assert {one.question: one.correct_answer for one in taken} == {"Q0?": keys, "Q1?": "D"}


@pytest.mark.parametrize(
    ("suffix", "quiz", "keys"),
    [
        (".gift", "Which? {~%50%neon ~iron ~%50%argon}", ["AC"]),
        (".gift", "Which? {~%33.333%neon ~%33.333%iron ~%33.333%argon ~zinc}", ["ABC"]),
        (".gift", "Either? {=neon =argon ~iron}", []),  # one of them would do
        (".txt", "Which?\nA. neon\nB. iron\nC. argon\nANSWER: A, C\n", ["AC"]),
        (".xml", MOODLE, ["AC"]),
    ],
)  # fmt: skip
def test_quizzes_whose_answers_are_worth_the_whole_together(
    suffix: str, quiz: str, keys: list[str], tmp_path: Path
) -> None:
    (path := tmp_path / f"quiz{suffix}").write_text(quiz)
    assert [one.correct_answer for one in read_all([path], Layout(several_keys=True))] == keys
    assert [one.reason for one in read_all([path]).rejects] == ["multiple_keys"]


def test_all_keys_follow_their_texts_when_letters_are_drawn() -> None:
    lettered = assign_letters(item("AC"), [3, 2, 1, 0]).item
    assert (lettered.correct_answer, lettered.correct_text) == ("BD", "argon; neon")


def test_the_same_question_with_half_the_keys_is_a_conflict(kina: Kina, tmp_path: Path) -> None:
    rows = [
        {"id": key, "question": "Which gas?", "options": GASES, "answer": list(key)} for key in ("AC", "A")
    ]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert kina("import", "raw.jsonl", "-o", "pool.jsonl", "--several-keys").exit_code == 0
    found = kina("check", "pool.jsonl", "--json")
    assert "keys_conflict" in {one["rule"] for one in json.loads(found.stdout)["findings"]}


def test_a_release_says_that_several_are_right_and_harness_files_refuse(kina: Kina, tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "question": "Which are noble gases?", "options": GASES, "answer": "AC"},
        {"id": "q2", "question": "Which rusts?", "options": GASES, "answer": "B"},
    ]  # fmt: skip
    (tmp_path / "raw.jsonl").write_text(
        "".join(json.dumps({**row, "source": "own", "license": "CC0-1.0"}) + "\n" for row in rows)
    )
    assert kina("import", "raw.jsonl", "-o", "pool.jsonl", "--several-keys").exit_code == 0
    (tmp_path / "kina.toml").write_text('[items.severity]\nseveral_keys = "off"\n')
    assert "several_keys" in kina("export", "pool.jsonl", "-o", "release").stdout
    done = kina("export", "pool.jsonl", "-o", "release", "--allow", "several_keys=wanted")
    assert done.exit_code == 0, done.stdout
    splits = sorted((tmp_path / "release").glob("*.jsonl"))
    released = sorted(
        (json.loads(line) for one in splits for line in one.read_text().splitlines()),
        key=lambda row: row["id"],
    )
    said = {row["id"]: (row["several"], row["answer_index"] is None, len(row["answer"])) for row in released}
    assert said == {"q1": (True, True, 2), "q2": (False, False, 1)}
    right = {
        text for text, key in zip(released[0]["choices"], "ABCD", strict=True) if key in released[0]["answer"]
    }
    assert right == {"neon", "argon"}
    assert kina("verify", "release").exit_code == 0
    for file in ("lm_eval/task.py", "inspect_ai/benchmark.py", "lighteval/benchmark.py"):
        text = (tmp_path / "release/harness" / file).read_text()
        assert "raise NotImplementedError" in text
        compile(text, file, "exec")
    assert read_pool(tmp_path / "pool.jsonl")[0].several
