"""Sheets and texts as people keep them: options in one cell, in rows, beside marks; titles, languages."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError
from kina_build.items.importing.files import read_items
from tests.items.test_shapes import ROWS, holds, put, read

Cells = list[Any]


def sheet(rows: list[Cells], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def letter(key: int) -> str:
    return "ABCD"[key]


def spread(header: list[str], key: Any = letter) -> str:
    """Write a column an option under a header, and the key last."""
    return sheet([header, *([q, *o, key(k)] for q, o, k in ROWS)])


MARKED = ["Question", *(name for n in range(1, 5) for name in (f"Option {n}", f"Option {n} correct"))]
SHEETS = {
    "bars": sheet([["question", "choices", "answer"], *([q, " | ".join(o), o[k]] for q, o, k in ROWS)]),
    "semicolons": sheet([["stem", "options", "key"], *([q, "; ".join(o), letter(k)] for q, o, k in ROWS)]),
    "lines in a cell": sheet(
        [
            ["Question", "Options", "Answer"],
            *([q, "\n".join(f"{letter(n)}. {t}" for n, t in enumerate(o)), letter(k)] for q, o, k in ROWS),
        ]
    ),
    "a row an option": sheet(
        [
            ["question_id", "question", "option", "correct"],
            *([i, q, t, "x" if n == k else ""] for i, (q, o, k) in enumerate(ROWS) for n, t in enumerate(o)),
        ]
    ),
    "marks beside options": sheet(
        [MARKED, *([q, *(c for n, t in enumerate(o) for c in (t, str(n == k).upper()))] for q, o, k in ROWS)]
    ),
    "marks behind all": sheet(
        [
            ["question", *"ABCD", *(f"is_{one}" for one in "ABCD")],
            *([q, *o, *(int(n == k) for n in range(4))] for q, o, k in ROWS),
        ]
    ),
    "a title above": "Quiz of the week,,,,,\n" + spread(["Question", *"ABCD", "Answer"]),
    "German": spread(["Frage", *(f"Antwort {one}" for one in "ABCD"), "Lösung"]),
    "Spanish": spread(["Pregunta", *(f"Opción {one}" for one in "ABCD"), "Respuesta correcta"]),
    "Russian": spread(["Вопрос", *(f"Вариант {one}" for one in "АБВГ"), "Ответ"]),
    "Japanese": spread(["問題", *(f"選択肢{n}" for n in range(1, 5)), "正解"]),
    "Chinese": spread(["题目", *(f"选项{one}" for one in "ABCD"), "答案"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_are_read_without_flags(name: str, tmp_path: Path) -> None:
    holds(read(put(tmp_path, SHEETS[name], "f.csv")))


def test_a_list_of_distractors_stands_beside_an_answer(tmp_path: Path) -> None:
    rows = [{"Question": q, "Answer": o[k], "Distractors": o[:k] + o[k + 1 :]} for q, o, k in ROWS]
    holds(read(put(tmp_path, rows)), any_order=True)


def test_objects_of_lists_scores_by_text_and_chats_are_read(tmp_path: Path) -> None:
    turned = {
        "question": [r[0] for r in ROWS],
        "options": [r[1] for r in ROWS],
        "answer": [letter(r[2]) for r in ROWS],
    }
    holds(read(put(tmp_path, turned, "turned.json")))
    scores = [{"question": q, "mc1_targets": {t: int(n == k) for n, t in enumerate(o)}} for q, o, k in ROWS]
    holds(read(put(tmp_path, scores, "scores.jsonl")))
    asked = [
        (q + "\n" + "\n".join(f"{letter(n)}) {t}" for n, t in enumerate(o)), letter(k)) for q, o, k in ROWS
    ]
    chats = [
        {"messages": [{"role": "user", "content": user}, {"role": "assistant", "content": said}]}
        for user, said in asked
    ]
    holds(read(put(tmp_path, chats, "chats.jsonl")))


@pytest.mark.parametrize("star", [False, True])
def test_numbered_quizzes_with_small_letters_are_read(star: bool, tmp_path: Path) -> None:
    blocks = []
    for number, (q, o, k) in enumerate(ROWS, 1):
        options = [f"{'*' if star and n == k else ''}{letter(n).lower()}) {t}" for n, t in enumerate(o)]
        blocks.append(
            "\n".join([f"{number}. {q}", *options, *([] if star else [f"Answer: {letter(k).lower()}"])])
        )
    holds(read(put(tmp_path, "\n\n".join(blocks), "f.txt")))


@pytest.mark.parametrize("keys", ["letters", "numbers"])
def test_keys_that_are_another_options_text_are_refused(keys: str, tmp_path: Path) -> None:
    options = ["AB", "A", "B", "O"] if keys == "letters" else ["3", "1", "2", "0"]
    rows = [
        ["question", "o1", "o2", "o3", "o4", "answer"],
        ["Which group?", *options, "B" if keys == "letters" else "0"],
    ]
    path = put(tmp_path, sheet(rows), "f.csv")
    with pytest.raises(InputError, match="both by their place and by their texts"):
        read(path)
    form = "text" if keys == "letters" else "index0"
    assert read(path, key_form=form)[0].correct_text == ("B" if keys == "letters" else "3")


def test_cells_of_unequal_counts_are_not_cut(tmp_path: Path) -> None:
    rows = [["question", "options", "answer"], ["One?", "a; b; c", "A"], ["Two?", "a; b", "B"]]
    refused = read_items(put(tmp_path, sheet(rows), "f.csv")).rejects
    assert [reject.reason for reject in refused] == ["options_unparsed", "options_unparsed"]
