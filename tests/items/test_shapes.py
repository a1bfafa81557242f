"""The layouts question files come in, each read as it stands or refused; never with a wrong key."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.errors import KinaError
from kina_build.items.importing.files import Layout, read_items
from kina_build.items.model import Item

Kina = Callable[..., Result]
ROWS = (
    ("Which one swims?", ["trout", "otter hut", "gecko", "wasp"], 0),
    ("How many sides has a hexagon?", ["four", "five", "six", "eight"], 2),
    ("Which tense is it?", ["present", "future", "past", "pluperfect"], 3),
    ("Which one flies?", ["mole", "bat", "carp", "elk"], 1),
)


def read(path: Path, **options: Any) -> tuple[Item, ...]:
    result = read_items(path, Layout(**options))
    assert result.rejects == ()
    return result.items


def put(folder: Path, rows: Any, name: str = "f.jsonl") -> Path:
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    else:
        path.write_text(rows if isinstance(rows, str) else json.dumps(rows), encoding="utf-8")
    return path


def holds(items: tuple[Item, ...], *, any_order: bool = False) -> None:
    """Say that the four questions were read with their options and right answers."""
    found = {item.question: item for item in items}
    assert len(found) == len(ROWS)
    for question, options, key in ROWS:
        item = found[question]
        texts = [option.answer for option in item.options]
        assert (sorted(texts) == sorted(options)) if any_order else (texts == options)
        assert item.correct_text == options[key]


def arc(q: str, o: list[str], k: int) -> dict[str, Any]:
    choices = [{"label": "ABCD"[n], "text": text} for n, text in enumerate(o)]
    return {"question": {"stem": q, "choices": choices, "question_concept": "x"}, "answerKey": "ABCD"[k]}


def openbook(q: str, o: list[str], k: int) -> dict[str, Any]:
    return {"question_stem": q, "choices": {"text": o, "label": list("ABCD")}, "answerKey": "ABCD"[k]}


def sciq(q: str, o: list[str], k: int) -> dict[str, Any]:
    wrong = [text for n, text in enumerate(o) if n != k]
    return {"question": q, "correct_answer": o[k]} | {f"distractor{n}": w for n, w in enumerate(wrong, 1)}


def gpqa(q: str, o: list[str], k: int) -> dict[str, Any]:
    wrong = [text for n, text in enumerate(o) if n != k]
    return {"Question": q, "Correct Answer": o[k]} | {
        f"Incorrect Answer {n}": w for n, w in enumerate(wrong, 1)
    }


def supergpqa(q: str, o: list[str], k: int) -> dict[str, Any]:
    return {"uuid": q, "question": q, "options": o, "answer": o[k], "answer_letter": "ABCD"[k]}


LAYOUTS: dict[str, Callable[[str, list[str], int], dict[str, Any]]] = {
    "ARC": arc,
    "OpenBookQA": openbook,
    "SciQ": sciq,
    "GPQA": gpqa,
    "SuperGPQA": supergpqa,
    "HellaSwag": lambda q, o, k: {"ind": 1, "ctx": q, "endings": o, "label": str(k)},
    "KINA's older platform": lambda q, o, k: {
        "_id": q,
        "batchId": "b1",
        "labels": [{"data": {"hash": "GPQA_QUESTION", "question": q, "options": o, "answer": "ABCD"[k]}}],
    },
    "BIG-bench": lambda q, o, k: {"input": q, "target_scores": {t: int(n == k) for n, t in enumerate(o)}},
    "cosmos": lambda q, o, k: {"context": "c", "question": q, "answers": o, "label": k},
    "gold label": lambda q, o, k: {"article": "a", "question": q, "options": o, "gold_label": k + 1},
    "FrenchMedMCQA": lambda q, o, k: {
        "question": q, **{f"answer_{'abcd'[n]}": t for n, t in enumerate(o)}, "correct_answers": ["abcd"[k]],
    },
    "options in the question": lambda q, o, k: {
        "question": q + "".join(f"\n{'ABCD'[n]}. {t}" for n, t in enumerate(o)), "answer": ["ABCD"[k]],
    },
    "one line": lambda q, o, k: {
        "Problem": q, "options": " , ".join(f"{'abcd'[n]} ) {t}" for n, t in enumerate(o)),
        "correct": "abcd"[k],
    },
    "viewer": lambda q, o, k: {"row_idx": 1, "row": {"question": q, "choices": o, "answer": k}},
    "padded": lambda q, o, k: {"question": q, "options": [*o, ""], "answer": "ABCD"[k]},
    "key names its column": lambda q, o, k: {
        "question": q, **{f"option_{'abcd'[n]}": t for n, t in enumerate(o)}, "answer": f"option_{'abcd'[k]}",
    },
    "letter and text": lambda q, o, k: {"question": q, "options": o, "answer": f"{'ABCD'[k]}. {o[k]}"},
    "quiz sheet": lambda q, o, k: {
        "Question - max 120 characters": q,
        **{f"Answer {n} - max 75 characters": t for n, t in enumerate(o, 1)},
        "Correct answer(s) - choose at least one": str(k + 1),
    },
    "headers": lambda q, o, k: {
        "Question Text": q, **{f"Choice {'ABCD'[n]}": t for n, t in enumerate(o)}, "Right-Answer": "ABCD"[k],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_of_well_known_sets_are_read(name: str, tmp_path: Path) -> None:
    rows = [LAYOUTS[name](q, o, k) for q, o, k in ROWS]
    holds(read(put(tmp_path, rows)), any_order=name in ("SciQ", "GPQA"))


def test_a_passage_with_parallel_lists_is_spread_and_goes_with_each_question(tmp_path: Path) -> None:
    document = {
        "article": "A passage.", "id": "high1", "questions": [q for q, _, _ in ROWS],
        "options": [o for _, o, _ in ROWS], "answers": ["ABCD"[k] for _, _, k in ROWS],
    }  # fmt: skip
    items = read(put(tmp_path, document, "f.json"))
    holds(items)
    assert {item.question_material for item in items} == {"A passage."}
    assert {item.item_id for item in items} == {f"high1-{n}" for n in range(1, 5)}


def test_splits_in_one_file_are_read_together(tmp_path: Path) -> None:
    rows = [{"question": q, "options": o, "answer": "ABCD"[k]} for q, o, k in ROWS]
    items = read(put(tmp_path, {"train": rows[:2], "test": rows[2:]}, "f.json"))
    holds(items)
    assert {item.metadata["split"] for item in items} == {"train", "test"}


def test_piqa_and_winogrande_have_two_options(tmp_path: Path) -> None:
    piqa = [
        {"goal": f"To cut {n}?", "sol1": f"saw {n}", "sol2": f"pen {n}", "label": n % 2} for n in range(4)
    ]
    items = read(put(tmp_path, piqa))
    assert {(i.question, i.correct_text) for i in items} == {
        (f"To cut {n}?", (f"saw {n}", f"pen {n}")[n % 2]) for n in range(4)
    }
    grande = [
        {"sentence": f"_ is {n}.", "option1": "Ann", "option2": "Bob", "answer": "12"[n % 2]}
        for n in range(4)
    ]
    keys = {i.question: i.correct_text for i in read(put(tmp_path, grande, "w.jsonl"))}
    assert keys == {f"_ is {n}.": ("Ann", "Bob")[n % 2] for n in range(4)}


@pytest.mark.parametrize(
    "row",
    [
        {"options": ["x", "y", "z"], "answer": "y", "answer_letter": "C"},
        {"options": ["x", "y", "z"], "answer": ["A", "B"]},
        {"options": ["x", "y", "z"], "answer": "B. z"},
        {"answers": ["Paris", "paris"], "answer": "Paris"},
        {"target_scores": {"x": 1, "y": 1}},
        {"options": ["x", "y", "z"]},
    ],
)
def test_what_is_not_certain_is_refused(row: dict[str, Any], tmp_path: Path) -> None:
    try:
        result = read_items(put(tmp_path, [{"question": f"Which {n}?"} | row for n in range(3)]))
    except KinaError:
        return
    assert (result.items, len(result.rejects)) == ((), 3)


def test_a_fault_that_all_rows_share_is_one_line_with_its_cure(kina: Kina, tmp_path: Path) -> None:
    rows = [
        {"ask": f"{q} ({n})", "a": o[0], "b": o[1], "right": o[k % 2]} for n, (q, o, k) in enumerate(ROWS)
    ]
    put(tmp_path, rows)
    told = kina("import", "f.jsonl", "-o", "pool.jsonl")
    assert told.exit_code == 2
    line = told.stderr.splitlines()[-1]
    assert "--map question=ask --map options=a,b --map correct_answer=right" in line
    arguments = line.partition(": ")[2].split()
    assert kina("import", "f.jsonl", *arguments, "-o", "pool.jsonl").exit_code == 0
    keyless = [{"question": row["ask"], "a": row["a"], "b": row["b"], "right": row["right"]} for row in rows]
    put(tmp_path, keyless, "g.jsonl")
    said = kina("import", "g.jsonl", "-o", "no.jsonl").stderr
    assert said.count("no_key") == 1
    assert "with all 4 rows; perhaps: kina import g.jsonl --map" in said


def test_map_lines_may_stand_in_a_file(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path, [{"ask": q, "of": {"list": o}, "right": o[k]} for q, o, k in ROWS])
    (tmp_path / "mine.map").write_text("# ours\nquestion=ask\noptions=of.list\ncorrect_answer=right\n")
    done = kina("import", "f.jsonl", "--map", "mine.map", "-o", "pool.jsonl")
    assert done.exit_code == 0, done.stderr


def test_long_texts_that_are_left_unread_are_named(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path, [{"text": "long " * 20, "question": q, "options": o, "answer": o[k]} for q, o, k in ROWS])
    assert "left unread (in metadata): text" in kina("import", "f.jsonl", "-o", "pool.jsonl").stdout


AIKEN = "\n\n".join(
    "\n".join([q, *(f"{'ABCD'[n]}. {t}" for n, t in enumerate(o)), f"ANSWER: {'ABCD'[k]}"])
    for q, o, k in ROWS
)
GIFT = "// a comment\n\n$CATEGORY: wood\n\n" + "\n\n".join(
    f"::t{k}:: {q} {{\n" + "\n".join(f"{'=' if n == k else '~'}{t}#said {n}" for n, t in enumerate(o)) + "\n}"
    for q, o, k in ROWS
)
MOODLE = (
    '<?xml version="1.0"?><quiz>'
    + "".join(
        f'<question type="multichoice"><questiontext format="html"><text><![CDATA[<p>{q}</p>]]></text>'
        "</questiontext><single>true</single>"
        + "".join(
            f'<answer fraction="{100 * (n == k)}"><text>{t}</text><feedback><text>said {n}</text></feedback>'
            "</answer>"
            for n, t in enumerate(o)
        )
        + "</question>"
        for q, o, k in ROWS
    )
    + "</quiz>"
)


@pytest.mark.parametrize(("name", "text"), [("q.txt", AIKEN), ("q.txt", GIFT), ("q.gift", GIFT)])
def test_quiz_texts_are_read(name: str, text: str, tmp_path: Path) -> None:
    items = read(put(tmp_path, text, name))
    holds(items)
    if text is GIFT:
        assert items[0].options[1].explanation == "said 1"


def test_moodle_xml_is_read(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml")
    items = read(put(tmp_path, MOODLE, "q.xml"))
    holds(items)
    assert items[0].options[2].explanation == "said 2"
    bomb = '<!DOCTYPE q [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><quiz>&b;</quiz>'
    for text, said in ((bomb, "entities"), ("<html></html>", "root <html>"), ("<quiz>", "cannot be read")):
        with pytest.raises(KinaError, match=said):
            read_items(put(tmp_path, text, "bad.xml"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Which? {=a =b}", "not_multiple_choice"),
        ("Which? {=a ~b =c}", "multiple_keys"),
        ("Which? {~%50%a ~%50%b ~c}", "multiple_keys"),
        ("Which? {~a ~b}", "no_key"),
        ("Match {=a -> b ~c}", "not_multiple_choice"),
        ("Say something", "gift_malformed"),
    ],
)
def test_gift_questions_without_one_right_answer_are_refused(text: str, reason: str, tmp_path: Path) -> None:
    result = read_items(put(tmp_path, text, "q.gift"))
    assert (result.items, [reject.reason for reject in result.rejects]) == ((), [reason])


def test_gift_escapes_weights_and_truths(tmp_path: Path) -> None:
    text = "Is 1 \\= 1\\: true? {T}\n\n2 {~%100%\\{x\\}#yes ~%0%y} follows 1."
    first, second = sorted(read(put(tmp_path, text, "q.gift")), key=lambda item: item.question, reverse=True)
    assert (first.question, first.correct_text) == ("Is 1 = 1: true?", "True")
    assert (second.question, second.correct_text) == ("2 ____ follows 1.", "{x}")


def test_an_answer_that_names_no_option_and_other_texts_are_refused(tmp_path: Path) -> None:
    bad = read_items(put(tmp_path, AIKEN + "\n\nWhich?\nA. x\nB. y\nANSWER: D\n", "q.txt"))
    assert [reject.reason for reject in bad.rejects] == ["answer_not_in_options"]
    with pytest.raises(KinaError, match="trivia in plain text"):
        read_items(put(tmp_path, "#Q Which?\n^ b\nA a\nB b\n", "t.txt"))


def test_workbooks_are_read_as_the_texts_they_show(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    import datetime as dt

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Fill in below"])
    sheet.append(["Question", "A", "B", "C", "D", "Correct Answer", "Code"])
    for q, o, k in ROWS:
        sheet.append([q, *o, "ABCD"[k], 7])
    for row in range(3, 7):
        sheet.cell(row, 7).number_format = "000"
    raw = io.BytesIO()
    book.save(raw)
    (tmp_path / "q.xlsx").write_bytes(raw.getvalue())
    items = read(tmp_path / "q.xlsx")
    holds(items)
    assert {item.metadata["Code"] for item in items} == {"007"}
    sheet.append(["When?", dt.datetime(2024, 5, 3), "y", "z", "w", "A"])  # noqa: DTZ001  as sheets have them
    book.save(tmp_path / "d.xlsx")
    dated = read_items(tmp_path / "d.xlsx")
    assert [(r.line, r.reason) for r in dated.rejects] == [(7, "cell_is_date")]
    (tmp_path / "torn.xlsx").write_bytes(raw.getvalue()[:400])
    with pytest.raises(KinaError, match="cannot be read"):
        read_items(tmp_path / "torn.xlsx")
