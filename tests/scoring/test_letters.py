"""Letters read from replies: many languages, many disguises, and nothing invented."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.scoring.replies import extract_letter, labels
from kina_build.scoring.replies.labels import LATIN
from tests.scoring.letter_cases import CASES, MANY_OPTIONS, SECOND_BATCH, WITH_OPTIONS

PLAIN = [
    pytest.param(*case, id=f"{kind}-{n}") for kind, cases in CASES.items() for n, case in enumerate(cases)
]
PLAIN += [pytest.param(*case, id=f"second-{n}") for n, case in enumerate(SECOND_BATCH)]


@pytest.mark.parametrize(("reply", "n_options", "letter"), PLAIN)
def test_letter(reply: str, n_options: int, letter: str | None) -> None:
    found = extract_letter(reply, n_options)
    assert found.letter == letter
    assert (found.status == "ok") == (letter is not None)


@pytest.mark.parametrize(("reply", "options", "letter"), WITH_OPTIONS)
def test_answer_in_words(reply: str, options: list[str], letter: str | None) -> None:
    assert extract_letter(reply, len(options), options).letter == letter


@pytest.mark.parametrize(("reply", "n_options", "letter"), MANY_OPTIONS)
def test_labels_past_z_are_numbers(reply: str, n_options: int, letter: str | None) -> None:
    assert extract_letter(reply, n_options).letter == letter


@pytest.mark.parametrize(
    ("reply", "reasoning", "status"),
    [
        ("", "", "empty"),
        (" \n", "", "empty"),
        ("", "It must be C.", "reasoning_only"),
        ("<think>Answer: C</think>", "", "reasoning_only"),
        ("<think>It could be B, since Answer: B would need", "", "truncated"),
        ("Answer: C or D", "", "multiple"),
        ("Answer: I don't know", "", "refused"),
        ("I cannot answer this question.", "", "refused"),
        ("Answer: Z", "", "out_of_range"),
        ("So the first step is to compute", "", "truncated"),
        ("Rivers run downhill.", "", "unreadable"),
        ("Answer: C", "", "ok"),
    ],
)
def test_status(reply: str, reasoning: str, status: str) -> None:
    assert extract_letter(reply, 10, reasoning=reasoning).status == status


@pytest.mark.real
def test_public_cases(shared: Path) -> None:
    lines = (shared / "letters" / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    wrong, invented = [], []
    for row in rows:
        gold = row["gold_extraction"]
        found = extract_letter(
            row["response"], row["n_options"], row.get("options"), row.get("reasoning", "")
        ).letter
        if gold is None and found is not None:
            invented.append(row["id"])
        if gold is not None and found != gold:
            wrong.append(row["id"])
    with_letter = sum(row["gold_extraction"] is not None for row in rows)
    assert len(wrong) <= 0.03 * with_letter, wrong
    assert len(invented) <= 1, invented


@given(st.text(max_size=300), st.integers(1, 30))
def test_any_text_gives_a_label_of_the_item_or_none(text: str, n_options: int) -> None:
    found = extract_letter(text, n_options)
    assert (found.letter in labels(n_options)) == (found.status == "ok")
    assert found == extract_letter(text, n_options)


@given(st.sampled_from(LATIN[:10]), st.text(alphabet="abcdefgh .,\n", max_size=120))
def test_an_answer_line_at_the_end_is_always_read(letter: str, before: str) -> None:
    assert extract_letter(f"{before}\nAnswer: {letter}", 10).letter == letter


@given(
    st.sampled_from(LATIN[:10]),
    st.sampled_from(["**{}**", "({})", "[{}]", "'{}'", "\\boxed{{{}}}", "\u200b{}", "{}."]),
)
def test_decoration_changes_nothing(letter: str, decoration: str) -> None:
    assert extract_letter("Answer: " + decoration.format(letter), 10).letter == letter


EVIL = [
    *(
        "a",
        "answer ",
        "Answer: ",
        "\\boxed{",
        "<think>",
        "A, ",
        "(",
        "A n s w e r ",
        '{"answer": ',
        "not ",
        "if A is ",
    ),
    *(
        "\n",
        "~~",
        "<",
        "correct ",
        "$",
        "\\text{",
        " ",
        "#",
        "答案",
        "I pick ",
        "A or ",
        "<a ",
        "- ",
        ".",
        '"answer"',
    ),
    *("correct w w ", "is is ", "&amp;", "Question:\n", "the the ", "\u200b", "*", "|", "A is wrong ", "選"),
]


@pytest.mark.parametrize("piece", EVIL)
def test_time_is_linear(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.process_time()
        extract_letter(text, 10)
        return time.process_time() - start

    extract_letter(piece * 10, 10)
    # a quadratic step would take minutes here; linear ones take well under a second
    assert seconds(100_000) < 3.0


RUST = ["Iron", "Iron (II) oxide", "Copper", "Tin"]


@pytest.mark.parametrize(
    ("reply", "options", "letter", "status"),
    [
        ("Answer: Iron (II) oxide, because it forms first.", RUST, "B", "ok"),
        ("The red rust on it is oxide of iron.", ["iron", "oxide of iron", "tin", "lead"], "B", "ok"),
        ("Answer: f(x) because it is even", ["f(x)", "g(x)", "h(x)", "k"], "A", "ok"),
        ("Answer: D) Tin", RUST, "D", "ok"),
        ("Answer: B) Tin", RUST, None, "conflict"),
    ],
)
def test_the_longest_text_wins_and_a_text_must_fit_its_letter(
    reply: str, options: list[str], letter: str | None, status: str
) -> None:
    found = extract_letter(reply, len(options), options)
    assert (found.letter, found.status) == (letter, status)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("It must be option (b), since the others fail.", "B"),
        ("Looking at them, (b) is the correct one.", "B"),
        ("Answer: (A) method of chunks", "A"),
        ("Answer: [A method of chunks]", "A"),
        ("Answer: A method of chunks", None),
        ("The answer is option 1.", "A"),
    ],
)
def test_a_bracket_makes_a_letter_of_what_might_be_a_word(reply: str, letter: str | None) -> None:
    assert extract_letter(reply, 4).letter == letter


@pytest.mark.parametrize(
    "reply", ["Answer: B", "**Final answer: B**", r"\boxed{B}", "B", "The answer is (B)."]
)
def test_a_mere_letter_is_a_label_although_another_option_is_called_so(reply: str) -> None:
    blood_groups = ["O", "A", "B", "AB"]
    assert extract_letter(reply, 4, options=blood_groups).letter == "B"
    assert extract_letter("The blood group is B", 4, options=blood_groups).letter == "C"


def test_a_reply_that_was_cut_off_keeps_a_letter_of_its_first_half_only() -> None:
    assert extract_letter("B\nThe reason for it is long and", 4, finish_reason="length").letter == "B"
    late = extract_letter("Let us see what each of them says about it.\nB", 4, finish_reason="length")
    assert (late.letter, late.status) == (None, "truncated")
