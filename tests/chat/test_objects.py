"""Whatever a model writes, reading it ends, soon, and without a fault."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kina_build.chat.objects import MOST_FAILURES, find_objects, read_value
from kina_build.scoring.lists import parse_names
from kina_build.scoring.lists.marking import read_verdict
from kina_build.scoring.replies import extract_letter
from kina_build.support.judge.prompts import read_ratings_reply

DEEP = 30_000
READERS: dict[str, Callable[[str], object]] = {
    "letter": lambda text: extract_letter(text, 4, ["red", "green", "blue", "not red"]),
    "names": lambda text: parse_names(text, "en", ["a, b", "c"]),
    "ratings": lambda text: read_ratings_reply(text, 5),
    "verdict": lambda text: read_verdict(text, 5),
}
HOSTILE = {
    "brackets": "[" * 100_000,
    "closed brackets": "[" * DEEP + "]" * DEEP,
    "objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "unclosed objects": '{"a":[1,' * 20_000,
    "starts in vain": '{"' * 50_000,
    "blanks within": "x" + " " * 100_000 + "y",
    "quotes within": "x" + "\"' " * 30_000 + "y",
    "stars within": "x" + "*" * 100_000 + "y",
    "dashes": "-" * 100_000,
    "commas": "," * 100_000,
    "one letter": "A" * 100_000,
    "answers": "Answer: " * 12_000,
    "blanks behind a cue": "Answer:" + " " * 100_000 + "x",
    "digits": '[{"anchor":1,"rating":' + "7" * 5_000 + "}]",
    "digits in a text": '[{"anchor":1,"rating":"' + "7" * 5_000 + '"}]',
    "digits behind a cue": "Answer: " + "7" * 5_000,
    "no number": '[{"anchor":1,"rating":NaN},{"anchor":2,"rating":-Infinity}]',
    "nested evidence": '[{"anchor":1,"rating":3,"evidence":' + "[" * 900 + "]" * 900 + "}]",
    "half a pair": "Answer: \ud83d B \udc00",
    "controls": "\x00\x1b[2J\u202e\u2028" * 10_000,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_reply_ends_a_run_or_holds_it(reader: str, kind: str) -> None:
    text = HOSTILE[kind]
    READERS[reader]("Answer: A")  # what is imported and compiled at first use is not the reply's doing
    before = time.process_time()
    READERS[reader](text)
    # quadratic readers took minutes; a loaded machine takes several times the 1 ms per KB
    assert time.process_time() - before < 0.5 + 0.005 * len(text) / 1_000


def test_what_cannot_be_read_rates_nothing() -> None:
    for kind in ("digits", "digits in a text", "no number"):
        assert read_ratings_reply(HOSTILE[kind], 5).ratings == {}
    assert read_verdict(HOSTILE["digits behind a cue"], 5) is None
    assert read_value(HOSTILE["closed brackets"]) is None


def test_mathematics_before_the_answer_costs_no_start() -> None:
    formula = r"\frac{a}{b} " * (2 * MOST_FAILURES)
    assert list(find_objects(formula + '{"anchor": 1, "rating": 3}')) == [{"anchor": 1, "rating": 3}]


def test_after_a_nest_too_deep_nothing_is_looked_for() -> None:
    assert list(find_objects('{"a": 1}' + HOSTILE["objects"] + '{"b": 2}')) == [{"a": 1}]
