"""A second round: other reviewers, the bar and the pay of the first; and reviewers who escalate."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import Refusal
from kina_review.desk.assignment import Plan
from kina_review.desk.options import ReopenOptions
from kina_review.desk.planning import plan_next_round
from kina_review.pay.auditing.auditor import Files, audit
from kina_review.pay.book.opening import create_ledger
from kina_review.pay.drafting import draft_lines
from kina_review.pay.payees import PayeeBook
from kina_review.records import Review
from kina_review.tournament.decisions import decide_item
from kina_review.tournament.payrules import rule_at
from tests.review.stories import review, rule, settled

BOOK = PayeeBook(key="00" * 32)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def item(name: str) -> dict[str, Any]:
    options = [{"key": key, "answer": f"{key} of {name}"} for key in "ABCD"]
    return {"item_id": name, "discipline": "law", "question": f"What is {name}?", "options": options,
            "correct_answer": "A"}  # fmt: skip


def reopen(folder: Path, people: str = "abcd", rounds: str = "1", **decisions: str) -> Plan:
    pool = write(folder / "pool.jsonl", item("it-1"), item("it-2"))
    decided = [{"item_id": name, "decision": word, "reason": "x"} for name, word in decisions.items()]
    earlier = [
        {"item_id": f"it-{n}", "reviewer_id": who, "round": rounds, "assignment_id": f"{who}{n}"}
        for n in (1, 2)
        for who in "ab"
    ]
    (folder / "people.csv").write_text("reviewer_id\n" + "\n".join(people) + "\n")
    return plan_next_round(
        ReopenOptions(
            decisions=write(folder / "decisions.jsonl", *decided),
            pool=pool,
            reviewers=folder / "people.csv",
            earlier=write(folder / "earlier.jsonl", *earlier),
        )
    )


def test_an_item_to_revise_goes_to_two_others(tmp_path: Path) -> None:
    plan = reopen(tmp_path, **{"it-1": "revise", "it-2": "accept"})
    told = [(slot.item_id, slot.reviewer_id, slot.round) for slot in plan.assignments]
    assert told == [("it-1", "c", "2"), ("it-1", "d", "2")]
    ids = {slot.assignment_id for slot in plan.assignments}
    assert len(ids) == 2
    third = reopen(tmp_path, people="abcd", rounds="2", **{"it-1": "revise"})
    assert {slot.round for slot in third.assignments} == {"3"}
    assert ids.isdisjoint({slot.assignment_id for slot in third.assignments})


def test_too_few_others_are_named(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"have not seen it: it-1 \(1 items"):
        reopen(tmp_path, people="abc", **{"it-1": "revise"})


def test_what_cannot_be_reopened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="no item is to be revised"):
        reopen(tmp_path, **{"it-1": "reject"})
    with pytest.raises(Refusal, match="not in the pool: it-9"):
        reopen(tmp_path, **{"it-9": "revise"})
    with pytest.raises(Refusal, match="is no number"):
        reopen(tmp_path, rounds="first", **{"it-1": "revise"})


OLD = rule(base="2.00", bonus="5.00", bar="14", version="old", valid_from=datetime(2026, 1, 1, tzinfo=UTC))
NEW = rule(base="3.00", bonus="9.00", bar="10", version="new", valid_from=datetime(2026, 6, 1, tzinfo=UTC))


def rounds_of(item_id: str = "it-1") -> tuple[list[Review], list[Review]]:
    first = [review("A", "13", 1, item_id), review("B", "12", 2, item_id)]
    later = datetime(2026, 7, 1, 8, tzinfo=UTC)
    second = [
        review(who, score, 1, item_id, round="2").model_copy(update={"submitted_at": later})
        for who, score in (("C", "13"), ("D", "15"))
    ]
    return first, second


def test_the_second_round_is_paid_by_the_rule_and_bar_of_the_first(tmp_path: Path) -> None:
    first, second = rounds_of()
    done = settled(*first, *second, rules=(OLD, NEW))
    assert {(a.reviewer_id, a.rule, a.base_minor, a.bonus_minor) for a in done.awards} == {
        ("A", "old", 200, 0), ("B", "old", 200, 0), ("C", "old", 200, 0), ("D", "old", 200, 500)
    }  # fmt: skip
    lines = [line.model_copy(update={"seq": n}) for n, line in enumerate(draft_lines(None, done, BOOK), 1)]
    assert audit(lines, Files([*first, *second])) == []


def test_the_second_round_alone_is_not_paid_by_another_rule(tmp_path: Path) -> None:
    first, second = rounds_of()
    with create_ledger(tmp_path / "pay.db", "USD", BOOK.check) as ledger:
        with ledger.writing():
            ledger.append(draft_lines(ledger, settled(*first, rules=(OLD, NEW)), BOOK))
        with pytest.raises(Refusal, match="its first round was under old"):
            draft_lines(ledger, settled(*second, rules=(OLD, NEW)), BOOK)
        with ledger.writing():
            ledger.append(draft_lines(ledger, settled(*first, *second, rules=(OLD, NEW)), BOOK))
        assert audit(ledger.entries(), Files([*first, *second])) == []


def test_whoever_escalates_leaves_the_item_to_somebody_else() -> None:
    both = [review("A", verdict="accept"), review("B", verdict="escalate")]
    decided = decide_item("it-1", both)
    assert (decided.decision, decided.reason) == ("escalate", "a reviewer escalates")
    assert decided.opinions == {"A": "accept", "B": "escalate"}
    assert Review(item_id="i", reviewer_id="r", verdict="Expert").verdict == "escalate"


def test_a_rule_holds_from_its_first_instant() -> None:
    begins = datetime(2026, 3, 1, 2, tzinfo=UTC)
    rules = [rule(version="1", valid_from=begins - timedelta(days=1)), rule(version="2", valid_from=begins)]
    told = [rule_at(rules, begins + timedelta(seconds=late)).version for late in (-1, 0, 1)]
    assert told == ["1", "2", "2"]
