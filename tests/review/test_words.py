from __future__ import annotations

from typing import get_args

import pytest

from kina_review.pay.sentences import SENTENCES
from kina_review.records import Reason
from kina_review.words import (
    STATUS_ALIASES,
    VERDICT_ALIASES,
    Status,
    Verdict,
    fold,
    read_flaw_kind,
    read_status,
    read_verdict,
)


@pytest.mark.parametrize("word", ["Timed-Out", "timed out", " TIMED_OUT ", "timed   out"])
def test_spellings_of_one_word_are_one(word: str) -> None:
    assert fold(word) == "timed_out"
    assert read_status(word) == "missing"


def test_aliases_lead_to_known_words_and_do_not_hide_them() -> None:
    assert set(STATUS_ALIASES.values()) <= set(get_args(Status))
    assert set(VERDICT_ALIASES.values()) <= set(get_args(Verdict))
    assert not set(STATUS_ALIASES) & set(get_args(Status))
    assert not set(VERDICT_ALIASES) & set(get_args(Verdict))


@pytest.mark.parametrize("word", ["", "perhaps", "submittted", "accept?"])
def test_an_unknown_word_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is not one of"):
        read_status(word)
    with pytest.raises(ValueError, match="is not one of"):
        read_verdict(word)


def test_every_reason_has_its_sentence() -> None:
    assert set(get_args(Reason)) <= set(SENTENCES)


@pytest.mark.parametrize("word", [None, 1, [], ["accept"], {}])
def test_a_word_that_is_no_text_is_refused(word: object) -> None:
    for read in (read_status, read_verdict, read_flaw_kind):
        with pytest.raises(ValueError, match="is not one of"):
            read(word)
