"""Reviews in other desks' exports: what each says, and what it does not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, RowErrors
from kina_review.exports import UNPROVEN
from kina_review.intake import Table, read_reviews
from kina_review.records import Review
from kina_review.tableforms import PLAIN, TableForm
from kina_review.tournament.screening import screen

ANN, BOB = "11111111-aaaa", "22222222-bbbb"


def read(
    folder: Path, rows: list[dict[str, Any]], name: str = "e.json", form: TableForm = PLAIN
) -> Table[Review]:
    text = "\n".join(map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows, indent=1)
    (folder / name).write_text(text, encoding="utf-8")
    return read_reviews(folder / name, form)


def said(table: Table[Review]) -> list[tuple[Any, ...]]:
    return [(r.item_id, r.reviewer_id, r.status, r.verdict) for r in table.records]


def choice(name: str, value: str) -> dict[str, Any]:
    return {"from_name": name, "type": "choices", "value": {"choices": [value]}}


def annotation(number: int, author: Any, **more: Any) -> dict[str, Any]:
    made = {
        "id": number,
        "completed_by": author,
        "updated_by": author,
        "was_cancelled": False,
        "created_at": "2026-03-02T09:00:00Z",
        "lead_time": 90.5,
        "result": [choice("verdict", "accept")],
    }
    return made | more


def test_an_annotation_of_label_studio_is_a_review_and_a_skip_is_none(tmp_path: Path) -> None:
    stars = {"from_name": "factuality", "type": "rating", "value": {"rating": 5}}
    ours = choice("mark_logical_rigor", "3 good")
    why = {"from_name": "rationale", "type": "textarea", "value": {"text": ["Checked."]}}
    rows = [
        {
            "id": 41,
            "data": {"item_id": "q1"},
            "annotations": [
                annotation(1, 3, result=[choice("verdict", "accept"), stars, ours, why]),
                annotation(
                    2, {"id": 8, "email": "cat@example.org"}, updated_by=8, was_cancelled=True, result=[]
                ),
            ],
        }
    ]
    table = read(tmp_path, rows)
    assert said(table) == [("q1", "3", "submitted", "accept"), ("q1", "8", "skipped", None)]
    first = table.records[0]
    assert (first.ratings, first.rationale, first.lead_time_s) == ({"logical_rigor": 3}, "Checked.", 90.5)
    assert (first.review_id, first.submitted_at and first.submitted_at.isoformat()) == (
        "1",
        "2026-03-02T09:00:00+00:00",
    )
    assert table.ratings == {("q1", "3"): {"factuality": 5}}
    assert table.ignored == ("factuality (rated on a scale of its own)",)


def test_what_nobody_can_vouch_for_is_named_and_earns_nothing(tmp_path: Path) -> None:
    rows = [
        {
            "data": {"item_id": "q1"},
            "annotations": [
                annotation(1, 3, updated_by=None),  # imported
                annotation(2, 4, updated_by=5),
                annotation(3, None, updated_by=None),  # of a deleted account
                annotation(4, 6),
            ],
        }
    ]
    table = read(tmp_path, rows)
    assert [r.updated_by for r in table.records] == [UNPROVEN, "5", UNPROVEN, None]
    desk = screen(table.records)["q1", "1"]
    assert [r.reviewer_id for r in desk.reviews] == ["6"]
    assert desk.absent == {"3": "forged_author", "4": "forged_author", "deleted account (3)": "forged_author"}


def test_what_was_changed_after_the_snapshot_does_not_count(tmp_path: Path) -> None:
    kept = annotation(1, 3, updated_at="2026-03-02T09:00:00Z")
    changed = annotation(2, 4, updated_at="2026-03-03T09:00:00Z")
    rows = [{"data": {"item_id": "q1"}, "annotations": [kept, changed]}]
    form = TableForm(snapshot=datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert [r.reviewer_id for r in read(tmp_path, rows, form=form).records] == ["3"]
    assert [r.reviewer_id for r in read(tmp_path, rows).records] == ["3", "4"]


def test_our_own_desks_export_is_for_pull(tmp_path: Path) -> None:
    rows = [{"data": {"assignment_id": "t1", "card": "x"}, "annotations": [annotation(1, 3)]}]
    with pytest.raises(InputError) as refused:
        read(tmp_path, rows)
    assert "kina review pull" in str(refused.value.hint)


def test_the_flat_form_of_label_studio_wraps_ratings(tmp_path: Path) -> None:
    rows = [
        {
            "item_id": "q1",
            "id": 41,
            "annotator": 3,
            "annotation_id": 7,
            "verdict": "revise",
            "factuality": [{"rating": 1}],
            "created_at": "2026-03-02T09:00:00Z",
        },
        {
            "item_id": "q2",
            "id": 42,
            "annotator": 3,
            "annotation_id": 8,
            "verdict": {"choices": ["accept", "revise"]},
        },
    ]
    table = read(tmp_path, rows[:1], form=TableForm(lowest_rating=1))
    assert said(table) == [("q1", "3", "submitted", "revise")]
    assert table.records[0].ratings == {"factuality": 0}
    with pytest.raises(RowErrors, match="verdict"):
        read(tmp_path, rows)


def test_a_rating_outside_of_the_stated_scale_is_refused(tmp_path: Path) -> None:
    row = {"item_id": "q", "annotator": 3, "annotation_id": 7, "factuality": [{"rating": 10}]}
    with pytest.raises(RowErrors, match="10, not 1 to 5"):
        read(tmp_path, [row], form=TableForm(lowest_rating=1))


def test_answers_of_argilla_are_joined_by_user_and_suggestions_left(tmp_path: Path) -> None:
    rows = [
        {
            "id": "q1",
            "verdict.suggestion": "reject",
            "verdict.responses": ["accept", "revise", "accept"],
            "verdict.responses.users": [ANN, BOB, "cat"],
            "verdict.responses.status": ["submitted", "submitted", "draft"],
            "rationale.responses": ["Bob's.", "Not mine."],
            "rationale.responses.users": [BOB, "dan"],
            "rationale.responses.status": ["submitted", "discarded"],
        },
        {
            "id": "q2",
            "verdict.suggestion": "accept",
            "verdict.responses": None,
            "verdict.responses.users": None,
        },
    ]
    table = read(tmp_path, rows)
    assert said(table) == [
        ("q1", ANN, "submitted", "accept"),
        ("q1", BOB, "submitted", "revise"),
        ("q1", "cat", "draft", "accept"),
        ("q1", "dan", "skipped", None),
    ]
    assert [r.rationale for r in table.records] == [None, "Bob's.", None, "Not mine."]
    assert {r.submitted_at for r in table.records} == {None}


def test_argillas_other_form_does_not_say_what_was_submitted(tmp_path: Path) -> None:
    row = {"id": "q", "fields": {}, "responses": {"verdict": [{"value": "accept", "user_id": ANN}]}}
    with pytest.raises(InputError, match="does not say which responses were submitted"):
        read(tmp_path, [row])


def test_a_file_of_doccano_is_called_after_its_member(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "text": "?", "item_id": "q1", "label": ["reject", "wrong key"], "Comments": ["No.", "B."]},
        {"id": 2, "text": "?", "item_id": "q2", "label": [], "Comments": ["hm"]},
        {"id": 3, "text": "?", "item_id": "q3", "label": [], "Comments": []},
    ]
    table = read(tmp_path, rows, "doccano_ann.jsonl")
    assert said(table) == [("q1", "ann", "submitted", "reject"), ("q2", "ann", "draft", None)]
    assert (table.records[0].rationale, table.ignored) == ("No.\nB.", ("label 'wrong key'",))
    assert {r.reviewer_id for r in read(tmp_path, rows, "bob.jsonl").records} == {"bob"}
    assert {r.reviewer_id for r in read(tmp_path, rows, "anna.lena.jsonl").records} == {"anna.lena"}
    with pytest.raises(InputError, match="no member"):
        read(tmp_path, rows, "all.jsonl")
    with pytest.raises(RowErrors, match="verdict"):
        read(tmp_path, [rows[0] | {"label": ["reject", "accept"]}], "ann.jsonl")
    with pytest.raises(RowErrors, match="item_id"):
        read(tmp_path, [{"id": 1, "text": "?", "label": ["accept"]}], "ann.jsonl")


def prodigy(
    session: str, answer: str = "accept", accept: str = "accept", at: int = 1_772_442_012
) -> dict[str, Any]:
    return {
        "item_id": "q1",
        "_input_hash": -1,
        "_task_hash": -2,
        "accept": [accept] if accept else [],
        "answer": answer,
        "_timestamp": at,
        "_annotator_id": session,
    }


def test_prodigys_answer_is_about_the_task_and_its_last_row_counts(tmp_path: Path) -> None:
    rows = [
        prodigy("set-bob", accept="revise"),
        prodigy("set-ann", answer="reject", accept="reject"),
        prodigy("set-bob", accept="accept", at=1_772_442_099),
        prodigy("set-cat", answer="ignore", accept=""),
        prodigy("set-dan", accept=""),
    ]
    table = read(tmp_path, rows, "e.jsonl")
    assert said(table) == [
        ("q1", "bob", "submitted", "accept"),
        ("q1", "ann", "cancelled", None),
        ("q1", "cat", "skipped", None),
        ("q1", "dan", "draft", None),
    ]
    assert table.records[0].submitted_at == datetime(2026, 3, 2, 9, 1, 39, tzinfo=UTC)
    before = TableForm(snapshot=datetime(2026, 3, 2, 9, 1, tzinfo=UTC))
    assert read(tmp_path, rows, "e.jsonl", before).records[0].verdict == "revise"
    with pytest.raises(InputError, match="names no person"):
        read(tmp_path, [prodigy("set-2026-03-02_09-00-12")], "e.jsonl")


@pytest.mark.parametrize(
    "row",
    [
        {"data": [1], "annotations": [1]},
        {"data": {}, "annotations": [{"id": 1, "result": [7]}]},
        {"annotation_id": 1, "annotator": 2, "verdict": {"choices": 7}},
        {"v.responses": 3, "v.responses.users": 4},
        {"_input_hash": 1, "_task_hash": 2, "answer": "accept", "meta": 7},
        {"id": 1, "text": "?", "label": [], "Comments": 7},
    ],
)
def test_a_form_that_only_begins_like_a_tools_is_one_line(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read(tmp_path, [row])


def test_two_desks_at_once(tmp_path: Path) -> None:
    read(tmp_path, [prodigy("set-ann")], "p.jsonl")
    (tmp_path / "own.csv").write_text("item_id,reviewer_id,verdict\nq2,bob,reject\n")
    table = read_reviews([tmp_path / "p.jsonl", tmp_path / "own.csv"])
    assert said(table) == [("q1", "ann", "submitted", "accept"), ("q2", "bob", "submitted", "reject")]
