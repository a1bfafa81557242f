from __future__ import annotations

import hashlib
import hmac
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.errors import InputError, Refusal, UsageError
from kina_review.intake import read_decisions
from kina_review.pay.audit import approved_items, commit, commit_all, draw, read_draws, register_draw, undrawn
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.drawing import check_findings, draw_audit, flaw_rate, judge, judge_all, read_share
from kina_review.pay.posting import post_to
from kina_review.records import Decision, Finding, Flaw
from kina_review.rubric import ReviewRules
from kina_review.tournament.options import DrawOptions
from tests.review.stories import review, settled

SEED = "correct horse battery staple"


def test_the_commitment_is_the_seeds_sha256_and_short_seeds_are_refused() -> None:
    assert commit(SEED) == hashlib.sha256(SEED.encode()).hexdigest()
    with pytest.raises(InputError, match="could be guessed"):
        commit("1234")


def test_items_are_drawn_by_hmac() -> None:
    items = [f"it-{n}" for n in range(40)]
    audit = draw(items, SEED, Decimal("0.06"), commit(SEED))
    lots = sorted(items, key=lambda i: hmac.new(SEED.encode(), i.encode(), hashlib.sha256).digest())
    assert audit.item_ids == tuple(lots[:3])  # ceil(2.4)
    assert draw(items[::-1], SEED, Decimal("0.06"), commit(SEED)) == audit


def test_another_seed_than_the_committed_one_is_refused() -> None:
    with pytest.raises(Refusal, match="not the one that was committed"):
        draw(["a"], SEED, Decimal(1), commit(SEED + "!"))


@given(st.sets(st.text(min_size=1), max_size=30), st.decimals(0, 1, places=3))
def test_the_draw_has_the_size_it_should_and_no_item_twice(items: set[str], rate: Decimal) -> None:
    audit = draw(sorted(items), SEED, rate, commit(SEED))
    assert len(set(audit.item_ids)) == len(audit.item_ids)
    assert rate * len(items) <= len(audit.item_ids) < rate * len(items) + 1


def test_a_draw_needs_unique_items_and_a_rate() -> None:
    with pytest.raises(InputError, match="more than once"):
        draw(["a", "a"], SEED, Decimal(1), commit(SEED))
    with pytest.raises(InputError, match="rate"):
        draw(["a"], SEED, Decimal(2), commit(SEED))


def test_only_accepted_items_are_audited() -> None:
    rows = [
        Decision(item_id=i, decision=d, reason="")
        for i, d in (("b", "accept"), ("a", "accept"), ("c", "revise"))
    ]
    assert approved_items(rows) == ["a", "b"]


def test_findings_must_be_about_drawn_items_once_each() -> None:
    audit = draw(["a", "b"], SEED, Decimal(1), commit(SEED))
    assert check_findings(audit, [Finding(item_id="a", flawed=False)]) == ["b"]
    with pytest.raises(Refusal, match="not drawn"):
        check_findings(audit, [Finding(item_id="z", flawed=True)])
    with pytest.raises(Refusal, match="two findings"):
        check_findings(audit, [Finding(item_id="a", flawed=True)] * 2)


def test_the_flaw_rate_has_an_interval_and_is_undefined_without_findings() -> None:
    assert flaw_rate([]) is None
    rate = flaw_rate([Finding(item_id=str(n), flawed=n < 2) for n in range(40)])
    assert rate is not None
    assert (rate.audited, rate.flawed, rate.rate) == (40, 2, 0.05)
    assert (rate.lower, rate.upper) == pytest.approx((0.0138, 0.1650), abs=1e-4)


def test_strikes_add_up_to_a_call_and_the_first_call_stands() -> None:
    assert judge("A", []).call == "keep_watching"
    assert judge("A", [True, False]).call == "keep_watching"
    assert judge("A", [True] * 3).call == "strike_out"
    assert judge("A", [False] * 18).call == "in_good_standing"
    assert judge("A", [True] * 3 + [False] * 40).call == "strike_out"


def test_who_named_the_flaw_does_not_fail_with_the_item() -> None:
    rows = [review("A", "18"), review("B", "15", flaws=(Flaw(kind="wrong_groundtruth"),))]
    found = [Finding(item_id="it-1", flawed=True, flaw="wrong_groundtruth")]
    assert {r.reviewer_id: r.failed for r in judge_all(rows, found)} == {"A": 1, "B": 0}


# --- what is committed to, and drawn once -------------------------------------------------

BATCH = [f"it-{n}" for n in range(10)]


@pytest.mark.parametrize(
    ("rate", "batch"),
    [(Decimal("0.2"), BATCH), (Decimal("0.5"), BATCH[:-1]), (Decimal("0.5"), [*BATCH, "x"])],
)
def test_a_commitment_to_all_holds_rate_and_list(rate: Decimal, batch: list[str]) -> None:
    made = commit_all(SEED, Decimal("0.5"), BATCH)
    assert len(draw(BATCH[:4], SEED, Decimal("0.50"), made, BATCH[::-1]).item_ids) == 2
    with pytest.raises(Refusal, match="not what was committed to"):
        draw(BATCH[:4], SEED, rate, made, batch)
    with pytest.raises(InputError, match="--items|covers the items"):
        draw(BATCH[:4], SEED, Decimal("0.5"), made)
    with pytest.raises(Refusal, match="not of the batch"):
        draw(["y"], SEED, Decimal("0.5"), made, BATCH)


def test_a_second_draw_is_refused_and_findings_stay_within_the_first(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    post_to(path, settled(review("A", "18"), review("B", "15")))
    first = draw(BATCH, SEED, Decimal("0.2"), commit(SEED))
    register_draw(path, first)
    register_draw(path, first)
    with open_ledger(path) as ledger:
        assert read_draws(ledger) == [first]
    with pytest.raises(Refusal, match="was made under this commitment"):
        register_draw(path, draw(BATCH, SEED, Decimal("0.3"), commit(SEED)))
    drawn, other = first.item_ids[0], next(i for i in BATCH if i not in first.item_ids)
    assert undrawn([first], [Finding(item_id=drawn, flawed=True)]) == []
    with pytest.raises(Refusal, match="was not drawn"):
        undrawn([first], [Finding(item_id=other, flawed=True)])
    assert undrawn([], [Finding(item_id=other, flawed=True)]) == [other]


@pytest.mark.parametrize(
    "text",
    [
        "item_id,decision\na,accept\nb,accept\nc,reject\n",
        "\ufeffdecision;item_id;note\naccept;a;fine\naccept;b;\nreject;c;\n",
        '[{"item_id": "a", "decision": "accept"}, {"item_id": "b", "decision": "accept"}]',
        (
            '{"item_id": "a", "decision": "accept", "opinions": {"p1": "accept"}}\n'
            '{"item_id": "b", "decision": "accept"}\n'
        ),
    ],
)
def test_decisions_are_drawn_from_whatever_form_their_table_has(tmp_path: Path, text: str) -> None:
    (tmp_path / "seed").write_text(SEED)
    (tmp_path / "d").write_text(text)
    options = DrawOptions(
        decisions=tmp_path / "d",
        seed_file=tmp_path / "seed",
        commitment=commit(SEED),
        output=tmp_path / "o.json",
    )
    assert sorted(draw_audit(options, Decimal(1)).item_ids) == ["a", "b"]


def test_a_second_draw_of_the_same_items_is_refused_under_another_commitment_too(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    post_to(path, settled(review("A", "18"), review("B", "15")))
    register_draw(path, draw(BATCH, SEED, Decimal(1), commit(SEED)), BATCH)
    other = draw(BATCH, SEED, Decimal(1), commit_all(SEED, Decimal(1), BATCH), BATCH)
    with pytest.raises(Refusal, match="drawn before, under another commitment"):
        register_draw(path, other, BATCH)
    register_draw(path, draw(["new"], SEED + "2", Decimal(1), commit(SEED + "2")), ["new"])


@pytest.mark.parametrize("rate", ["1.1", "-0.1", "nan", "inf", "50%", ""])
def test_a_rate_is_a_share_already_when_it_is_committed_to(rate: str) -> None:
    with pytest.raises(UsageError, match="--rate"):
        read_share(rate, ReviewRules)


def test_two_decisions_on_one_item_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("item_id,decision\na,accept\na,reject\n")
    with pytest.raises(InputError, match="item 'a' has two decisions: accept and reject"):
        read_decisions(tmp_path / "d.csv")
