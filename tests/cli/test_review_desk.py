from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.items.model import Item
from kina_build.items.pool import write_pool

Kina = Callable[..., Any]


@pytest.fixture
def desk(kina: Kina, make_item: Callable[..., Item]) -> Kina:
    """Lay a pool of six items and three reviewers into the working folder."""
    write_pool(Path("pool.jsonl"), [make_item(f"q{n}", f"Which is {n}?", field="law") for n in range(6)])
    Path("reviewers.csv").write_text("reviewer_id,payee_id,fields\nann,p1,law;art\nbob,p2,\ncat,p3,law\n")
    return kina


def test_assign_push_pull_status_without_a_server(desk: Kina) -> None:
    made = json.loads(desk("review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv", "--json").stdout)
    assert made["assignments"] == 12
    assert made["loads"] == {"ann": 4, "bob": 4, "cat": 4}
    common = ("--reviewers", "reviewers.csv", "--folder", "sheets", "--json")
    pushed = json.loads(desk("review", "push", "pool.jsonl", "assignments.jsonl", *common).stdout)
    assert pushed["worksheets"] == ["ann.csv", "bob.csv", "cat.csv"]
    pulled = json.loads(desk("review", "pull", "desk.json", *common).stdout)
    assert pulled["results"] == {"missing": 12}
    status = json.loads(
        desk("review", "status", "assignments.jsonl", "--reviews", "reviews.jsonl", "--json").stdout
    )
    assert status["items"] == {"both": 0, "one": 0, "none": 6}


def test_open_work_is_capped_by_the_rubric_and_said(desk: Kina) -> None:
    Path("kina.toml").write_text("[review]\nopen_cap = 2\n")
    done = desk("review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv")
    assert "3 items wait" in done.stdout
    again = desk(
        "review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv", "--open-cap", "0", "--json"
    )
    assert json.loads(again.stdout)["assignments"] == 12


def test_an_impossible_field_is_named_and_nothing_is_written(desk: Kina) -> None:
    Path("reviewers.csv").write_text("reviewer_id,fields\nann,law\nbob,art\n")
    done = desk("review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv")
    assert done.exit_code == 1
    assert "6 items (q0, q1, q2, q3, q4, ...) need 12 reviews; ann can give 6" in done.stdout
    assert not Path("assignments.jsonl").exists()


def test_one_desk_must_be_named(desk: Kina) -> None:
    desk("review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv")
    line = ("review", "push", "pool.jsonl", "assignments.jsonl", "--reviewers", "reviewers.csv")
    for more in ((), ("--url", "http://127.0.0.1:9", "--folder", "sheets")):
        done = desk(*line, *more)
        assert (done.exit_code, "name one desk" in done.stderr) == (2, True)


def test_a_repeated_reviewer_is_refused(desk: Kina) -> None:
    Path("reviewers.csv").write_text("reviewer_id\nann\nann\n")
    done = desk("review", "assign", "pool.jsonl", "--reviewers", "reviewers.csv")
    assert (done.exit_code, "reviewer 'ann' stands more than once" in done.stderr) == (2, True)


def test_handbook_in_both_forms(desk: Kina) -> None:
    assert desk("review", "handbook", "-o", "handbook.md").exit_code == 0
    assert desk("review", "handbook", "-o", "handbook.html").exit_code == 0
    assert Path("handbook.md").read_text().startswith("# Reviewer handbook")
    assert Path("handbook.html").read_text().startswith("<!doctype html>")


def test_agreement_says_undefined_where_nobody_could_disagree(desk: Kina) -> None:
    rows = [{"item_id": "q1", "reviewer_id": r, "verdict": "accept"} for r in ("ann", "bob")]
    Path("reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = desk("review", "agreement", "reviews.jsonl")
    assert done.exit_code == 0
    assert "undefined" in done.stdout
    assert "no_variation" in done.stdout


def test_a_review_to_grade_that_is_not_there_is_named(desk: Kina) -> None:
    slot = {"item_id": "q1", "reviewer_id": "ann", "assignment_id": "t1", "review_of": "eve"}
    review = {"item_id": "q1", "reviewer_id": "bob", "submitted_at": "2026-03-01T10:00:00Z"}
    Path("grading.jsonl").write_text(json.dumps(slot) + "\n")
    Path("reviews.jsonl").write_text(json.dumps(review) + "\n")
    given = ("--reviewers", "reviewers.csv", "--reviews", "reviews.jsonl", "--folder", "sheets")
    done = desk("review", "push", "pool.jsonl", "grading.jsonl", *given)
    assert done.exit_code == 2
    assert "to be graded but not among the reviews: 'eve' on item 'q1'" in done.stderr
    assert not Path("sheets").exists()
