"""Questions with several right answers: asked for all of them, read whole, marked as a set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from kina_build.scoring.multiple_choice import credit, score_items
from kina_build.scoring.prompts import build_prompt, prompt_digest
from kina_build.scoring.questions import Question, chance_level, hash_option
from kina_build.scoring.replies import extract_letter
from kina_build.scoring.responses import Response

Kina = Callable[..., Result]

GASES = ("neon", "iron", "argon", "zinc")
ASKED = Question(item_id="q", question="Which are noble gases?", choices=GASES, answer="AC", several=True)

READ = {
    "Answer: A, C": "AC", "Answer: A and C": "AC", "Answer: CA": "AC", "Answer: (C), (A)": "AC",
    "answer: a, c": "AC",
    "**Answer: A, C**": "AC", "Answer: A": "A", "Answer: A, not C": "A", "A, C": "AC", "A\nC": "AC",
    "The correct answers are A, C and D.": "ACD", "Answer:\nA) neon\nC) argon": "AC", "答案：A、C": "AC",
    "Answer: A) neon\nC) argon": "AC", "The correct options are:\n- A: neon\n- C: argon": "AC",
    "Answer: neon and argon": "AC", '{"answer": ["A", "C"]}': "AC", "\\boxed{A, C}": "AC",
    "Respuesta: A y C": "AC",
    "[x] A. neon\n[ ] B. iron\n[x] C. argon\n[ ] D. zinc": "AC", "Answer: A, C. B is a metal.": "AC",
    "Answer: A (neon), C (argon)": "AC",
    "Answer: A\n\nWait, C too. Answer: A, C": "AC", "Answer: A, C, E": None,
    "Answer: A or C": None, "I cannot answer this.": None, "Answer: X, Y": None, "Answer: A and": None,
}  # fmt: skip


@pytest.mark.parametrize(("reply", "letters"), READ.items())
def test_all_that_is_declared_together_is_the_answer(reply: str, letters: str | None) -> None:
    assert extract_letter(reply, 4, GASES, several=True).letter == letters


def test_a_cut_off_list_is_not_taken_for_the_whole() -> None:
    assert extract_letter("Answer: A", 4, GASES, finish_reason="length", several=True).letter is None
    assert extract_letter("Answer: A, C", 4, GASES).status == "multiple"  # one is right, two are said


@pytest.mark.parametrize(
    ("letters", "exact", "partial"),
    [("AC", 1, 1), ("A", 0, 0.5), ("ABC", 0, 0.5), ("BD", 0, 0), ("ABCD", 0, 0), (None, 0, 0)]
)  # fmt: skip
def test_the_exact_set_counts_or_a_share_of_it(letters: str | None, exact: float, partial: float) -> None:
    assert (credit(letters, ASKED), credit(letters, ASKED, partial=True)) == (exact, partial)
    single = ASKED.model_copy(update={"several": False, "answer": "A"})
    assert credit("AC", single, partial=True) == 0


def test_the_prompt_asks_for_all_and_chance_knows_it() -> None:
    assert "choose all correct options" in build_prompt(ASKED)
    single = ASKED.model_copy(update={"several": False, "answer": "A"})
    assert prompt_digest(build_prompt(single)) != prompt_digest(build_prompt(ASKED))
    assert chance_level([ASKED]) == 1 / 15


def test_letters_of_a_shuffled_form_go_by_their_texts() -> None:
    shown = Response(item_id="q", model="m", response="Answer: B, C", option_order=(1, 0, 2, 3))
    row = score_items({"q": ASKED}, [shown])[0]
    assert (row.letters, row.score) == (("AC",), 1.0)


def test_on_the_command_line(kina: Kina, tmp_path: Path) -> None:
    rows = [
        {"id": "q", "question": "Which are noble gases?", "options": list(GASES), "answer": "AC"},
        {"id": "r", "question": "Which rusts?", "options": list(GASES), "answer": "B"},
    ]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert kina("import", "raw.jsonl", "-o", "pool.jsonl", "--several-keys").exit_code == 0
    hashes = list(map(hash_option, GASES))
    said = [
        {"item_id": name, "model": model, "response": text, "option_hashes": hashes}
        for model, texts in {
            "whole": ("Answer: C, A", "Answer: B"),
            "half": ("Answer: A", "Answer: B"),
        }.items()
        for name, text in zip("qr", texts, strict=True)
    ]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    files = ("--task", "multiple-choice", "--items", "pool.jsonl", "--responses", "said.jsonl")
    for flags, half in (((), 0.5), (("--partial-credit",), 0.75)):
        done = json.loads(kina("score", *files, *flags, "--json").stdout)
        assert {one["model"]: one["score"] for one in done["models"]} == {"half": half, "whole": 1.0}
        assert done["several_right"]["questions"] == 1
    refused = kina("score", *files, "--extractor", "mmlu-pro")
    assert (refused.exit_code, "public rules read one letter" in refused.stderr) == (2, True)
    letters = [
        {"item_id": "q", "model": f"m{n}", "letter": "C, A", "option_hashes": hashes} for n in range(3)
    ]
    (tmp_path / "letters.jsonl").write_text("".join(json.dumps(row) + "\n" for row in letters))
    told = kina("triage", "letters.jsonl", "--pool", "pool.jsonl", "--json")
    triaged = json.loads(told.stdout)
    assert [(one["right"], one["rival"]) for one in triaged["queue"]] == [(3, None)]
    (tmp_path / "strings.jsonl").write_text(json.dumps({"model": "m", "answers": "AB"}) + "\n")
    strings = kina("triage", "strings.jsonl", "--pool", "pool.jsonl", "--letters-of", "pool.jsonl")
    assert (strings.exit_code, "one letter an item" in strings.stderr) == (2, True)
