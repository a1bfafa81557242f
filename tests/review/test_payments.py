from __future__ import annotations

from pathlib import Path

import pytest

from kina_build.errors import InputError, Refusal
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import create_ledger
from kina_review.pay.drafting import draft_lines
from kina_review.pay.pages import file_name, render
from kina_review.pay.payees import Account, PayeeBook, match_accounts, other_names
from kina_review.pay.payments import adjust, batch_payments, move, move_batch, read_payments, sum_states
from kina_review.pay.plans import Limits, check_current, next_plan, plan, plan_into
from kina_review.pay.providers.files import Transfer, batches, match_ids, token_of, write_files
from kina_review.pay.providers.judging import Proof, reconcile
from kina_review.pay.providers.lists import ProviderRow
from kina_review.pay.statements import Facts, Notice, build_statements
from kina_review.payrecords import Payment, Step
from tests.review.stories import review, settled

BOOK = PayeeBook(key="00" * 32).with_payees(["A", "B"])
REF = {name: BOOK.ref(name) for name in ("A", "B")}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return a ledger that owes A 7.00 and B 2.00."""
    ledger = create_ledger(tmp_path / "pay.db", "USD", BOOK.check)
    done = settled(review("A", "18"), review("B", "15"))
    with ledger.writing():
        ledger.append(draft_lines(ledger, done, BOOK))
    return ledger


def states(ledger: Ledger) -> set[str]:
    return {payment.state for payment in read_payments(ledger.entries("payment")).values()}


def test_planning_takes_the_amount_off_what_is_owed(ledger: Ledger) -> None:
    batch = plan_into(ledger, BOOK.payees)
    assert [(p.payment_id, p.amount_minor) for p in batch.payments] == [
        ("b0001-00001", 700),
        ("b0001-00002", 200),
    ]
    assert sum(ledger.balances().values()) == 0


def test_planning_again_before_sending_gives_the_same_batch(ledger: Ledger) -> None:
    first = plan_into(ledger, BOOK.payees)
    second = plan_into(ledger, BOOK.payees)
    assert second.payments == first.payments
    assert not second.fresh


@pytest.mark.parametrize("state", ["in_flight", "unknown"])
def test_nothing_is_planned_while_a_batch_is_under_way(ledger: Ledger, state: str) -> None:
    plan_into(ledger, BOOK.payees)
    move_batch(ledger, "b0001", "in_flight")
    if state == "unknown":
        move_batch(ledger, "b0001", "unknown")
    with pytest.raises(Refusal, match="blocked_until_reconciled"):
        next_plan(ledger, BOOK.payees)


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_failed_is_owed_again(ledger: Ledger, state: str) -> None:
    plan_into(ledger, BOOK.payees)
    if state == "failed":
        move_batch(ledger, "b0001", "in_flight")
    move_batch(ledger, "b0001", state)  # type: ignore[arg-type]
    assert ledger.balances()[REF["A"]] == 700
    assert plan_into(ledger, BOOK.payees).batch == "b0002"


@pytest.mark.parametrize("state", ["planned", "in_flight", "unknown", "failed", "confirmed", "cancelled"])
def test_confirmed_is_the_end(ledger: Ledger, state: str) -> None:
    plan_into(ledger, BOOK.payees)
    move_batch(ledger, "b0001", "in_flight")
    move_batch(ledger, "b0001", "confirmed")
    with pytest.raises(Refusal, match="cannot become"):
        move_batch(ledger, "b0001", state)  # type: ignore[arg-type]


def test_an_unknown_payment_or_batch_is_refused(ledger: Ledger) -> None:
    with pytest.raises(Refusal, match="no batch"):
        move_batch(ledger, "b0009", "in_flight")
    with pytest.raises(Refusal, match="no payment"):
        move(ledger, {"b0009-00001": "in_flight"})


def test_a_refused_move_moves_nothing(ledger: Ledger) -> None:
    plan_into(ledger, BOOK.payees)
    with pytest.raises(Refusal):
        move(ledger, {"b0001-00001": "in_flight", "b0001-00002": "unknown"})
    assert states(ledger) == {"planned"}


def test_states_are_summed_by_batch(ledger: Ledger) -> None:
    plan_into(ledger, BOOK.payees)
    move(ledger, {"b0001-00001": "in_flight"})
    assert sum_states(read_payments(ledger.entries("payment")).values()) == {
        ("b0001", "in_flight"): (1, 700),
        ("b0001", "planned"): (1, 200),
    }


def test_a_limit_leaves_the_rest_owed() -> None:
    batch = plan({"r1": 4500, "r2": 100}, "b1", limit_minor=60_000, paid_before={"r1": 56_700, "r2": 60_000})
    assert [(p.payee_ref, p.amount_minor) for p in batch.payments] == [("r1", 3300)]
    assert [(c.payee_ref, c.amount_minor) for c in batch.carried] == [("r1", 1200), ("r2", 100)]


# --- reconciliation -----------------------------------------------------------------------


def listed(*rows: tuple[str, str, str]) -> list[ProviderRow]:
    return [ProviderRow.model_validate({"payee_id": a, "amount": b, "status": c}) for a, b, c in rows]


@pytest.fixture
def sent(ledger: Ledger) -> list[Payment]:
    plan_into(ledger, BOOK.payees)
    move_batch(ledger, "b0001", "in_flight")
    return batch_payments(ledger, "b0001")


ACCOUNTS = {REF["A"]: "A", REF["B"]: "B"}


@pytest.mark.parametrize(
    ("rows", "complete", "proved", "problem"),
    [
        ([("A", "7.00", "paid"), ("B", "2.00", "Completed")], False, ["confirmed", "confirmed"], ""),
        ([("A", "7.00", "paid")], False, ["confirmed"], ""),
        ([("A", "7.00", "paid")], True, ["confirmed", "failed"], ""),
        ([("A", "7.00", "paid"), ("B", "2.00", "processing")], True, ["confirmed"], ""),
        ([("A", "7.00", "failed"), ("A", "7.00", "paid")], False, ["confirmed"], ""),
        ([("A", "7.00", "paid"), ("A", "7.00", "paid")], False, [], "paid 2 times"),
        ([("A", "70.00", "paid")], False, [], "another amount"),
        ([("a", "7.00", "paid")], False, [], "unknown_payee_or_duplicate"),
        ([("Z", "7.00", "paid")], False, [], "unknown_payee"),
    ],
)
def test_the_providers_list_settles(
    sent: list[Payment], rows: list[tuple[str, str, str]], complete: bool, proved: list[str], problem: str
) -> None:
    result = reconcile(sent, ACCOUNTS, listed(*rows), Proof("USD", complete=complete))
    assert list(result.states.values()) == proved
    assert any(problem in text for text in result.problems) if problem else not result.problems


def test_a_failed_payment_that_was_paid_after_all_is_booked(ledger: Ledger, sent: list[Payment]) -> None:
    move_batch(ledger, "b0001", "failed")
    rows = listed(("A", "7.00", "paid"))
    result = reconcile(batch_payments(ledger, "b0001"), ACCOUNTS, rows, Proof("USD", complete=False))
    move(ledger, result.states, result.steps)
    assert (ledger.balances()[REF["A"]], ledger.balances()[REF["B"]]) == (0, 200)


# --- files --------------------------------------------------------------------------------


def transfer(account: str = "rv-1", amount: int = 450, currency: str = "USD", **more: str) -> Transfer:
    return Transfer("b1-1", account, amount, currency, token_of("g", "b1-1"), **more)


def test_prolific_takes_an_id_and_an_amount_a_line() -> None:
    lines = [transfer("5f0a"), transfer("5f0b", 200)]
    assert write_files(lines, "prolific", 200) == ["5f0a,4.50\n5f0b,2.00\n"]


def test_mturk_takes_dollars_as_text_with_a_token() -> None:
    (text,) = write_files([transfer("W1", assignment_id="AS1")], "mturk", 200)
    header, line = text.splitlines()
    assert header == "WorkerId,AssignmentId,BonusAmount,Reason,UniqueRequestToken"
    assert line.startswith("W1,AS1,4.50,")
    assert len(line.rsplit(",", 1)[1]) == 64
    with pytest.raises(Refusal, match="USD"):
        write_files([transfer("W1", currency="EUR", assignment_id="AS1")], "mturk", 200)
    with pytest.raises(Refusal, match="assignment_id"):
        write_files([transfer("W1")], "mturk", 200)


@pytest.mark.parametrize("account", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "a,b", 'a"b', "a\nb"])
@pytest.mark.parametrize("provider", ["prolific", "mturk", "csv"])
def test_an_id_that_a_spreadsheet_would_run_is_refused(account: str, provider: str) -> None:
    with pytest.raises(Refusal, match="cannot stand"):
        write_files([transfer(account, assignment_id="x")], provider, 200)  # type: ignore[arg-type]


def test_files_hold_at_most_so_many_payees() -> None:
    assert [len(part) for part in batches(range(450), 200)] == [200, 200, 50]
    assert len(write_files([transfer()] * 5, "csv", 2)) == 3


def test_tokens_differ_by_ledger_and_payment() -> None:
    assert len({token_of("a", "1"), token_of("a", "2"), token_of("b", "1")}) == 3


def test_accounts_are_matched_letter_for_letter() -> None:
    found = match_accounts(
        BOOK, REF.values(), [Account(payee_id="A", account="X"), Account(payee_id="B", account="Y")]
    )
    assert {found[REF["A"]].account, found[REF["B"]].account} == {"X", "Y"}
    with pytest.raises(Refusal, match="'A' and 'a' differ only by case"):
        match_accounts(BOOK, REF.values(), [Account(payee_id="a", account="X")])
    with pytest.raises(Refusal, match="no account"):
        match_accounts(BOOK, REF.values(), [Account(payee_id="C", account="X")])
    with pytest.raises(Refusal, match="account ids 'X' and 'x' differ only"):
        match_accounts(
            BOOK, REF.values(), [Account(payee_id="A", account="X"), Account(payee_id="B", account="x")]
        )
    with pytest.raises(Refusal, match="two payees"):
        match_accounts(
            BOOK, REF.values(), [Account(payee_id="A", account="X"), Account(payee_id="B", account="X")]
        )
    with pytest.raises(Refusal, match="does not know"):
        match_accounts(BOOK, ["f" * 32])


def test_a_batch_planned_by_plain_ids_is_reconciled_by_the_accounts_of_a_list() -> None:
    kept = match_accounts(BOOK, REF.values())
    listed_now = [Account(payee_id="A", account="X"), Account(payee_id="Z", account="Y")]
    assert other_names(BOOK, kept, listed_now) == {"X": "A"}
    assert other_names(BOOK, kept, [Account(payee_id="A", account="B")]) == {}  # that is B's own


def test_ids_are_never_matched_by_number_or_case() -> None:
    matched, errors = match_ids(["123", "rv-06 ", "RV-06"], ["00123", "rv-06"])
    assert matched == {"rv-06 ": "rv-06"}
    assert errors == {"123": "unknown_payee", "RV-06": "unknown_payee_or_duplicate"}


# --- statements ---------------------------------------------------------------------------


def test_a_statement_explains_every_line_and_sums_up(ledger: Ledger) -> None:
    plan_into(ledger, BOOK.payees)
    one, two = build_statements(ledger.entries(), ledger.currency, ledger.head())
    assert (one.reviewers, one.earned, one.paid, one.owed) == (("A",), "7.00", "7.00", "0.00")
    assert [line.why for line in one.lines] == [
        "a complete review",
        "higher review score, at or above the bar",
        "payment planned",
    ]
    assert [line.balance for line in one.lines] == ["2.00", "7.00", "0.00"]
    text = render(one)
    assert str(ledger.head()) in text
    assert "7.00" in text
    assert file_name(one) != file_name(two)


def test_a_statement_says_who_owes_what_by_which_rule_and_how_to_object(ledger: Ledger) -> None:
    facts = {("it-1", "1"): Facts(handed_in={"A": "2026-03-01 08:00"}, scores={"A": "18"})}
    notice = Notice("Flora Lab", "pay@flora.example", 21)
    one, _ = build_statements(ledger.entries(), "USD", ledger.head(), facts=facts, notice=notice)
    assert [(line.handed_in, line.score, line.bar, line.rule) for line in one.lines] == [
        ("2026-03-01 08:00", "18", "14", "1")
    ] * 2
    text = render(one)
    assert "Flora Lab owes you **7.00 USD**" in text
    assert "Rule 1: 2.00 USD for a complete review in time, and 5.00 more" in text
    assert "score is 14 or more; of equal scores that reach it, each earns half." in text
    assert "write to pay@flora.example within 21 days" in text


def test_whoever_was_paid_too_much_is_told_so(ledger: Ledger) -> None:
    lines = [*ledger.entries()]
    taken = lines[-1].model_copy(update={"kind": "penalty", "amount_minor": -900, "reason": "audit_penalty"})
    (owing,) = [
        one
        for one in build_statements([*lines, taken], "USD", ledger.head())
        if one.payee_ref == taken.payee_ref
    ]
    assert "You owe the project that sent you this **7.00 USD**" in render(owing)


def test_a_statement_survives_odd_names(tmp_path: Path) -> None:
    done = settled(review("../x|y\n", "18", item="a|b"), review("B", "15", item="a|b"))
    with create_ledger(tmp_path / "odd.db", "USD", BOOK.check) as ledger:
        with ledger.writing():
            ledger.append(draft_lines(ledger, done, BOOK))
        statement = build_statements(ledger.entries(), "USD", ledger.head())[0]
    assert "/" not in file_name(statement)
    assert "a\\|b" in render(statement)


@pytest.mark.parametrize("key", ["", "x", "abc", "0g", "00 "])
def test_a_key_that_is_no_hexadecimal_number_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        PayeeBook(key=key)


# --- steps with evidence ------------------------------------------------------------------


def settle_list(
    ledger: Ledger, *rows: tuple[str, str, str], complete: bool = False, **more: str
) -> list[str]:
    """Apply a provider's list to the first batch; return what a person must look at."""
    given = [row.model_copy(update=more) for row in listed(*rows)]
    booked = {
        transaction: payment.payment_id
        for payment in read_payments(ledger.entries("payment")).values()
        for transaction in payment.transactions
    }
    proof = Proof(ledger.currency, complete=complete, booked=booked, list_sha256="ab")
    result = reconcile(batch_payments(ledger, "b0001"), ACCOUNTS, given, proof)
    move(ledger, result.states, result.steps)
    return list(result.problems)


PAID = (("A", "7.00", "paid"), ("B", "2.00", "paid"))


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((("A", "7.00", "paid"), ("Z", "3.00", "paid")), "unknown_payee"),
        ((("A", "6.99", "paid"), ("B", "2.00", "paid")), "6.99 for 7.00"),
        ((("A", "7.00", "paid"), ("A", "7.00", "paid"), ("B", "2.00", "paid")), "2 times"),
    ],
)
def test_nothing_of_a_list_is_applied_while_a_row_does_not_fit(
    ledger: Ledger, rows: tuple[tuple[str, str, str], ...], said: str
) -> None:
    assert said in settle_list(ledger, *rows, complete=True)[0]
    assert states(ledger) == {"in_flight"}
    assert set(ledger.balances().values()) == {0}


def dated(word: str, transaction: str, day: int | None) -> ProviderRow:
    at = f"2026-05-{day:02d}T00:00:00Z" if day else ""
    (row,) = listed(("A", "7.00", word))
    return row.model_copy(update={"transaction_id": transaction, "completed_at": at})


@pytest.mark.parametrize(
    ("rows", "proved"),
    [
        ((dated("paid", "t1", 1), dated("returned", "t2", 2)), ["returned"]),
        ((dated("paid", "t1", None), dated("returned", "t1", None)), ["returned"]),
        ((dated("returned", "t1", 2), dated("paid", "t2", 3)), []),  # sent anew: the money arrived
        ((dated("paid", "t1", None), dated("returned", "t2", None)), []),
        ((dated("paid", "t1", 1), dated("pending", "t2", 1)), []),
        ((dated("failed", "t1", 1), dated("paid", "t2", 2)), ["confirmed"]),
    ],
)
def test_a_second_transfer_beside_a_paid_one_is_looked_at(
    sent: list[Payment], rows: tuple[ProviderRow, ...], proved: list[str]
) -> None:
    result = reconcile(sent, ACCOUNTS, rows, Proof("USD", complete=False))
    assert (list(result.states.values()), bool(result.problems)) == (proved, not proved)


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("word", ["returned", "refunded"])
def test_what_came_back_is_owed_again(ledger: Ledger, word: str) -> None:
    assert settle_list(ledger, *PAID) == []
    assert settle_list(ledger, ("A", "7.00", word)) == []
    assert ledger.balances()[REF["A"]] == 700
    assert "is returned" in settle_list(ledger, *PAID)[0] or word == "refunded"  # the first list, read again
    assert ledger.balances()[REF["A"]] == 700


@pytest.mark.usefixtures("sent")
def test_a_transaction_is_booked_for_one_payment(ledger: Ledger) -> None:
    assert settle_list(ledger, PAID[0], transaction_id="T1") == []
    assert "T1 is booked for payment b0001-00001" in settle_list(ledger, PAID[1], transaction_id="T1")[0]
    line = list(ledger.entries("payment"))[-1]
    assert line.reason.startswith('confirmed {"list_sha256":"ab","paid_minor":700,"transaction":"T1"')


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(("column", "value"), [("currency", "EUR"), ("payment_id", "b0007-00001")])
def test_a_list_of_another_currency_or_batch_settles_nothing(ledger: Ledger, column: str, value: str) -> None:
    assert value in settle_list(ledger, *PAID, **{column: value})[0]
    assert states(ledger) == {"in_flight"}


@pytest.mark.usefixtures("sent")
def test_a_doubtful_payee_blocks_that_payee_only(ledger: Ledger) -> None:
    settle_list(ledger, PAID[0])
    move(ledger, {"b0001-00002": "unknown"})
    more = settled(review("A", "18", 2, item="it-2"), review("B", "15", item="it-2"))
    with ledger.writing():
        ledger.append(draft_lines(ledger, more, BOOK))
    second = plan_into(ledger, BOOK.payees)
    assert [(p.payee_ref, p.amount_minor) for p in second.payments] == [(REF["A"], 700)]
    assert [(c.payee_ref, c.amount_minor) for c in second.carried] == [(REF["B"], 200)]


def test_a_plan_that_a_correction_made_stale_is_not_sent(ledger: Ledger) -> None:
    plan_into(ledger, BOOK.payees)
    with ledger.writing():
        ledger.append(draft_lines(ledger, settled(review("A", "15"), review("B", "15")), BOOK, "appeal"))
    with pytest.raises(Refusal, match="b0001-00001 7.00, now 4.50"):
        plan_into(ledger, BOOK.payees)
    with pytest.raises(Refusal, match="above what may be paid now"):
        move_batch(ledger, "b0001", "in_flight", check=check_current)
    move_batch(ledger, "b0001", "cancelled")
    assert [p.amount_minor for p in plan_into(ledger, BOOK.payees).payments] == [450, 450]


def test_a_cap_counts_what_the_ledger_paid_in_the_period(ledger: Ledger) -> None:
    plan_into(ledger, BOOK.payees, Limits(cap_minor=500), steps("2026-03-01T00:00:00Z", 500))
    with pytest.raises(Refusal, match="another --cap"):
        plan_into(ledger, BOOK.payees, Limits(cap_minor=600))
    move_batch(ledger, "b0001", "in_flight")
    move_batch(ledger, "b0001", "confirmed")
    assert next_plan(ledger, BOOK.payees, Limits(cap_minor=500)).payments == ()
    april = Limits(cap_minor=500, since="2026-04-01T00:00:00Z")
    assert [p.amount_minor for p in next_plan(ledger, BOOK.payees, april).payments] == [200]


def steps(at: str, cap: int) -> dict[str, Step]:
    return {ref: Step(account="x", at=at, cap_minor=cap) for ref in REF.values()}


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(("paid", "left"), [(699, 1), (750, -50), (0, 700)])
def test_an_amount_that_differs_is_booked_by_two_persons(ledger: Ledger, paid: int, left: int) -> None:
    adjust(ledger, "b0001-00001", paid, Step(why="fee", by="ann", approved_by="bob"))
    assert ledger.balances()[REF["A"]] == left
    with pytest.raises(Refusal, match="already"):
        adjust(ledger, "b0001-00001", paid, Step(why="fee", by="ann", approved_by="bob"))
    assert "fee" in str(build_statements(ledger.entries(), "USD", ledger.head()))
    if paid:
        move(ledger, {"b0001-00001": "refunded"})
        assert ledger.balances()[REF["A"]] == 700


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(
    "step",
    [
        Step(),
        Step(why="x", by="ann"),
        Step(why="x", by="ann", approved_by="Ann "),
        Step(by="a", approved_by="b"),
    ],
)
def test_an_adjustment_needs_a_reason_and_a_second_person(ledger: Ledger, step: Step) -> None:
    with pytest.raises(InputError, match="two different persons"):
        adjust(ledger, "b0001-00001", 1, step)


@pytest.mark.parametrize(
    ("provider", "currency"), [("prolific", "KWD"), ("prolific", "JPY"), ("mturk", "GBP")]
)
def test_a_provider_is_sent_its_own_currencies_only(provider: str, currency: str) -> None:
    with pytest.raises(Refusal, match=f"the ledger is in {currency}"):
        write_files([transfer(currency=currency, assignment_id="x")], provider, 200)  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [Limits(cap_minor=-1), Limits(cap_minor=1, paid_before={REF["A"]: -1})])
def test_a_cap_below_zero_is_refused(ledger: Ledger, limits: Limits) -> None:
    with pytest.raises(InputError, match="below zero"):
        next_plan(ledger, BOOK.payees, limits)
