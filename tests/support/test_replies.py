from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.chat.objects import find_objects
from kina_build.support.judge.prompts import read_rating, read_ratings_reply

PLAIN = (
    '{"ratings": [{"anchor": 1, "rating": 3, "evidence": "heat"}, '
    '{"anchor": 2, "rating": 0, "evidence": ""}]}'
)
WANTED = {1: (3, "heat"), 2: (0, "")}


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"Here are my ratings:\n{PLAIN}\nHope this helps {{smile}}",
        f'<think>maybe {{"anchor": 1, "rating": 0}}</think>{PLAIN}',
        PLAIN.replace("}]}", "},],}"),
        PLAIN[:-2],
        PLAIN[:-1] + ', {"anchor": 3, "rat',
        '[{"anchor": 1, "rating": 3, "evidence": "heat"}, {"anchor": 2, "rating": 0}]',
        '{"anchor": 1, "rating": 3, "evidence": "heat"}\n{"anchor": 2, "rating": 0}',
        '{"1": {"rating": 3, "evidence": "heat"}, "2": 0}',
        '{"ratings": {"anchor 1": {"score": "3/4", "quote": ["heat"]}, "Anchor #2": {"score": 0.0}}}',
        '{"ratings": [{"id": "1", "rating": "3", "evidence": "heat"}, {"id": "2", "rating": "0.0"}]}',
    ],
    ids=[
        "plain", "fenced", "chatty", "thinking", "trailing commas", "unclosed", "cut", "list", "lines",
        "mapping", "nested mapping", "strings",
    ],
)  # fmt: skip
def test_ratings_are_read_however_the_model_wrapped_them(text):
    read = read_ratings_reply(text, asked=2)
    assert read.ratings == WANTED
    assert not read.faults


@pytest.mark.parametrize("value", [5, -1, 2.5, "high", "", None, True, [3], "3/5", "40"])
def test_what_is_no_rating_is_a_fault_and_never_a_number(value):
    assert read_rating(value) is None
    read = read_ratings_reply(json.dumps({"ratings": [{"anchor": 1, "rating": value}]}), asked=1)
    assert read.ratings == {}
    assert 1 in read.faults


def test_an_anchor_rated_twice_differently_is_a_fault():
    read = read_ratings_reply('[{"anchor": 1, "rating": 3}, {"anchor": 1, "rating": 2}]', asked=1)
    assert (read.ratings, read.faults) == ({}, {1: "rated twice, differently"})
    same = read_ratings_reply('[{"anchor": 1, "rating": 3}, {"anchor": 1, "rating": 3}]', asked=1)
    assert same.ratings == {1: (3, "")}


def test_anchors_nobody_asked_about_are_only_counted():
    read = read_ratings_reply('[{"anchor": 7, "rating": 3}, {"anchor": "x", "rating": 2}]', asked=2)
    assert (read.ratings, read.faults, read.strangers) == ({}, {}, 2)


@pytest.mark.parametrize("text", ["", "I cannot rate this.", "{", "[[[[", "null", '{"ratings": []}', "{}{}"])
def test_a_reply_without_ratings_has_none(text):
    assert read_ratings_reply(text, asked=3).ratings == {}


@given(st.dictionaries(st.integers(1, 9), st.tuples(st.integers(0, 4), st.text(max_size=9)), max_size=9))
def test_what_is_written_as_asked_comes_back(ratings):
    rows = [{"anchor": n, "rating": r, "evidence": e} for n, (r, e) in ratings.items()]
    text = json.dumps({"ratings": rows}, ensure_ascii=False)
    read = read_ratings_reply(text, asked=9)
    assert {n: r for n, (r, _) in read.ratings.items()} == {n: r for n, (r, _) in ratings.items()}
    assert not read.faults


@given(st.text(alphabet='{}[]",:0123anchortig \n', max_size=60))
def test_no_text_breaks_the_reader(text):
    list(find_objects(text))
    read_ratings_reply(text, asked=3)
