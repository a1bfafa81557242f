"""Public rules: each reads as its publisher says, wrongly where it does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from kina_build.scoring.public import EXTRACTORS, extract_by

Kina = Callable[..., Result]
RULES = [name for name in EXTRACTORS if name != "kina"]


@pytest.mark.parametrize(
    ("rule", "reply", "letter"),
    [
        ("mmlu-pro", "The answer is (C). Or the answer is (D).", "C"),
        ("mmlu-pro", "First answer: A, then Answer: B\nAnswer: C", "B"),  # the last on the first such line
        ("mmlu-pro", "Option D fits. I hope this helps!", "I"),
        ("mmlu-pro", "nothing at all", None),
        ("mmlu-pro-any", "It is Delta", "D"),
        ("mmlu-pro-two", "It is D", None),
        ("simple-evals", "Answer: B\nAnswer: C", "B"),
        ("simple-evals", "**Answer: $D$**", "D"),
        ("simple-evals", "Answer: (B)", None),
        ("simple-evals", "Answer: and so on", None),  # its "a" is no option
        ("lm-eval", "the answer is B, no, the answer is C", "B"),
        ("lm-eval", "Answer: B", None),
        ("inspect", "ANSWER: B", "B"),
        ("inspect", "My answer: A, so\nANSWER: C", "C"),  # the line wins over what stands before it
        ("inspect", "so answer: D.", "D"),
        ("inspect", "ANSWER: A, B", None),
        ("inspect", "Answer: (B)", None),
    ],
)
def test_what_each_rule_takes(rule: str, reply: str, letter: str | None) -> None:
    assert extract_by(rule, reply, 10).letter == letter


def test_a_letter_beyond_the_options_is_out_of_range() -> None:
    assert extract_by("mmlu-pro", "The answer is (J).", 4).status == "out_of_range"
    assert extract_by("mmlu-pro", " ", 4).status == "empty"


def published(reply: str, last: str) -> str | None:
    """MMLU-Pro's chain as its expressions are published; they take time in the square of a line."""
    for pattern in (r"answer is \(?([A-J])\)?", r".*[aA]nswer:\s*([A-J])"):
        if found := re.search(pattern, reply):
            return found[1]
    found = re.search(last, reply, re.DOTALL)
    return found[0] if found else None


@given(st.text(alphabet="AaBJn swer:is(.)\n", max_size=60) | st.lists(
    st.sampled_from(["answer is ", "Answer: ", "answer:", "(C)", "D", "I ", "so", "\n", "."]), max_size=12
).map("".join))  # fmt: skip
def test_the_linear_forms_read_as_the_published_expressions(reply: str) -> None:
    lone = r"\b[A-J]\b(?!.*\b[A-J]\b)"
    assert extract_by("mmlu-pro", reply, 10).letter == published(reply, lone)
    assert extract_by("mmlu-pro-any", reply, 10).letter == published(reply, r"[A-J](?=[^A-J]*$)")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("piece", ["answer: ", "ANSWER: a ", "A", " ", "Answer:", "answer is ("])
def test_long_replies_are_read_to_their_end(rule: str, piece: str) -> None:
    assert extract_by(rule, piece * 30_000 + "\nthe answer is (C)\nAnswer: C", 10).rule == rule


def test_every_rule_side_by_side(kina: Kina, tmp_path: Path) -> None:
    release = tmp_path / "release"
    release.mkdir()
    rows = [
        {"id": f"q{n}", "question": "Which?", "choices": ["x"] * n + list("abcd"), "answer": "B"}
        for n in (0, 1)
    ]
    (release / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = {"good": "Answer: B", "polite": "**B** is right.\nI hope this helps!"}
    replies = [
        {"item_id": row["id"], "model": model, "response": text, "option_hashes": None}
        for model, text in said.items()
        for row in rows
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies))
    line = ("score", "--task", "multiple-choice", "--release", "release", "--responses", "r.jsonl",
            "--letters-of", "release")  # fmt: skip
    report = json.loads(kina(*line, "--all-extractors", "--json").stdout)
    table = {(one["extractor"], one["model"]): one for one in report["extractors"]}
    assert len(table) == 2 * len(EXTRACTORS)
    assert (table["kina", "polite"]["accuracy"], table["kina", "polite"]["rank"]) == (1.0, 1)
    assert (table["mmlu-pro", "polite"]["accuracy"], table["mmlu-pro", "polite"]["rank"]) == (0.0, 2)
    assert table["mmlu-pro-two", "polite"]["with_random"] == pytest.approx((1 / 4 + 1 / 5) / 2)
    assert table["mmlu-pro", "polite"]["other_letters"] == 2
    assert "the same replies by every rule" in kina(*line, "--all-extractors").stdout
    alone = json.loads(kina(*line, "--extractor", "inspect", "--json").stdout)
    assert [one["score"] for one in alone["models"]] == [1.0, 0.0]
    assert alone["extractor"] == "inspect"
