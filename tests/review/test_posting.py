"""Target minus sum: whatever is corrected, and however often it runs, the ledger holds what is due."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from kina_build.errors import Refusal
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import create_ledger, open_ledger
from kina_review.pay.drafting import draft_lines
from kina_review.pay.payees import PayeeBook
from kina_review.pay.payments import UNDER_WAY, move_batch, read_payments
from kina_review.pay.plans import plan_into
from kina_review.pay.posting import post_to
from kina_review.payrecords import Award, PayRule
from kina_review.records import Finding, Review
from kina_review.tournament.settlement import Settlement
from tests.review.stories import pay, review, rule, settled

BOOK = PayeeBook(key="00" * 32)


def post(ledger: Ledger, done: Settlement) -> int:
    with ledger.writing():
        lines = draft_lines(ledger, done, BOOK, "a correction")
        ledger.append(lines)
    return len(lines)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return create_ledger(tmp_path / "pay.db", "USD", BOOK.check)


def owed(ledger: Ledger, *names: str) -> dict[str, int]:
    balances = ledger.balances()
    return {name: balances.get(BOOK.ref(name), 0) for name in names}


def test_the_second_run_posts_nothing(ledger: Ledger) -> None:
    done = settled(review("A", "13"), review("B", "12"))
    assert post(ledger, done) == 6  # the rule, the evidence, two bases, two bonuses of zero
    assert post(ledger, done) == 0
    zeros = list(ledger.entries("bonus"))
    assert [(entry.amount_minor, entry.reason) for entry in zeros] == [(0, "below_bar"), (0, "below_bar")]


def test_a_new_reason_for_the_same_amount_is_a_line_of_zero(ledger: Ledger) -> None:
    post(ledger, settled(review("A", "9")))
    post(ledger, settled(review("A", "9"), review("B", "8")))
    told = [(line.amount_minor, line.reason) for line in ledger.entries("bonus") if line.reviewer_id == "A"]
    assert told == [(0, "contest_incomplete"), (0, "below_bar")]


def test_an_audit_after_payment_moves_the_bonus_and_carries_the_debt(ledger: Ledger) -> None:
    reviews = (review("A", "18"), review("B", "15", hour=2))
    post(ledger, settled(*reviews))
    assert plan_into(ledger, {}).total_minor == 900
    move_batch(ledger, "b0001", "in_flight")
    move_batch(ledger, "b0001", "confirmed")
    assert owed(ledger, "A", "B") == {"A": 0, "B": 0}

    void = [Finding(item_id="it-1", flawed=False, failed=("A",))]
    post(ledger, settled(*reviews, findings=void))
    assert owed(ledger, "A", "B") == {"A": -500, "B": 500}

    other = (review("A", "15", item="it-2"), review("C", "18", hour=2, item="it-2"))
    three = rule(base="3.00", version="2")
    post(ledger, settled(*other, rules=three))
    assert owed(ledger, "A") == {"A": -200}
    second = plan_into(ledger, {})
    assert BOOK.ref("A") not in {payment.payee_ref for payment in second.payments}
    assert {(c.payee_ref, c.amount_minor) for c in second.carried} == {(BOOK.ref("A"), -200)}


def test_a_correction_after_export_posts_the_difference_once(ledger: Ledger) -> None:
    post(ledger, settled(review("A", "18"), review("B", "14")))
    plan_into(ledger, {})
    tie = settled(review("A", "18"), review("B", "18"))
    assert post(ledger, tie) == 4  # the reason, the evidence, two bonuses
    assert owed(ledger, "A", "B") == {"A": -250, "B": 250}
    assert post(ledger, tie) == 0


def test_a_review_that_vanishes_from_its_item_is_taken_back(ledger: Ledger) -> None:
    post(ledger, settled(review("A", "18"), review("B", "14")))
    post(ledger, settled(review("A", "18")))
    assert owed(ledger, "A", "B") == {"A": 200, "B": 0}
    assert [entry.reason for entry in ledger.entries("base")][-1] == "withdrawn"


def test_other_items_and_rounds_are_left_alone(ledger: Ledger) -> None:
    post(ledger, settled(review("A", "18"), review("B", "14")))
    post(ledger, settled(review("A", "9", item="it-2")))
    post(ledger, settled(review("A", "18", round="2")))
    assert owed(ledger, "A") == {"A": 700 + 200 + 200}


def test_a_rule_version_means_one_thing(ledger: Ledger) -> None:
    post(ledger, settled(review("A", "18"), review("B", "14")))
    with pytest.raises(Refusal, match="other terms"):
        post(ledger, settled(review("A", "18", item="it-2"), rules=rule(bonus="6.00")))
    with pytest.raises(Refusal, match="was settled under pay rule 1"):
        post(ledger, settled(review("A", "18"), review("B", "14"), rules=rule(bonus="6.00", version="2")))


def test_work_keeps_its_rule_also_where_it_earned_nothing(ledger: Ledger) -> None:
    low = (review("A", "9"), review("B", "9"))
    post(ledger, settled(*low, rules=rule(base="0.00")))
    assert owed(ledger, "A", "B") == {"A": 0, "B": 0}
    with pytest.raises(Refusal, match="was settled under pay rule 1, not 2"):
        post(ledger, settled(*low, rules=rule(base="0.00", version="2")))


def test_another_seed_cannot_hand_a_tie_to_somebody_else(ledger: Ledger) -> None:
    tie = (review("A", "18"), review("B", "18"))
    post(ledger, settled(*tie, rules=rule(tie="coin"), seed=1))
    with pytest.raises(Refusal, match="other terms"):
        post(ledger, settled(*tie, rules=rule(tie="coin"), seed=2))


def test_a_reviewer_cannot_change_payees_in_a_ledger(ledger: Ledger) -> None:
    post(ledger, settled(review("A", "18", payee_id="P"), review("B", "14")))
    assert post(ledger, settled(review("A", "18"), review("B", "14"))) == 0
    with pytest.raises(Refusal, match="another payee"):
        post(ledger, settled(review("A", "18", payee_id="Q"), review("B", "14")))


def test_two_accounts_of_one_payee_share_one_balance(ledger: Ledger) -> None:
    post(ledger, settled(review("A1", "9", payee_id="P"), review("A2", "9", item="it-2", payee_id="P")))
    assert owed(ledger, "P") == {"P": 400}
    assert len(plan_into(ledger, {}).payments) == 1


# --- random histories ---------------------------------------------------------------------


class World:
    """A ledger, the reviews as they stand, and the oracle: what must be due, and what was paid."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.reviews: dict[tuple[str, str], Review] = {}
        self.findings: dict[str, Finding] = {}
        self.due: dict[tuple[str, str], int] = {}
        self.paid: dict[str, int] = {}

    def step(self, rng: random.Random) -> None:
        getattr(
            self, rng.choice(["hand_in", "correct", "audit", "settle", "settle_some", "export", "answer"])
        )(rng)
        self.check()

    def hand_in(self, rng: random.Random) -> None:
        item, who = f"it-{rng.randrange(4)}", rng.choice("ABC")
        status = rng.choice(["submitted"] * 4 + ["draft", "skipped"])
        self.reviews[item, who] = review(
            who, str(rng.randrange(10, 20)), rng.choice([1, 2, 3]), item, status=status
        )
        # times of an item must differ where more than two hand in
        for hour, place in enumerate(sorted(key for key in self.reviews if key[0] == item), start=1):
            old = self.reviews[place]
            self.reviews[place] = old.model_copy(update={"submitted_at": review("A", hour=hour).submitted_at})

    def correct(self, rng: random.Random) -> None:
        if self.reviews:
            place = rng.choice(sorted(self.reviews))
            score = rng.choice([None, str(rng.randrange(10, 20))])
            old = self.reviews[place]
            fresh = review(old.reviewer_id, score, 1, place[0], status=old.status)
            self.reviews[place] = fresh.model_copy(update={"submitted_at": old.submitted_at})

    def audit(self, rng: random.Random) -> None:
        if self.reviews:
            item, who = rng.choice(sorted(self.reviews))
            self.findings[item] = Finding(
                item_id=item, flawed=rng.random() < 0.5, failed=(who,) * rng.randrange(2)
            )

    def settle(self, rng: random.Random, items: Sequence[str] = ("it-0", "it-1", "it-2", "it-3")) -> None:
        rows = [row for (item, _), row in self.reviews.items() if item in items]
        rng.shuffle(rows)
        if not rows:
            return
        found = [self.findings[item] for item in sorted(self.findings) if item in items]
        done = settled(*rows, findings=found, penalty_minor=150, seed=42)
        post(self.ledger, done)
        assert post(self.ledger, done) == 0
        for award in done.awards:
            self.due[award.item_id, award.reviewer_id] = award_total(award)
        for item in {award.item_id for award in done.awards}:
            assert sum(a.bonus_minor for a in done.awards if a.item_id == item) <= 501

    def settle_some(self, rng: random.Random) -> None:
        self.settle(rng, [f"it-{rng.randrange(4)}"])

    def export(self, rng: random.Random) -> None:
        try:
            first = plan_into(self.ledger, {})
        except Refusal:
            return
        assert plan_into(self.ledger, {}).payments == first.payments or not first.payments
        if first.fresh:
            for payment in first.payments:
                self.paid[payment.payee_ref] = self.paid.get(payment.payee_ref, 0) + payment.amount_minor

    def answer(self, rng: random.Random) -> None:
        open_ = [p for p in read_payments(self.ledger.entries("payment")).values() if p.state in UNDER_WAY]
        if not open_:
            return
        state = rng.choice(["in_flight", "unknown", "confirmed", "failed", "cancelled"])
        try:
            moved = move_batch(self.ledger, open_[0].batch, state)
        except Refusal:
            return
        if state in ("failed", "cancelled"):
            for payment in moved:
                self.paid[payment.payee_ref] -= payment.amount_minor

    def check(self) -> None:
        balances = self.ledger.balances()
        for who in "ABC":
            earned = sum(amount for (_, name), amount in self.due.items() if name == who)
            assert balances.get(BOOK.ref(who), 0) == earned - self.paid.get(BOOK.ref(who), 0)


def award_total(award: Award) -> int:
    return award.base_minor + award.bonus_minor + award.penalty_minor


def play(seed: int, steps: int, folder: Path) -> None:
    path = folder / f"{seed}.db"
    rng = random.Random(seed)
    with create_ledger(path, "USD", BOOK.check) as ledger:
        # these histories are about sums, not about crashes
        ledger._connection.execute("PRAGMA synchronous = OFF")
        ledger._connection.execute("PRAGMA journal_mode = MEMORY")
        world = World(ledger)
        for _ in range(steps):
            world.step(rng)
        ledger.verify()
    path.unlink()


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_no_history_of_settling_correcting_exporting_pays_a_line_twice(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 100):
        play(seed, 14, tmp_path)


@pytest.mark.live
@pytest.mark.timeout(1500)
def test_ten_thousand_histories(tmp_path: Path) -> None:
    for seed in range(10_000, 20_000):
        play(seed, 14, tmp_path)


CURRENCIES = st.sampled_from(["USD", "JPY", "KWD", "CLF"])


@given(
    CURRENCIES,
    st.integers(0, 9999),
    st.integers(0, 9999),
    st.lists(st.integers(10, 20), min_size=2, max_size=2),
)
@budget(max_examples=50)
def test_sums_close_to_the_minor_unit_in_any_currency(
    currency: str, base: int, bonus: int, scores: list[int]
) -> None:
    terms = PayRule(currency=currency, base_minor=base, bonus_minor=bonus, bar=14, tie="split")
    done = settled(review("A", str(scores[0])), review("B", str(scores[1])), rules=terms, seed=1)
    assert sum(pay(done).values()) == 2 * base + (bonus if max(scores) >= 14 else 0)


def test_row_order_changes_nothing(tmp_path: Path) -> None:
    rows = [
        review(w, s, h, item=f"it-{n}")
        for n in range(20)
        for w, s, h in (("A", "15", 1), ("B", "15", 2), ("C", "9", 3))
    ]
    ledgers = []
    for name, order in (("one", rows), ("two", rows[::-1])):
        with create_ledger(tmp_path / name, "USD", BOOK.check) as ledger:
            post(ledger, settled(*order, seed=7))
            ledgers.append([entry.model_copy(update={"hash": ""}) for entry in ledger.entries()])
    assert ledgers[0] == ledgers[1]


def test_post_to_begins_ledger_and_book(tmp_path: Path) -> None:
    done = settled(review("A", "18"), review("B", "14"))
    path = tmp_path / "pay.db"
    head = post_to(path, done).head
    with open_ledger(path) as ledger:
        assert ledger.verify() == head
