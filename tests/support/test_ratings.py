from __future__ import annotations

from pathlib import Path

import pytest

from kina_build.errors import RowErrors
from kina_build.support.judge.ratings import (
    Rating,
    is_quoted,
    matrix_of_pairs,
    median_ratings,
    read_pair_scores,
    read_ratings,
    write_ratings,
)
from tests.conftest import fault_cases


def rate(item_id: str, anchor_id: str, rating: int, judge: str = "j1", evidence: str = "") -> Rating:
    return Rating(item_id=item_id, anchor_id=anchor_id, judge=judge, rating=rating, evidence=evidence)


def test_the_median_of_judges_counts():
    ratings = [rate("q", "u", 0, "a"), rate("q", "u", 4, "b"), rate("q", "u", 3, "c"), rate("q", "v", 1, "a")]
    assert median_ratings(ratings) == {("q", "u"): 3.0, ("q", "v"): 1.0}
    assert median_ratings(ratings[:2]) == {("q", "u"): 2.0}


def test_ratings_come_back_as_they_were_written(tmp_path: Path):
    ratings = [rate("q2", "u", 4, evidence="the crux"), rate("q1", "u", 0)]
    write_ratings(tmp_path / "r.jsonl", ratings)
    assert read_ratings(tmp_path / "r.jsonl") == ratings[::-1]


def test_a_blank_rating_or_a_second_one_by_the_same_judge_is_an_error_of_its_line(tmp_path: Path):
    file = tmp_path / "r.csv"
    file.write_text("item_id,anchor_id,judge,rating\nq1,u1,ann,\nq1,u2,ann,5\nq1,u3,ann,1.5\n")
    with pytest.raises(RowErrors) as caught:
        read_ratings(file)
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4]
    file.write_text("item_id,anchor_id,judge,rating\nq1,u1,ann,1\nq1,u1,ann,1\nq1,u1,bob,1\n")
    with pytest.raises(RowErrors, match=r"r\.csv:3: 'ann' rated 'q1' for 'u1' on line 2 too"):
        read_ratings(file)


def test_files_of_scores_and_of_ratings_both_become_scores(tmp_path: Path, make_item, make_anchor):
    items, anchors = [make_item("q1"), make_item("q2")], [make_anchor("u1"), make_anchor("u2")]
    scores = tmp_path / "s.csv"
    scores.write_text("item_id,anchor_id,score\nq1,u1,0.7\n")
    assert read_pair_scores(scores, items, anchors) == {("q1", "u1"): 0.7}
    ratings = tmp_path / "r.csv"
    ratings.write_text("item_id,anchor_id,judge,rating\nq1,u1,a,4\nq1,u1,b,3\n")
    assert read_pair_scores(ratings, items, anchors) == {("q1", "u1"): 0.875}
    matrix = matrix_of_pairs(items, anchors, {("q1", "u1"): 0.7})
    assert matrix.levels.tolist() == [[700, 0], [0, 0]]


def test_rows_about_unknown_items_or_anchors_are_errors(tmp_path: Path, make_item, make_anchor):
    file = tmp_path / "s.csv"
    file.write_text("item_id,anchor_id,score\nq1,u9,0.7\nq9,u1,0.7\n")
    with pytest.raises(RowErrors) as caught:
        read_pair_scores(file, [make_item("q1")], [make_anchor("u1")])
    assert [(f.line, f.message.split(":")[0]) for f in caught.value.faults] == [
        (2, "anchor_id"),
        (3, "item_id"),
    ]


@pytest.mark.parametrize(
    "case", [c for c in fault_cases("anchors") if c.id in ("anc-support-range", "absent")]
)
def test_public_cases_of_score_files(case, tmp_path: Path, make_item, make_anchor):
    file = tmp_path / "s.csv"
    file.write_text(case["input"]["csv"].replace("item,anchor,support", "item_id,anchor_id,score"))
    with pytest.raises(RowErrors) as caught:
        read_pair_scores(file, [make_item("q1"), make_item("q2")], [make_anchor("u1"), make_anchor("u2")])
    said = {fault.line: fault.message for fault in caught.value.faults}
    assert "outside [0, 1]" in said[3]
    assert "not a number" in said[4]
    assert "missing" in said[5]
    assert set(said) == {3, 4, 5}


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        ("which Force acts", True),
        ('"force acts"', True),
        ("force … crate", True),
        ("force ... train", False),
        ("", False),
        ("...", False),
    ],
)
def test_evidence_must_stand_in_the_item(evidence, found, make_item):
    item = make_item(question="Which  force acts on the crate?")
    assert is_quoted(evidence, item) is found
