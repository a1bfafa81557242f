"""Tables that people keep, read as reviews, grades and findings."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from kina_build.errors import InputError, Refusal, RowErrors
from kina_review.intake import read_findings, read_grades, read_reviewers, read_reviews, settle_payees
from kina_review.rubric import CRITERION_NAMES
from kina_review.tournament.payrules import check_rules, read_pay_rules, rule_at
from tests.review.stories import pay, review, rule, settled


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_columns_named_after_criteria_become_ratings(tmp_path: Path) -> None:
    names = ",".join(CRITERION_NAMES)
    path = write(
        tmp_path,
        "r.csv",
        f"item_id,reviewer_id,{names},flaws,mood\ni,A,4,3,2,1,0,4,other; wrong groundtruth,x\n",
    )
    table = read_reviews(path)
    (row,) = table.records
    assert list(row.ratings.values()) == [4, 3, 2, 1, 0, 4]
    assert [flaw.kind for flaw in row.flaws] == ["other", "wrong_groundtruth"]
    assert table.ignored == ("mood",)


def test_marks_make_a_score(tmp_path: Path) -> None:
    names = ",".join(CRITERION_NAMES)
    path = write(tmp_path, "g.csv", f"item_id,reviewer_id,{names}\nit-1,A,4,4,4,4,4,4\nit-1,B,3,3,3,3,3,3\n")
    done = settled(review("A"), review("B"), grades=read_grades(path).records)
    assert done.contests[0].scores == {"A": "20", "B": "15"}
    assert pay(done) == {"A": 700, "B": 200}


def test_a_blank_grade_is_no_grade(tmp_path: Path) -> None:
    path = write(tmp_path, "g.csv", "item_id,reviewer_id,review_score\nit-1,A,\nit-1,B,15\n")
    assert pay(settled(review("A"), review("B"), grades=read_grades(path).records)) == {"A": 200, "B": 200}


def test_one_grader_cannot_give_two_scores(tmp_path: Path) -> None:
    path = write(tmp_path, "g.csv", "item_id,reviewer_id,review_score\nit-1,A,15\nit-1,A,16\n")
    with pytest.raises(InputError, match="twice, differently"):
        settled(review("A"), review("B"), grades=read_grades(path).records)


def test_findings_name_who_failed(tmp_path: Path) -> None:
    path = write(tmp_path, "f.csv", "item_id,flawed,flaw,failed\ni,yes,Wrong Groundtruth,A; B\n")
    (found,) = read_findings(path).records
    assert (found.flawed, found.flaw, found.failed) == (True, "wrong_groundtruth", ("A", "B"))


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "r.csv", "item_id,reviewer_id,status\n,A,done\ni,B,dunno\ni,C,done\n")
    with pytest.raises(RowErrors) as refused:
        read_reviews(path)
    assert [fault.line for fault in refused.value.faults] == [2, 3]


def test_ids_stand_as_they_are_but_for_outer_blanks(tmp_path: Path) -> None:
    path = write(tmp_path, "r.csv", "item_id,reviewer_id\n007,rv-06 \n7,RV-06\n")
    assert [(r.item_id, r.reviewer_id) for r in read_reviews(path).records] == [
        ("007", "rv-06"),
        ("7", "RV-06"),
    ]


def test_times_are_utc_instants() -> None:
    east, plain = review("A"), review("B")
    stamps = ("2026-03-01T10:00:00+02:00", "2026-03-01 08:00:00")
    for row, stamp in zip((east, plain), stamps, strict=True):
        same = type(row).model_validate({**row.model_dump(), "submitted_at": stamp})
        assert same.submitted_at == datetime(2026, 3, 1, 8, tzinfo=UTC)


def test_a_payee_is_known_from_any_row_and_never_two() -> None:
    rows = settle_payees([review("A", payee_id="P"), review("A", item="it-2"), review("B")])
    assert [row.payee_id for row in rows] == ["P", "P", None]
    with pytest.raises(InputError, match="two payees"):
        settle_payees([review("A", payee_id="P"), review("A", item="it-2", payee_id="Q")])


def test_pay_rules_have_their_days(tmp_path: Path) -> None:
    head = "version,valid_from,currency,base,bonus,bar,tie\n"
    path = write(
        tmp_path, "p.csv", head + "old,,USD,2.00,5.00,14,split\nnew,2026-03-01T02:00:00Z,USD,3.00,0.00,14,\n"
    )
    rules = read_pay_rules(path)
    days = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (1, 2)]
    assert [rule_at(rules, day).version for day in days] == ["old", "new"]
    late = settled(review("A", "15", 1), review("B", "18", 3), rules=tuple(rules))
    assert pay(late) == {"A": 200, "B": 700}  # the first submission chose the rule
    with pytest.raises(Refusal, match="no rule can be chosen"):
        settled(review("A", "15", None), rules=tuple(rules))
    with pytest.raises(Refusal, match="in force"):
        rule_at(rules[1:], days[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [({"version": "1"}, "same version"), ({"version": "2"}, "same valid_from"),
     ({"version": "2", "valid_from": datetime(2026, 1, 1, tzinfo=UTC), "currency": "EUR"}, "one currency")],
)  # fmt: skip
def test_pay_rules_must_not_contradict_each_other(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_rules([rule(), rule().model_copy(update=change)])
    with pytest.raises(InputError, match="no pay rule"):
        check_rules([])


def test_an_unknown_order_of_three_is_refused() -> None:
    with pytest.raises(Refusal, match="3 reviews where two are due"):
        settled(*(review(who, "15", None) for who in "ABC"))


def test_a_deadline_needs_times() -> None:
    with pytest.raises(Refusal, match="no submitted_at"):
        settled(review("A", "15", None), deadline=datetime(2026, 3, 1, tzinfo=UTC))


def test_scores_are_exact_decimals() -> None:
    assert review("A", "14.50").review_score == Decimal("14.5")
    assert str(review("A", "100").review_score) in {"100", "1E+2"}


def test_a_finding_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("item_id,flawed,flaw\nk1,false,wrong_groundtruth\n")
    with pytest.raises(InputError, match="says that the item is not flawed"):
        read_findings(tmp_path / "f.csv")


def test_scores_under_a_name_that_nothing_reads_are_no_blank_ones(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("item_id,reviewer_id,Score\nk1,p1,17\n")
    with pytest.raises(InputError, match="columns not read: Score"):
        read_grades(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("item_id,reviewer_id,review_score\nk1,p1,\n")
    assert read_grades(tmp_path / "s.csv").records[0].review_score is None


def test_one_reviewer_under_two_spellings_is_given_no_work(tmp_path: Path) -> None:
    path = write(tmp_path, "people.csv", "reviewer_id\nanna\n\u0430nna\n")  # a Cyrillic a
    with pytest.raises(Refusal, match="look alike"):
        read_reviewers(path)
