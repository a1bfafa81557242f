"""A bonus by discipline from its own items, and dearer pay where reviewers are scarce."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from kina_build.errors import InputError, UsageError
from kina_review.economics.calibrating import calibrate
from kina_review.economics.disciplines import DisciplineRow, bonus_by_discipline, scale_pay, scarcity
from kina_review.economics.options import CalibrateOptions
from kina_review.economics.pilot import PilotRow

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
    found = bonus_by_discipline(rows, Fraction(1), 15, tie="split", currency="USD")
    assert list(found) == ["art", "law", "math"]
    assert Decimal(found["law"]["bonus"]) < Decimal(found["math"]["bonus"])
    assert found["art"]["bonus"] is None
    assert "not shown to be positive" in found["art"]["reason"]


def test_a_row_without_discipline_is_refused() -> None:
    with pytest.raises(InputError, match="no discipline of its own"):
        bonus_by_discipline(pilot(None, 2, 4), Fraction(1), 15, tie="split", currency="USD")


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


def test_the_calibration_tells_both(tmp_path: Path) -> None:
    (tmp_path / "fields.csv").write_text("discipline,items,reviewers\nlaw,100,10\nmath,30,20\n")
    found = calibrate(CalibrateOptions(delta_p=".3", cost="1", scarcity=tmp_path / "fields.csv")).report
    assert found["scarcity"]["math"] == {"factor": 1.0, "base": "2.00", "bonus": found["bonus"]}
    assert found["scarcity"]["law"]["factor"] > 2 - 1e-9
    with pytest.raises(UsageError, match="--by-discipline needs"):
        calibrate(CalibrateOptions(delta_p=".3", cost="1", by_discipline=True))
