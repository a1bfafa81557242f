from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal, RowErrors
from kina_build.items.model import Item
from kina_review.desk.authorship import Desk
from kina_review.desk.collection import _mark, collect_grades, collect_reviews
from kina_review.desk.deskmap import project_title, read_task
from kina_review.desk.grading_plan import Appeal, plan_appeals, plan_grading
from kina_review.desk.worksheets import read_worksheets, write_worksheets
from kina_review.records import Assignment, Review, Reviewer
from kina_review.rubric import CRITERION_NAMES
from kina_review.tournament.screening import screen

SLOTS = [
    Assignment(item_id="q1", reviewer_id="ann", assignment_id="t1"),
    Assignment(item_id="q2", reviewer_id="ann", assignment_id="t2"),
    Assignment(item_id="q1", reviewer_id="bob", assignment_id="t3"),
]
SELF = Desk({"ann": "ann", "bob": "bob"})


def fill(path: Path, **answers: str) -> None:
    """Answer the first row of a worksheet."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0] |= answers
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


MARKS = {f"mark_{name}": "4" for name in CRITERION_NAMES}


@pytest.fixture
def items(make_item: Callable[..., Item]) -> dict[str, Item]:
    first = make_item("q1", "=1+1 is what?", ["1", "2"], "B", author_id="author-9", field="maths")
    return {"q1": first, "q2": make_item("q2")}


def test_worksheets_go_out_and_come_back(tmp_path: Path, items: dict[str, Item]) -> None:
    files = write_worksheets(tmp_path, "review", SLOTS, items)
    assert [file.name for file in files] == ["ann.csv", "bob.csv"]
    text = files[0].read_text()
    assert "author-9" not in text
    assert "'=1+1 is what?" in text
    fill(
        files[0],
        **MARKS,
        verdict="reject",
        rationale="No.",
        flaws="wrong_groundtruth/critical/A; other/minor/item",
    )
    found = collect_reviews(read_worksheets(tmp_path), SLOTS, SELF)
    assert [(r.item_id, r.reviewer_id, r.status) for r in found.results] == [
        ("q1", "ann", "submitted"),
        ("q1", "bob", "missing"),
        ("q2", "ann", "missing"),
    ]
    assert [(f.kind, f.option) for f in found.results[0].flaws] == [
        ("wrong_groundtruth", "A"),
        ("other", None),
    ]
    assert found.quarantine == ()


def test_a_sorted_or_repeated_row_keeps_the_name_of_its_review(
    tmp_path: Path, items: dict[str, Item]
) -> None:
    path = write_worksheets(tmp_path, "review", SLOTS, items)[0]
    fill(path, **MARKS, verdict="accept", rationale="Yes.")
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, rows[1], rows[0], rows[0]])
    found = collect_reviews(read_worksheets(tmp_path), SLOTS, SELF)
    assert [(r.item_id, r.review_id) for r in found.results if r.review_id] == [("q1", "ann:t1")]
    assert [(fault.annotation_id, fault.reason) for fault in found.quarantine] == [("ann:t1:8", "duplicate")]


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16", "utf-8-sig"])
def test_a_worksheet_says_when_it_was_handed_in_whatever_a_spreadsheet_made_of_it(
    tmp_path: Path, items: dict[str, Item], encoding: str
) -> None:
    for path in write_worksheets(tmp_path, "review", SLOTS, items):
        at = "2026-03-02T12:00:00Z" if path.stem == "ann" else ""
        fill(path, **MARKS, verdict="accept", rationale="schön", handed_in_at=at)
        path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    later = datetime(2026, 3, 3, tzinfo=UTC)
    ann, bob, _ = collect_reviews(read_worksheets(tmp_path, later), SLOTS, SELF).results
    assert (ann.rationale, ann.submitted_at) == ("schön", datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert bob.submitted_at == later
    closed = screen([ann, bob], lambda _: datetime(2026, 3, 2, 18, tzinfo=UTC))["q1", "1"]
    assert ([r.reviewer_id for r in closed.reviews], closed.absent) == (["ann"], {"bob": "late"})


def test_a_day_number_is_no_instant_of_hand_in(tmp_path: Path, items: dict[str, Item]) -> None:
    path = write_worksheets(tmp_path, "review", SLOTS, items)[0]
    fill(path, **MARKS, verdict="accept", rationale="Yes.", handed_in_at="46090.5")
    with pytest.raises(RowErrors, match="ann.csv:2: handed_in_at: .*day number"):
        read_worksheets(tmp_path)


def test_a_half_filled_or_foreign_row_is_set_aside(tmp_path: Path, items: dict[str, Item]) -> None:
    files = write_worksheets(tmp_path, "review", SLOTS, items)
    fill(files[0], verdict="accept")
    fill(files[1], **MARKS, verdict="accept", rationale="Yes.", assignment_id="t1")
    found = collect_reviews(read_worksheets(tmp_path), SLOTS, SELF)
    assert sorted(fault.reason for fault in found.quarantine) == ["incomplete", "not_assigned"]


def test_what_somebody_filled_in_is_never_written_over(tmp_path: Path, items: dict[str, Item]) -> None:
    ann, bob = write_worksheets(tmp_path, "review", SLOTS, items)
    fill(bob, verdict="accept")
    held = ann.read_bytes(), bob.read_bytes()
    with pytest.raises(InputError, match=r"bob\.csv:2: holds answers"):
        write_worksheets(tmp_path, "review", SLOTS, items)
    assert (ann.read_bytes(), bob.read_bytes()) == held


def test_a_folder_without_worksheets_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no worksheets"):
        read_worksheets(tmp_path / "nowhere")


def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path, items: dict[str, Item]) -> None:
    slot = Assignment(item_id="q1", reviewer_id="../ann", assignment_id="t1")
    with pytest.raises(InputError, match="cannot be the name"):
        write_worksheets(tmp_path / "sheets", "review", [slot], items)
    assert not (tmp_path / "sheets").exists()


def review(item: str, reviewer: str, **more: Any) -> Review:
    return Review.model_validate({"item_id": item, "reviewer_id": reviewer, "verdict": "accept"} | more)


def test_one_adjudicator_grades_both_reviews_of_an_item(tmp_path: Path, items: dict[str, Item]) -> None:
    reviews = [
        review("q1", "ann", ratings=dict.fromkeys(CRITERION_NAMES, 2), rationale="Mine."),
        review("q1", "bob"),
    ]
    reviews += [review("q2", "ann"), review("q2", "cat"), review("q2", "dan", status="draft")]
    plan = plan_grading(reviews, [Reviewer(reviewer_id="gil"), Reviewer(reviewer_id="bob")], seed=0)
    assert [(s.item_id, s.review_of) for s in plan] == [
        ("q1", "ann"),
        ("q1", "bob"),
        ("q2", "ann"),
        ("q2", "cat"),
    ]
    assert {s.reviewer_id for s in plan if s.item_id == "q1"} == {"gil"}
    files = write_worksheets(
        tmp_path, "grading", plan, items, {(r.item_id, r.reviewer_id): r for r in reviews}
    )
    sheet = next(file for file in files if file.stem == "gil")
    assert "Mine." in sheet.read_text()
    assert ",ann" not in sheet.read_text()
    fill(sheet, **MARKS)
    (grade,) = collect_grades(read_worksheets(tmp_path), plan, Desk({"gil": "gil", "bob": "bob"})).results
    assert (grade.item_id, grade.reviewer_id, grade.grader_id) == ("q1", "ann", "gil")


def test_nobody_grades_their_own_or_their_payees_review() -> None:
    reviews = [review("q1", "ann", payee_id="p1"), review("q1", "bob")]
    for grader in (Reviewer(reviewer_id="bob"), Reviewer(reviewer_id="eve", payee_id="p1")):
        with pytest.raises(Refusal, match="no adjudicator may grade the reviews of q1"):
            plan_grading(reviews, [grader], seed=0)


def test_an_appeal_goes_to_a_second_adjudicator_with_tasks_of_its_own() -> None:
    reviews = [review("q1", "ann"), review("q1", "bob"), review("q2", "ann"), review("q2", "bob")]
    people = [Reviewer(reviewer_id="gil"), Reviewer(reviewer_id="hal")]
    first = plan_grading(reviews, people, seed=0)
    grader = next(slot.reviewer_id for slot in first if slot.item_id == "q1")
    appeal = Appeal(item_id="q1", reviewer_id="ann", made_at=datetime(2026, 3, 9, tzinfo=UTC))
    again = plan_appeals([appeal], reviews, first, people, seed=0, until=datetime(2026, 3, 9, tzinfo=UTC))
    assert [(slot.item_id, slot.review_of) for slot in again] == [("q1", "ann"), ("q1", "bob")]
    assert {slot.reviewer_id for slot in again} == {"gil", "hal"} - {grader}
    assert not {slot.assignment_id for slot in again} & {slot.assignment_id for slot in first}
    with pytest.raises(Refusal, match="no adjudicator may grade"):
        plan_appeals([appeal], reviews, [*first, *again], people, seed=0)


def test_an_appeal_that_is_late_or_about_nothing_graded_is_named() -> None:
    reviews = [review("q1", "ann"), review("q1", "bob")]
    people = [Reviewer(reviewer_id="gil"), Reviewer(reviewer_id="hal")]
    first = plan_grading(reviews, people, seed=0)
    made = [
        {"reviewer_id": "ann", "made_at": "2026-03-10T00:00:01Z"},
        {"reviewer_id": "bob"},
        {"reviewer_id": "cat"},
    ]
    appeals = [Appeal.model_validate({"item_id": "q1"} | one) for one in made]
    with pytest.raises(Refusal) as refused:
        plan_appeals(appeals, reviews, first, people, seed=0, until=datetime(2026, 3, 10, tzinfo=UTC))
    told = str(refused.value)
    for said in (
        "'ann' on item 'q1': made at",
        "'bob' on item 'q1': no made_at",
        "'cat' on item 'q1': no review",
    ):
        assert said in told


def test_exported_tasks_give_accounts_not_numbers() -> None:
    task = {
        "id": 12,
        "data": {"assignment_id": "t1"},
        "annotations": [
            {"id": 5, "completed_by": 2, "updated_by": 3, "result": [], "was_cancelled": True},
            {"id": 6, "completed_by": {"id": 9}, "result": []},
        ],
        "drafts": [{"id": 7, "user": "ann@example.org", "result": []}],
    }
    first, second, draft = read_task(task, {2: "ann@example.org", 3: "bob@example.org"})
    assert (first.author, first.updated_by, first.skipped) == ("ann@example.org", "bob@example.org", True)
    assert (second.author, second.assignment_id, second.task_id) == (None, "t1", 12)
    assert (draft.draft, draft.author, draft.annotation_id) == (True, "ann@example.org", "draft-7")


def test_a_title_does_not_tell_the_reviewer() -> None:
    assert "ann" not in project_title("b1", "review", "ann")
    assert project_title("b1", "review", "ann") != project_title("b1", "review", "bob")


@pytest.mark.parametrize("mark", ["9" * 5000, "²", "5", "-1", "4.0", ""])
def test_a_mark_that_is_none_is_told_and_not_counted(mark: str) -> None:
    assert _mark(mark) == f"{mark!r} is no rating"
