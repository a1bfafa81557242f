"""A bonus by discipline from its own items, and dearer pay where reviewers are scarce."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from kina_build.errors import InputError, Refusal, UsageError
from kina_review.economics.advice import Question
from kina_review.economics.budget import hold_budget
from kina_review.economics.calibrating import calibrate
from kina_review.economics.disciplines import bonus_by_discipline, scale_pay
from kina_review.economics.options import BudgetOptions, CalibrateOptions
from kina_review.economics.pilot import PilotRow
from kina_review.pay.options import AuditOptions
from kina_review.pay.settling import Settled, audit_files, settle_files, terms_of
from kina_review.tournament.options import SettleOptions
from kina_review.tournament.payrules import build_pay_rule
from kina_review.tournament.scarcity import DisciplineRow, scarcity

ASKED = Question(delta_cost=Fraction(1), currency="USD")
EFFORTS = ("HH", "HL", "LL")


def pilot(discipline: str | None, items: int, lift: int) -> list[PilotRow]:
    """Return a pilot in which high effort scores higher by `lift`; scores move with the item's number."""
    rows = []
    for cell in EFFORTS:
        for n in range(items):
            for who, effort in zip("AB", cell, strict=True):
                score = 12 + (n + 3 * (who == "B")) % 5 + (lift if effort == "H" else 0)
                name = f"{discipline}-{cell}-{n}"
                rows.append(
                    PilotRow(item_id=name, reviewer_id=who, effort=effort, review_score=Decimal(score),
                             discipline=discipline)
                )  # fmt: skip
    return rows


def test_each_discipline_has_the_bonus_of_its_own_items() -> None:
    rows = [*pilot("law", 60, 4), *pilot("math", 150, 3), *pilot("art", 2, 1)]
    found = bonus_by_discipline(rows, ASKED, 15, tie="split")
    assert list(found) == ["art", "law", "math"]
    assert Decimal(found["law"]["bonus"]) < Decimal(found["math"]["bonus"])
    assert found["art"]["bonus"] is None
    assert "not shown to be positive" in found["art"]["reason"]


def test_a_row_without_discipline_is_refused() -> None:
    with pytest.raises(InputError, match="no discipline of its own"):
        bonus_by_discipline(pilot(None, 2, 4), ASKED, 15, tie="split")


def test_scarce_fields_are_dearer_within_bounds() -> None:
    rows = [
        DisciplineRow(discipline="law", items=100, reviewers=10),
        DisciplineRow(discipline="math", items=30, reviewers=20),
        DisciplineRow(discipline="norse", items=50, reviewers=1),
    ]
    factors = scarcity(rows)  # on the whole 180 items for 31 people
    assert factors == {"law": Fraction(10) / Fraction(180, 31), "math": 1, "norse": 2}
    paid = scale_pay(factors, 200, {"law": 501, "norse": 501}, "USD")
    assert paid["norse"] == {"factor": 2.0, "base": "4.00", "bonus": "10.02"}
    assert paid["law"]["base"] == "3.45"  # 3.444 rounded up
    assert "math" not in paid
    with pytest.raises(InputError, match="stands twice"):
        scarcity([rows[0], rows[0]])


FIELDS = "discipline,items,reviewers\nlaw,100,10\nmath,30,20\n"
ITEMS = '{"item_id":"k1","discipline":"law"}\n{"item_id":"k2","discipline":"math"}\n'
REVIEWS = """item_id,reviewer_id,review_score,submitted_at
k1,p1,17,2026-05-04T08:00:00Z
k1,p2,15,2026-05-04T09:00:00Z
k2,p1,17,2026-05-04T08:00:00Z
k2,p3,15,2026-05-04T09:00:00Z
"""


def batch(tmp_path: Path, **more: object) -> SettleOptions:
    texts = {"r.csv": REVIEWS, "f.csv": FIELDS, "i.jsonl": ITEMS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return SettleOptions(**{"reviews": (tmp_path / "r.csv",), "ledger": tmp_path / "pay.db", **more})  # type: ignore[arg-type]


def post(options: SettleOptions) -> Settled:
    assert options.ledger is not None
    return settle_files(options, terms_of(options)).post(options.ledger)


def earned(done: Settled) -> dict[tuple[str, str], int]:
    return {(one.item_id, one.reviewer_id): one.base_minor + one.bonus_minor for one in done.awards}


def test_a_batch_is_settled_by_discipline_and_derived_again(tmp_path: Path) -> None:
    items, fields = tmp_path / "i.jsonl", tmp_path / "f.csv"
    options = batch(tmp_path, items=items, scarcity=fields)
    done = post(options)
    assert earned(done) == {("k1", "p1"): 1400, ("k1", "p2"): 400, ("k2", "p1"): 700, ("k2", "p3"): 200}
    assert post(options).posted == ()
    told = AuditOptions(ledger=options.ledger, reviews=options.reviews, items=items, scarcity=fields)
    assert audit_files(told)["faults"] == []
    assert "no file says the item's" in audit_files(replace(told, items=None))["faults"][0]
    (tmp_path / "other.csv").write_text("item_id,discipline\nk1,math\nk2,math\n")
    assert "is paid by 1:math" in audit_files(replace(told, items=tmp_path / "other.csv"))["faults"][0]
    (tmp_path / "less.csv").write_text("discipline,items,reviewers\nlaw,30,10\nmath,30,20\n")
    assert "dearer by 2" in audit_files(replace(told, scarcity=tmp_path / "less.csv"))["faults"][0]


def test_a_forgotten_table_changes_nobodys_pay(tmp_path: Path) -> None:
    options = batch(tmp_path, items=tmp_path / "i.jsonl", scarcity=tmp_path / "f.csv")
    post(options)
    plain = replace(options, items=None, scarcity=None)
    with pytest.raises(Refusal, match="settled under pay rule 1:law, not 1"):
        post(plain)
    fresh = tmp_path / "more.csv"
    fresh.write_text(REVIEWS.replace("k1", "n1").replace("k2", "n2").replace("T08", "T10"))
    with pytest.raises(Refusal, match="stands in the ledger as 1:law, 1:math, and this run has 1"):
        post(replace(plain, reviews=(fresh,)))
    with pytest.raises(Refusal, match="item 'n1' has none"):
        post(replace(options, reviews=(fresh,)))


def test_rules_pay_a_discipline_apart_and_the_rest_as_usual(tmp_path: Path) -> None:
    rules = tmp_path / "rules.csv"
    head = "version,currency,base,bonus,bar,tie,discipline\n"
    rules.write_text(f"{head}a,USD,2.00,5.00,14,split,\na,USD,3.00,8.00,16,split,law\n")
    options = batch(tmp_path, rules=rules, items=tmp_path / "i.jsonl")
    assert earned(post(options)) == {
        ("k1", "p1"): 1100,
        ("k1", "p2"): 300,
        ("k2", "p1"): 700,
        ("k2", "p3"): 200,
    }
    with pytest.raises(InputError, match="pay of its own for 'law'"):
        terms_of(replace(options, scarcity=tmp_path / "f.csv"))
    rules.write_text(f"{head}a,USD,3.00,8.00,16,split,law\n")
    with pytest.raises(Refusal, match="says nothing of discipline 'math'"):
        post(options)
    rules.write_text(f"{head}a,USD,3.00,8.00,16,split,law\na,USD,3.00,8.00,16,split,law\n")
    with pytest.raises(InputError, match="same version"):
        terms_of(options)


def test_disciplines_have_one_spelling_and_items_one_discipline(tmp_path: Path) -> None:
    options = batch(tmp_path, items=tmp_path / "i.jsonl", scarcity=tmp_path / "f.csv")
    (tmp_path / "i.jsonl").write_text(ITEMS.replace("law", "Law"))
    with pytest.raises(Refusal, match="differ only by case"):
        post(options)
    (tmp_path / "i.jsonl").write_text(ITEMS + ITEMS.replace("law", "math"))
    with pytest.raises(InputError, match=r"i.jsonl:3: item 'k1' is of 'law' and of 'math'"):
        post(options)
    with pytest.raises(UsageError, match="no pay goes by them"):
        terms_of(replace(options, scarcity=None))


def test_the_worst_case_counts_each_discipline_by_its_own_pay(tmp_path: Path) -> None:
    batch(tmp_path)
    options = BudgetOptions(items=130, budget="9999", scarcity=tmp_path / "f.csv", grade_pay="0.50")
    # law: 100 * (10 + 2 * 4.50), math: 30 * (5 + 2 * 2.50)
    assert hold_budget(options)["worst_case_minor"] == 100 * 1900 + 30 * 1000
    with pytest.raises(Refusal, match="2200.00 USD, beyond"):
        hold_budget(replace(options, budget="2199.99"))
    with pytest.raises(UsageError, match="the --scarcity table has 130"):
        hold_budget(replace(options, items=131))
    asked = CalibrateOptions(delta_p=".3", cost="1", bonus="5", items=130, scarcity=tmp_path / "f.csv")
    assert calibrate(replace(asked, grade_pay="0.50")).report["spend"]["worst_case"] == "2200.00"


def test_the_calibration_tells_both(tmp_path: Path) -> None:
    (tmp_path / "fields.csv").write_text("discipline,items,reviewers\nlaw,100,10\nmath,30,20\n")
    found = calibrate(CalibrateOptions(delta_p=".3", cost="1", scarcity=tmp_path / "fields.csv")).report
    assert found["scarcity"]["math"] == {"factor": 1.0, "base": "2.00", "bonus": found["bonus"]}
    assert found["scarcity"]["law"]["factor"] > 2 - 1e-9
    with pytest.raises(UsageError, match="--by-discipline needs"):
        calibrate(CalibrateOptions(delta_p=".3", cost="1", by_discipline=True))


def test_usual_pay_is_not_read_as_another_currency() -> None:
    with pytest.raises(InputError, match="the usual base is 2.00 USD, and pay is in JPY"):
        build_pay_rule("1", {"currency": "JPY", "bonus": "500"})
    with pytest.raises(InputError, match="the usual bonus is 5.00 USD"):
        hold_budget(BudgetOptions(items=1, budget="1000", currency="JPY", base="200"))
    assert build_pay_rule("1", {"currency": "JPY", "base": "200", "bonus": "500"}).base_minor == 200


@pytest.mark.parametrize("option", [{"base": ""}, {"currency": ""}, {"bar": ""}, {"tie": ""}])
def test_an_empty_option_is_not_the_usual_pay(option: dict[str, str]) -> None:
    with pytest.raises(InputError):
        build_pay_rule("1", option)


@pytest.mark.parametrize("rate", ["1.5", "-0.5", "1", ""])
def test_a_rate_of_no_shows_is_a_share(rate: str) -> None:
    with pytest.raises(UsageError, match="--no-show-rate"):
        calibrate(CalibrateOptions(delta_p=".3", cost="1", no_show_rate=rate))
