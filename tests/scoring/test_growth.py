"""Any reply is survived: four times the text takes about four times the calls, for both readers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from kina_build.scoring.lists import match_names, read_list
from kina_build.scoring.replies import extract_letter

GOLDS = ("gold", "tin, white", "lead")
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SHORT = 3_000
"""Characters of the shorter reply: beyond what starts are tried and cues are read at most."""

SHAPES = {
    "brackets": "[ ",
    "closed brackets": "] [",
    "strings": '["gold", ',
    "quotes": "['it's', ",
    "objects": '{"answer": "A", ',
    "fences": "```\ngold\n```\n",
    "fields": "gold#: 6.0\n",
    "table": "| 1 | gold# |\n",
    "bullets": "- gold#\n",
    "glosses": "- **gold#** (a metal): soft, and dear\n",
    "checkboxes": "- [x] gold#\n",
    "numbers": "1. gold# 2. tin ",
    "letters": "A\nB\nC\n",
    "commas": "gold#, tin, ",
    "comma lines": "gold#,\n",
    "names a line": "gold#, tin#\n",
    "and": "gold and tin ",
    "verbs": "the answer is not A because ",
    "thousands": "3,000 ",
    "Han": "金、銅和錫、",
    "struck": "~~A~~ B ",
    "declared": "Answer: A\n",
    "options": "option 1 ",
    "lone surrogates": "\ud800\u200bA ",
}


def reply(shape: str, size: int) -> str:
    """Repeat a shape; words stand for "#", so that entries differ."""
    unit = SHAPES[shape]
    places = range(size // len(unit))
    return "".join(unit.replace("#", f" {WORDS[n % 9]} {WORDS[n // 9 % 9]}{n}") for n in places)


def calls(work: Callable[[], object]) -> int:
    """Count the functions that a piece of work calls, those written in C included."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def read_names(text: str) -> None:
    names = read_list(text, "en", GOLDS).names
    match_names(names, [(gold,) for gold in GOLDS], "en")


def read_letter(text: str) -> None:
    extract_letter(text, len(GOLDS), GOLDS)


@pytest.mark.parametrize("read", [read_names, read_letter])
@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_text_and_no_faster(shape: str, read: Callable[[str], None]) -> None:
    short, long = reply(shape, SHORT), reply(shape, 4 * SHORT)
    read(long[: SHORT // 2])  # what is compiled on first use
    few, many = calls(lambda: read(short)), calls(lambda: read(long))
    assert many <= 5 * few + 1_000


def test_equal_lines_are_looked_at_once() -> None:
    line = "the metal gold\n"
    read_names(line * 10)
    few, many = calls(lambda: read_names(line * 100)), calls(lambda: read_names(line * 400))
    assert (many - few) / 300 < 25


@pytest.mark.parametrize("size", [100, 5_000])
def test_a_name_is_known_behind_a_verb_however_long_the_sentence(size: int) -> None:
    text = "it is a metal and " * size + "is gold, lead"
    assert read_list(text, "en", GOLDS).names == ("gold", "lead")


def test_reasoning_may_be_longer_than_the_list_that_is_read() -> None:
    text = "<think>" + "gold or tin? " * 40_000 + "</think>\n- gold\n- lead"
    assert read_list(text, "en", GOLDS).names == ("gold", "lead")


@pytest.mark.parametrize("text", ["[3and 4]", "['gold' is 1, 'lead']"])
def test_a_reply_that_is_nearly_python_warns_nobody(text: str, recwarn: pytest.WarningsRecorder) -> None:
    read_list(text)
    assert not recwarn.list
