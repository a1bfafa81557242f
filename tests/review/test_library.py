"""The review side as a library, from reviews to payments; its doors load nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kina_review as kr
from kina_build.errors import InputError, Refusal
from kina_review.pay.paying import Planned
from tests.review.stories import review

ROOMS = ("desk", "pay", "tournament", "economics")
RULE = kr.PayRule(base="2.00", bonus="5.00", currency="USD", bar=14, tie="split")


def two(higher: str = "18") -> list[kr.Review]:
    return [review("ann", higher, hour=1), review("bob", "15", hour=2)]


def plan(folder: Path, **more: bool) -> Planned:
    return kr.plan_payments(folder / "pay.db", folder / "payments.csv", **more)


def test_from_reviews_to_paid(tmp_path: Path) -> None:
    ledger = tmp_path / "pay.db"
    done = kr.settle(two(), RULE, seed=42)
    assert {award.reviewer_id: award.bonus_minor for award in done.awards} == {"ann": 500, "bob": 0}
    assert str(done) == "9.00 USD due for 2 reviews of 1 items"
    assert [line.amount_minor for line in done.post(ledger).posted or () if line.amount_minor] == [
        200,
        500,
        200,
    ]
    assert done.post(ledger).posted == ()  # posting again posts nothing

    planned = plan(tmp_path)
    assert str(planned) == "batch b0001: 9.00 USD to 2 payees"
    planned.write()
    (tmp_path / "list.csv").write_text("payee_id,amount\nann,7.00\nbob,2.00\n")
    told = kr.reconcile(ledger, tmp_path / "list.csv")
    assert set(told["states"].values()) == {"confirmed"}
    with pytest.raises(Refusal, match="no batch is under way"):
        kr.reconcile(ledger, tmp_path / "list.csv")
    assert kr.audit(ledger, two())
    assert not kr.audit(ledger, two("12"))


def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    done = kr.settle(two(), RULE).preview(tmp_path / "pay.db")
    assert len(done.report["posted"]) == 4
    assert list(tmp_path.iterdir()) == []


def test_a_payment_file_is_not_written_over_something_else(tmp_path: Path) -> None:
    kr.settle(two(), RULE).post(tmp_path / "pay.db")
    (tmp_path / "payments.csv").write_text("mine")
    planned = plan(tmp_path)
    with pytest.raises(Refusal, match="another file stands there"):
        planned.write()
    (tmp_path / "payments.csv").unlink()
    planned.write()
    plan(tmp_path).write()  # the same batch, the same file
    assert "7.00" in (tmp_path / "payments.csv").read_text()


def test_a_deadline_and_a_penalty_are_read_as_on_the_command_line() -> None:
    late = kr.settle(two(), RULE, deadline="2026-01-01T00:00:00Z")
    assert {award.reason for award in late.awards} == {"late"}
    with pytest.raises(InputError, match="cannot be below zero"):
        kr.settle(two(), RULE, penalty="-1")


def test_a_calibration_prints_both_numbers() -> None:
    options = kr.CalibrateOptions(scenario="normal", low_mean=0, high_mean=1, sd=1, cost="1", bar="1")
    found = kr.calibrate(options)
    assert found.bonus == "3.75"
    assert found.b_coal == pytest.approx(5.8592, abs=1e-4)
    assert str(found).startswith("bonus 3.75 USD; against a pair that agrees to shirk: more than 5.8592")


def test_the_doors_load_nothing_heavy() -> None:
    code = (
        "import sys, importlib\n"
        f"for room in ('', *{[f'.{room}' for room in ROOMS]}, '.desk.options', '.pay.options',\n"
        "             '.tournament.options', '.economics.options'):\n"
        "    importlib.import_module('kina_review' + room)\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'label_studio_sdk', 'networkx', 'matplotlib', 'typer'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_of_a_door_is_there_and_is_no_room() -> None:
    import importlib

    for room in ("kina_review", *(f"kina_review.{room}" for room in ROOMS)):
        door = importlib.import_module(room)
        for name in door.__all__:
            importlib.import_module(room)
            assert getattr(door, name) is not None
            assert type(getattr(door, name)).__name__ != "module", f"{room}.{name} is a room or a file"
