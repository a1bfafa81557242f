"""The corpus of replies is well formed; how they are read is tested elsewhere."""

from __future__ import annotations

from collections import Counter
from string import ascii_uppercase

import pytest

from tests.scoring.replies import Part, load, load_lists, part_of, statuses

LETTERS = [*load("open"), *load("sealed")]
LISTS = [*load_lists("open"), *load_lists("sealed")]


def test_ids_are_unique() -> None:
    ids = [case.id for case in LETTERS] + [case.id for case in LISTS]
    assert len(set(ids)) == len(ids)


def test_no_reply_is_there_twice() -> None:
    asked = Counter(
        (case.reply, case.n_options, case.options, case.question_form, case.finish_reason) for case in LETTERS
    )
    assert [reply for reply, times in asked.items() if times > 1] == []


def test_the_corpus_is_as_large_and_varied_as_it_says() -> None:
    assert len(LETTERS) >= 1050
    assert len(LISTS) >= 150
    assert len({case.kind for case in LETTERS}) >= 27
    assert len({case.language for case in LETTERS}) >= 30
    assert sum(case.status == "refused" for case in LETTERS) >= 120
    assert {case.status for case in LETTERS} == set(statuses())
    assert sum(len(case.reply.split()) >= 60 for case in LETTERS) >= 36


def test_each_kind_has_enough_cases_to_count() -> None:
    sizes = Counter(case.kind for case in LETTERS)
    assert min(sizes.values()) >= 10


def test_a_letter_and_its_status_agree() -> None:
    for case in LETTERS:
        assert (case.letter is not None) == (case.status == "ok"), case.id
        assert case.letter is None or case.letter in ascii_uppercase[: case.n_options], case.id
        assert case.reply.strip() or case.letter is None, case.id


def test_a_question_is_as_its_fields_say() -> None:
    for case in LETTERS:
        assert 2 <= case.n_options <= len(ascii_uppercase), case.id
        assert case.options is None or len(case.options) == case.n_options, case.id
        assert case.question_form in {"which", "not"}, case.id
        assert case.finish_reason in {None, "length", "stop"}, case.id


def test_lists_hold_no_more_matches_than_names() -> None:
    for case in LISTS:
        assert case.matched <= min(max(case.predicted), len(case.gold)), case.id
        assert (case.status == "ok") == (max(case.predicted) > 0), case.id


def test_about_a_third_is_sealed() -> None:
    for cases in (LETTERS, LISTS):
        sealed = sum(part_of(case.id) == "sealed" for case in cases)
        assert 0.28 < sealed / len(cases) < 0.38


@pytest.mark.parametrize("part", ["open", "sealed"])
def test_a_part_holds_its_own_cases_only(part: Part) -> None:
    assert {part_of(case.id) for case in load(part)} == {part}
    assert {part_of(case.id) for case in load_lists(part)} == {part}
