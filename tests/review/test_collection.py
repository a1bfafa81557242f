from __future__ import annotations

import datetime as dt
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from kina_build.items.model import Item
from kina_review.desk.authorship import Annotation, Desk, merge_texts
from kina_review.desk.collection import Collected, collect_grades, collect_reviews
from kina_review.desk.labelling import grading_task, labelling_config, read_result, review_task
from kina_review.records import Assignment, Review
from kina_review.rubric import CRITERION_NAMES

NOON = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
LATER = NOON + dt.timedelta(hours=1)
FULL: dict[str, Any] = {f"mark_{name}": ["3 good"] for name in CRITERION_NAMES} | {
    "verdict": ["reject"],
    "rationale": ["The key is wrong."],
    "flaws": [["wrong_groundtruth", "critical", "B"], ["other", "minor", "item"]],
}
SLOTS = [
    Assignment(item_id="i1", reviewer_id="ann", assignment_id="t-ann"),
    Assignment(item_id="i1", reviewer_id="bob", assignment_id="t-bob"),
]
ACCOUNTS = {"ann": "ann@example.org", "bob": "bob@example.org"}


def note(number: int = 1, **more: Any) -> Annotation:
    made: dict[str, Any] = {
        "annotation_id": str(number),
        "assignment_id": "t-ann",
        "task_id": 7,
        "author": "ann@example.org",
        "updated_by": "ann@example.org",
        "created_at": NOON,
        "updated_at": NOON,
        "values": FULL,
    }
    return Annotation.model_validate(made | more)


def collect(
    *notes: Annotation, snapshot: dt.datetime | None = None, payees: dict[str, str] | None = None
) -> Collected[Review]:
    desk = Desk(ACCOUNTS, {"t-ann": 7, "t-bob": 8}, snapshot)
    return collect_reviews(notes, SLOTS, desk, payees=payees)


def test_a_complete_annotation_becomes_a_review() -> None:
    found = collect(note(lead_time_s=42.0), payees={"ann": "p1"})
    review, absent = found.results
    assert (review.item_id, review.reviewer_id, review.status, review.verdict) == (
        "i1",
        "ann",
        "submitted",
        "reject",
    )
    assert (review.payee_id, review.lead_time_s, review.submitted_at) == ("p1", 42.0, NOON)
    assert review.ratings == dict.fromkeys(CRITERION_NAMES, 3)
    assert [(f.kind, f.severity, f.option) for f in review.flaws] == [
        ("wrong_groundtruth", "critical", "B"),
        ("other", "minor", None),
    ]
    assert (absent.reviewer_id, absent.status) == ("bob", "missing")
    assert found.quarantine == ()


@pytest.mark.parametrize(
    ("change", "reason", "status"),
    [
        ({"assignment_id": "t-zzz"}, "unknown_task", "missing"),
        ({"assignment_id": None}, "unknown_task", "missing"),
        ({"author": "eve@example.org", "updated_by": "eve@example.org"}, "not_assigned", "missing"),
        ({"updated_by": "bob@example.org"}, "forged_author", "missing"),
        ({"updated_by": "bob@example.org", "updated_at": LATER}, "edited_by_other", "missing"),
        ({"author": None}, "deleted_user", "missing"),
        ({"updated_by": None}, "unproven_author", "missing"),
        ({"task_id": 9}, "foreign_task", "missing"),
        ({"task_id": 9, "draft": True, "updated_by": None}, "foreign_task", "missing"),
        ({"skipped": True}, "skipped", "skipped"),
        ({"draft": True}, "draft", "draft"),
        ({"values": {}}, "incomplete", "missing"),
        ({"values": FULL | {"rationale": [" "]}}, "incomplete", "missing"),
        ({"values": FULL | {"mark_factuality": ["9 superb"]}}, "impossible_value", "missing"),
        ({"values": FULL | {"verdict": ["perhaps"]}}, "impossible_value", "missing"),
        ({"values": FULL | {"flaws": [["typo", "minor", "A"]]}}, "impossible_value", "missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_believed_is_set_aside(change: dict[str, Any], reason: str, status: str) -> None:
    found = collect(note(**change))
    assert [fault.reason for fault in found.quarantine] == [reason]
    assert found.quarantine[0].detail
    assert next(r for r in found.results if r.reviewer_id == "ann").status == status


def test_the_first_complete_review_counts() -> None:
    better = FULL | {"verdict": ["accept"]}
    late = note(1, created_at=NOON + dt.timedelta(hours=1), values=better)
    found = collect(late, note(2), note(0, values={}, created_at=NOON - dt.timedelta(hours=1)))
    assert found.results[0].verdict == "reject"
    assert [(fault.annotation_id, fault.reason) for fault in found.quarantine] == [
        ("0", "incomplete"),
        ("1", "duplicate"),
    ]


def test_an_export_that_lists_a_task_twice_counts_once() -> None:
    found = collect(note(1), note(1))
    assert (len(found.results), found.quarantine) == (2, ())


def test_an_edit_after_the_snapshot_is_flagged_and_not_used() -> None:
    edited = note(updated_at=NOON + dt.timedelta(days=1))
    assert [f.reason for f in collect(edited, snapshot=NOON).quarantine] == ["late_edit"]
    assert collect(edited).quarantine == ()


def test_an_imported_review_is_set_aside_and_the_reviewers_own_kept() -> None:
    """Whoever can log in can import a task with annotations that are signed as somebody else."""
    planted = FULL | {"verdict": ["accept"]}
    before, after = NOON - dt.timedelta(hours=1), NOON + dt.timedelta(hours=1)
    found = collect(
        note(1, task_id=99, updated_by=None, created_at=before, updated_at=before, values=planted),
        note(2, updated_by=None, created_at=before, updated_at=before, values=planted),
        note(3),
        note(4, task_id=99, created_at=after, updated_at=after, values=planted),
    )
    assert (found.results[0].review_id, found.results[0].verdict) == ("3", "reject")
    assert [(fault.annotation_id, fault.reason) for fault in found.quarantine] == [
        ("1", "foreign_task"),
        ("2", "unproven_author"),
        ("4", "foreign_task"),
    ]


def test_a_later_edit_does_not_void_the_text_that_a_pull_kept() -> None:
    edited = note(updated_at=NOON + dt.timedelta(days=1), values=FULL | {"verdict": ["accept"]})
    found = collect(*merge_texts([note()], [edited]), snapshot=LATER)
    assert (found.results[0].status, found.results[0].verdict) == ("submitted", "reject")
    assert [fault.reason for fault in found.quarantine] == ["late_edit"]
    assert collect(*merge_texts([note()], [edited])).results[0].verdict == "accept"


def test_the_last_text_before_the_snapshot_counts_and_of_two_annotations_the_first() -> None:
    texts = [
        note(updated_at=NOON + dt.timedelta(minutes=minutes), values=FULL | {"verdict": [verdict]})
        for minutes, verdict in ((0, "reject"), (30, "revise"), (90, "accept"))
    ]
    second = note(2, created_at=NOON + dt.timedelta(minutes=10), updated_at=NOON + dt.timedelta(minutes=10))
    found = collect(second, *texts, snapshot=LATER)
    assert (found.results[0].review_id, found.results[0].verdict) == ("1", "revise")
    assert [(f.annotation_id, f.reason) for f in found.quarantine] == [("1", "late_edit"), ("2", "duplicate")]


def test_an_edit_by_another_does_not_undo_the_reviewers_own_text() -> None:
    spoiled = note(updated_at=LATER, updated_by="bob@example.org", values={})
    found = collect(*merge_texts([note()], [spoiled]))
    assert found.results[0].verdict == "reject"
    assert [fault.reason for fault in found.quarantine] == ["edited_by_other"]
    taken = note(updated_at=LATER, skipped=True)
    assert collect(*merge_texts([note()], [taken])).results[0].status == "skipped"


def test_a_text_that_a_pull_kept_outlives_its_account() -> None:
    gone = note(author=None, updated_by=None)
    assert merge_texts([note()], [gone]) == [note()]
    assert collect(*merge_texts([note()], [gone])).results[0].status == "submitted"


def test_the_key_shows_after_the_reviewers_own_answer_only(make_item: Callable[..., Item]) -> None:
    item = make_item("q", "1+1?", ["1", "2"], "B", explanation="Count.", question_source="Peano")
    task = review_task(item, "t-1")
    for secret in ("✓", "Count.", "Peano"):
        assert secret not in task["card"]
        assert secret in task["key_card"]
    view = ET.fromstring(labelling_config("review", 2))
    gate = next(box for box in view.iter("View") if box.get("visibleWhen"))
    assert (gate.get("visibleWhen"), gate.get("whenTagName")) == ("choice-selected", "own_answer")
    assert [shown.get("value") for shown in gate.iter("HyperText")] == ["$key_card"]
    assert "$key_card" not in [shown.get("value") for shown in view.findall("HyperText")]
    own = next(c for c in view.iter("Choices") if c.get("name") == "own_answer")
    assert [choice.get("alias") for choice in own] == ["A", "B", "none of these"]
    assert "own_answer" not in labelling_config("grading", 2)


def test_both_desks_ask_every_criterion() -> None:
    for purpose in ("review", "grading"):
        view = ET.fromstring(labelling_config(purpose, option_count=10))
        names = {control.get("name") for control in view.iter("Choices")}
        assert {f"mark_{name}" for name in CRITERION_NAMES} <= names
        assert ("verdict" in names) == (purpose == "review")
    assert len(list(view.iter("Taxonomy"))) == 0


def test_a_task_hides_author_id_and_the_other_reviewer(make_item: Callable[..., Item]) -> None:
    item = make_item("secret-id", "What is $x^2$?", author_id="author-7", metadata={"model": "gpt"})
    task = review_task(item, "t-1")
    assert task["assignment_id"] == "t-1"
    text = str(task)
    assert "<math" in text
    for secret in ("secret-id", "author-7", "gpt"):
        assert secret not in text
    review = collect(note()).results[0]
    graded = str(grading_task(item, review, "t-2"))
    assert "ann" not in graded.replace("bland", "")
    assert "wrong_groundtruth" in graded


def test_results_of_the_desk_are_read_by_control() -> None:
    result = [
        {"from_name": "verdict", "type": "choices", "value": {"choices": ["accept"]}},
        {"from_name": "flaws", "type": "taxonomy", "value": {"taxonomy": [["other", "minor", "item"]]}},
        {"from_name": "rationale", "type": "textarea", "value": {"text": ["fine"]}},
    ]
    assert read_result(result) == {
        "verdict": ["accept"],
        "flaws": [["other", "minor", "item"]],
        "rationale": ["fine"],
    }


def test_grades_name_whose_review_they_are_of() -> None:
    slot = Assignment(item_id="i1", reviewer_id="gil", assignment_id="t-gil", review_of="ann")
    accounts = {"gil": "gil@example.org"}
    marked = note(assignment_id="t-gil", author="gil@example.org", updated_by="gil@example.org")
    desk = Desk(accounts, {"t-gil": 7})
    (grade,) = collect_grades([marked], [slot], desk).results
    assert (grade.item_id, grade.reviewer_id, grade.grader_id) == ("i1", "ann", "gil")
    assert grade.marks == dict.fromkeys(CRITERION_NAMES, 3)
    assert collect_grades([], [slot], desk).results == ()
