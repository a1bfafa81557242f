"""What strangers write never steers a terminal, breaks a JSON document or leaves its Markdown cell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kina_build.escapes import OBEYED, in_json, in_markdown, on_terminal, on_terminal_lines, whole

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("k1\x1b[31m", "k1\\x1b[31m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202egnp", "\\u202egnp"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("\ud83d", "\\ud83d"),
        ("é 𝛼 名 👩\u200d🔬", "é 𝛼 名 👩\u200d🔬"),
    ],
)
def test_controls_are_shown(text: str, shown: str) -> None:
    assert on_terminal(text) == shown


def test_our_own_lines_stay_lines() -> None:
    assert on_terminal_lines("Usage: kina\nError: \x1b[2J\r\n") == "Usage: kina\nError: \\x1b[2J\\r\n"


@given(ANYTHING)
def test_nothing_obeyed_is_left(text: str) -> None:
    assert not OBEYED.search(on_terminal(text))
    assert not OBEYED.search(in_markdown(text))
    on_terminal(text).encode()


@given(ANYTHING, st.sampled_from(["utf-8", "ascii", "latin-1", "cp1252"]))
def test_a_document_is_read_back_the_same_in_any_encoding(text: str, encoding: str) -> None:
    document = in_json(json.dumps({text: [text]}, ensure_ascii=False, indent=2) + "\n", encoding)
    document.encode(encoding)
    assert not OBEYED.search(document.replace("\n", ""))
    # halves that stand beside each other are one sign for every reader of JSON
    assert json.loads(document) == json.loads(json.dumps({text: [text]}))


MARKS = "|*`[]~_<>&\\#-+=1.) \nab;!"


@given(st.text(MARKS, min_size=1))
def test_a_text_stays_in_its_cell_as_it_is(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {in_markdown(text)} | x |\n"
    (body,) = [
        [token.children for token in tokens if token.type == "inline"][2:]
        for tokens in [MarkdownIt("commonmark").enable("table").parse(table)]
    ]
    assert len(body) == 2
    assert {child.type for child in body[0] or ()} <= {"text", "text_special"}
    assert "".join(child.content for child in body[0] or ()) == " ".join(text.split())


@given(st.text(MARKS, min_size=1))
def test_a_text_alone_is_a_paragraph(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(in_markdown(text))
    assert [token.type for token in tokens] in (["paragraph_open", "inline", "paragraph_close"], [])


def test_plain_words_stay_as_they_are() -> None:
    for text in ("Physics/Optics", "R & D", "item_1", "-2.50", "3.5 %", r"\alpha", "(none given)"):
        assert in_markdown(text) == text


def test_halves_of_pairs_are_replaced() -> None:
    assert whole("a\ud83d\ude00b\udc00😀") == "a\ufffd\ufffdb\ufffd😀"
