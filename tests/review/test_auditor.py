"""The second derivation agrees with the first on any history, and sees what the first did not post."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kina_review.pay.auditing.auditor import Files, audit
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import create_ledger
from kina_review.pay.drafting import draft_lines
from kina_review.pay.payees import PayeeBook
from kina_review.pay.payments import adjust, move_batch
from kina_review.pay.plans import plan_into
from kina_review.payrecords import LedgerEntry, Step
from kina_review.records import Finding, Flaw, Review
from tests.review.stories import review, rule, settled

BOOK = PayeeBook(key="00" * 32)


def post(ledger: Ledger, rows: list[Review], findings: list[Finding], tie: str = "split") -> None:
    done = settled(*rows, findings=findings, penalty_minor=150, seed=42, rules=rule(bonus="5.01", tie=tie))
    with ledger.writing():
        ledger.append(draft_lines(ledger, done, BOOK, "as agreed"))


def draw_rows(rng: random.Random) -> list[Review]:
    """Return up to three reviewers an item, at different hours, some of them not done."""
    rows = []
    for n in range(rng.randrange(1, 6)):
        hours = rng.sample([1, 2, 3], 3)
        for who, hour in zip("ABC"[: rng.randrange(1, 4)], hours, strict=False):
            more = {"flaws": (Flaw(kind="other"),)} if rng.random() < 0.3 else {}
            status = rng.choice(["submitted"] * 4 + ["draft", "skipped"])
            score = rng.choice([None, "13", "14", "14", "18", "18.5"])
            by = rng.choice([None] * 9 + ["Z"])
            row = review(who, score, hour, f"it-{n}", status=status, updated_by=by, verdict="accept", **more)
            rows.append(row)
    return rows


def draw_finding(rng: random.Random, item: str, who: str) -> Finding:
    failed = (who,) * rng.randrange(2)
    return Finding(item_id=item, flawed=rng.random() < 0.7, flaw="other", failed=failed)


@pytest.mark.parametrize("seed", range(40))
def test_both_derivations_agree_on_any_history(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    tie = rng.choice(["split", "strict", "coin"])
    with create_ledger(tmp_path / "pay.db", "USD", BOOK.check) as ledger:
        for _ in range(2):  # what is settled twice is corrected once
            rows = draw_rows(rng)
            last = {row.item_id: row.reviewer_id for row in rows}
            found = [draw_finding(rng, *one) for one in sorted(last.items()) if rng.random() < 0.4]
            post(ledger, rows, found, tie=tie)
        known = {row.item_id for row in rows}
        lines = [entry for entry in ledger.entries() if not entry.item_id or entry.item_id in known]
        assert audit(lines, Files(rows, findings=found)) == []


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = create_ledger(tmp_path / "pay.db", "USD", BOOK.check)
    post(ledger, ROWS, [])
    plan_into(ledger, {})
    move_batch(ledger, "b0001", "in_flight")
    move_batch(ledger, "b0001", "confirmed")
    adjust(ledger, "b0001-00001", 702, Step(why="a cent too much", by="ann", approved_by="bob"))
    return ledger


ROWS = [review("A", "18"), review("B", "15")]


def altered(ledger: Ledger, kind: str, **change: object) -> list[LedgerEntry]:
    """Return the ledger's lines with the first of a kind changed, as an insider with the key could."""
    lines = list(ledger.entries())
    at = next(n for n, line in enumerate(lines) if line.kind == kind)
    return [*lines[:at], lines[at].model_copy(update=change), *lines[at + 1 :]]


def test_a_whole_ledger_follows(ledger: Ledger) -> None:
    assert audit(ledger.entries(), Files(ROWS)) == []


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("bonus", {"amount_minor": 900}, "bonus of 'A' on item 'it-1', round '1' is 900 minor units"),
        ("base", {"amount_minor": 201}, "and the files give 200"),
        ("base", {"reviewer_id": "Z"}, "base of 'Z'"),
        ("bonus", {"payee_ref": "f" * 32}, "paid to another payee"),
        ("payment", {"amount_minor": -99_900}, "plans 99900 minor units where 701 were owed"),
        ("payment", {"reason": "in_flight"}, "goes from nothing to in_flight"),
    ],
)
def test_a_line_that_does_not_follow_is_named(
    ledger: Ledger, kind: str, change: dict[str, object], said: str
) -> None:
    faults = audit(altered(ledger, kind, **change), Files(ROWS))
    assert any(said in fault for fault in faults), faults


def test_another_score_or_finding_in_the_files_is_named(ledger: Ledger) -> None:
    other = [review("A", "14"), review("B", "15")]
    assert "the files give 0" in audit(ledger.entries(), Files(other))[0]
    found = [Finding(item_id="it-1", flawed=False, failed=("A",))]
    assert audit(ledger.entries(), Files(ROWS, findings=found))


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (
            "promoted",
            "bonus of 'A' on item 'it-0', round '1' is said to be 'promoted', and the files give 'win'",
        ),
        ("tie_split", "the files give 'win'"),
    ],
)
def test_a_right_sum_under_a_wrong_reason_is_named(tmp_path: Path, wrong: str, fault: str) -> None:
    rows = [review("A", "18", 1, "it-0"), review("B", "13", 2, "it-0")]
    with create_ledger(tmp_path / "pay.db", "USD", BOOK.check) as ledger:
        lines = draft_lines(ledger, settled(*rows), BOOK)
        forged = [
            line.model_copy(update={"reason": wrong}) if line.reason == "win" else line for line in lines
        ]
        with ledger.writing():
            ledger.append(forged)
        (told,) = audit(ledger.entries(), Files(rows))
    assert told.endswith(fault)


@pytest.mark.parametrize("seed", range(40, 120))
def test_reasons_agree_on_other_histories_too(seed: int) -> None:
    rng = random.Random(seed)
    rows = draw_rows(rng)
    last = {row.item_id: row.reviewer_id for row in rows}
    found = [draw_finding(rng, *one) for one in sorted(last.items()) if rng.random() < 0.6]
    terms = rule(bonus="5.01", tie=rng.choice(["split", "strict", "coin"]))
    done = settled(*rows, rules=terms, seed=42, findings=found, penalty_minor=150)
    lines = [
        line.model_copy(update={"seq": n}) for n, line in enumerate(draft_lines(None, done, BOOK), start=1)
    ]
    assert audit(lines, Files(rows, findings=found)) == []
