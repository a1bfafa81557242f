"""kina review settle, calibrate, audit, simulate, ledger, pay, statement: as a manager uses them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Kina = Callable[..., Result]

REVIEWS = """item_id,reviewer_id,submitted_at,status,payee_id,verdict
it-1,ann,2026-03-01T10:00:00Z,submitted,P-ANN,accept
it-1,bob,2026-03-01T11:00:00Z,submitted,P-BOB,accept
it-2,ann,2026-03-01T12:00:00Z,submitted,P-ANN,accept
it-2,cy,2026-03-01T13:00:00Z,submitted,P-CY,reject
it-3,bob,2026-03-01T14:00:00Z,submitted,P-BOB,accept
it-3,cy,,assigned,P-CY,
"""
SCORES = """item_id,reviewer_id,review_score
it-1,ann,18
it-1,bob,15
it-2,ann,14
it-2,cy,14
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "reviews.csv").write_text(REVIEWS, encoding="utf-8")
    (tmp_path / "scores.csv").write_text(SCORES, encoding="utf-8")
    return tmp_path


SETTLE = shlex.split(
    "review settle --reviews reviews.csv --scores scores.csv --base 2.00 --bonus 5.00 --currency USD --bar 14"
    " --tie split --seed 42"
)


def document(result: Result, exit_code: int = 0) -> dict[str, Any]:
    assert result.exit_code == exit_code, result.output
    return dict(json.loads(result.stdout))


def test_settle_keeps_its_interface(kina: Kina, desk: Path) -> None:
    report = document(kina(*SETTLE, "--json"))
    assert report["awards"][0] == {
        "item_id": "it-1", "reviewer_id": "ann", "base_minor": 200, "bonus_minor": 500, "reason": "win",
        "round": "1", "rule": "1", "penalty_minor": 0,
    }  # fmt: skip
    assert report["tie_rate"] == 0.5
    assert report["totals"] == {
        "currency": "USD", "base_minor": 1000, "bonus_minor": 1000, "penalty_minor": 0, "total_minor": 2000,
    }  # fmt: skip
    assert report["decisions"] == {"accept": 1, "escalate": 2}


def test_scores_may_stand_in_the_reviews_and_in_json_lines(kina: Kina, tmp_path: Path) -> None:
    rows = [
        {"item_id": "i", "reviewer_id": who, "review_score": score, "submitted_at": "2026-03-01T10:00:00Z",
         "status": "submitted"}
        for who, score in (("A", 0.15), ("B", (0.1 + 0.2) / 2))
    ]  # fmt: skip
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    report = document(kina("review", "settle", "--reviews", "r.jsonl", "--bar", "0.15", "--json"))
    assert [award["bonus_minor"] for award in report["awards"]] == [250, 250]


def test_a_dry_run_shows_every_line_with_its_reason_and_writes_nothing(kina: Kina, desk: Path) -> None:
    before = sorted(desk.iterdir())
    result = kina(*SETTLE, "--ledger", "pay.db", "--decisions", "d.jsonl", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "lines would be posted" in result.output
    assert "higher review score, at or above the bar" in result.output
    assert sorted(desk.iterdir()) == before
    report = document(kina(*SETTLE, "--ledger", "pay.db", "--dry-run", "--json"))
    assert {line["kind"] for line in report["posted"]} == {"base", "bonus"}


def test_from_two_files_to_payments_and_statements(kina: Kina, desk: Path) -> None:
    first = document(kina(*SETTLE, "--ledger", "pay.db", "--decisions", "decisions.jsonl", "--json"))
    assert len(first["posted"]) == 11
    assert document(kina(*SETTLE, "--ledger", "pay.db", "--json"))["posted"] == []
    decisions = [json.loads(line) for line in (desk / "decisions.jsonl").read_text().splitlines()]
    assert [(d["item_id"], d["decision"]) for d in decisions] == [
        ("it-1", "accept"), ("it-2", "escalate"), ("it-3", "escalate"),
    ]  # fmt: skip

    plan = ("review", "pay", "plan", "--ledger", "pay.db", "--provider", "prolific", "-o", "payments.csv")
    assert document(kina(*plan, "--json"))["total"] == "20.00"
    assert (desk / "payments.csv").read_text() == "P-ANN,11.50\nP-BOB,4.00\nP-CY,4.50\n"
    again = (desk / "payments.csv").read_bytes()
    assert kina(*plan).exit_code == 0
    assert (desk / "payments.csv").read_bytes() == again

    at = ("--ledger", "pay.db", "--batch", "b0001")
    assert kina("review", "pay", "mark", *at, "--state", "in_flight").exit_code == 0
    assert kina("review", "pay", "mark", *at, "--state", "unknown").exit_code == 0
    blocked = kina(*plan)
    assert blocked.exit_code == 1
    assert "blocked_until_reconciled" in blocked.stderr
    (desk / "list.csv").write_text("payee_id,amount,status\nP-ANN,11.50,paid\nP-BOB,4.00,paid\n")
    settled = document(
        kina("review", "pay", "reconcile", *at, "--provider-list", "list.csv", "--complete", "--json")
    )
    assert sorted(settled["states"].values()) == ["confirmed", "confirmed", "failed"]
    status = document(kina("review", "pay", "status", "--ledger", "pay.db", "--json"))
    assert status["owed"] == "4.50"

    assert kina("review", "statement", "--ledger", "pay.db", "-o", "statements").exit_code == 0
    files = sorted((desk / "statements").iterdir())
    assert [file.name.split("-")[0] for file in files] == ["ann", "bob", "cy"]
    private = [desk / "payments.csv", desk / "payments.csv.manifest.json", *files]
    assert {file.stat().st_mode & 0o777 for file in private} == {0o600}
    verify = ("review", "ledger", "verify", "--ledger", "pay.db")
    good = document(kina(*verify, "--against", files[0], "--against", "payments.csv.manifest.json", "--json"))
    assert (good["verified"], good["anchors"]) == (True, 2)


def test_a_rewritten_ledger_is_refused_against_an_earlier_statement(kina: Kina, desk: Path) -> None:
    assert kina(*SETTLE, "--ledger", "pay.db").exit_code == 0
    assert kina("review", "statement", "--ledger", "pay.db", "-o", "statements").exit_code == 0
    (desk / "pay.db").unlink()
    lost = kina(*SETTLE, "--ledger", "pay.db")
    assert lost.exit_code == 1
    assert "it was lost or moved" in lost.stderr
    (desk / "pay.db.key").unlink()
    (desk / "pay.db.mark").unlink()
    other = [word.replace("5.00", "4.00") for word in SETTLE]
    assert kina(*other, "--ledger", "pay.db").exit_code == 0
    statement = next((desk / "statements").iterdir())
    result = kina("review", "ledger", "verify", "--ledger", "pay.db", "--against", statement)
    assert result.exit_code == 1
    assert "rewritten" in result.stderr


def test_audits_from_commitment_to_correction(kina: Kina, desk: Path) -> None:
    (desk / "seed.txt").write_text("a long and secret sentence\n")
    commitment = document(kina("review", "audit", "commit", "--seed-file", "seed.txt", "--json"))[
        "commitment"
    ]
    assert kina(*SETTLE, "--ledger", "pay.db", "--decisions", "d.jsonl").exit_code == 0
    draw = (
        "review",
        "audit",
        "draw",
        "--decisions",
        "d.jsonl",
        "--seed-file",
        "seed.txt",
        "-o",
        "audit.json",
    )
    drawn = document(kina(*draw, "--commitment", commitment, "--rate", "0.1", "--json"))
    assert drawn["item_ids"] == ["it-1"]
    wrong = kina(*draw, "--commitment", "0" * 64)
    assert wrong.exit_code == 1
    (desk / "findings.csv").write_text("item_id,flawed,flaw,failed\nit-1,true,wrong_groundtruth,ann\n")
    assess = ("review", "audit", "assess", "--draw", "audit.json", "--findings", "findings.csv")
    report = document(kina(*assess, "--reviews", "reviews.csv", "--json"))
    assert report["flaw_rate"]["flawed"] == 1
    after = document(
        kina(*SETTLE, "--ledger", "pay.db", "--findings", "findings.csv", "--penalty", "1.00", "--json")
    )
    moved = {(x["reviewer_id"], x["kind"]): x["amount_minor"] for x in after["posted"]}
    assert moved == {
        ("ann", "bonus"): -500, ("ann", "penalty"): -100, ("bob", "bonus"): 500, ("bob", "penalty"): -100,
    }  # fmt: skip
    assert after["decisions"] == {"escalate": 2, "revise": 1}


def test_rules_with_dates_and_no_tie_rule(kina: Kina, desk: Path) -> None:
    (desk / "rules.csv").write_text(
        "version,valid_from,currency,base,bonus,bar,tie\n1,2026-01-01,USD,2.00,5.00,14,strict\n"
        "2,2026-03-01T12:00:00Z,USD,2.00,0.00,14,\n"
    )
    settle = (
        "review",
        "settle",
        "--reviews",
        "reviews.csv",
        "--scores",
        "scores.csv",
        "--rules",
        "rules.csv",
    )
    result = kina(*settle)
    assert result.exit_code == 1
    assert "tie_rule_missing" in result.stderr
    clash = kina(*settle, "--bonus", "5.00")
    assert clash.exit_code == 2
    assert "--bonus" in clash.stderr


CALIBRATE = shlex.split("review calibrate --scenario normal --low-mean 0 --high-mean 1 --sd 1 --cost 1")


def test_calibrate_keeps_its_interface(kina: Kina) -> None:
    report = document(kina(*CALIBRATE, "--bar", "1", "--json"))
    assert report["delta_p"] == pytest.approx({"L": 0.325190, "H": 0.266932, "min": 0.266932}, abs=1e-5)
    assert report["alpha"] == pytest.approx({"LL": 0.2921, "HL": 0.5793, "HH": 0.7500}, abs=6e-5)
    assert (report["b_ic"], report["b_coal"]) == pytest.approx((3.7463, 5.8592), abs=6e-5)


def test_calibrate_without_a_bar_says_that_no_bonus_deters_collusion(kina: Kina) -> None:
    report = document(kina(*CALIBRATE, "--bar", "-inf", "--json"))
    assert report["b_coal"] is None
    assert "infinite" in report["reasons"]["b_coal"]
    assert document(kina(*CALIBRATE, "--json"))["bar"] == 0.5


def test_calibrate_asks_for_one_source_and_all_it_needs(kina: Kina) -> None:
    assert kina("review", "calibrate", "--json").exit_code == 2
    lacking = kina("review", "calibrate", "--scenario", "normal", "--low-mean", "0", "--cost", "1")
    assert "--high-mean" in lacking.stderr
    assert kina(*CALIBRATE[:-2]).exit_code == 2
    assert kina(*CALIBRATE, "--bar", "nan").exit_code == 2


def test_calibrate_from_a_pilot(kina: Kina, tmp_path: Path) -> None:
    lines = ["item_id,reviewer_id,effort,review_score"]
    cells = {"HH": (96, "15"), "LL": (43, "15")}
    for cell, (passing, score) in cells.items():
        for n in range(100):
            best = score if n < passing else "9"
            lines += [f"{cell}{n},a,{cell[0]},{best}", f"{cell}{n},b,{cell[1]},8"]
    for n in range(100):
        high, low = ("16", "10") if n < 79 else ("10", "16") if n < 88 else ("9", "8")
        lines += [f"M{n},a,high,{high}", f"M{n},b,low,{low}"]
    (tmp_path / "pilot.csv").write_text("\n".join(lines))
    report = document(
        kina("review", "calibrate", "--pilot", "pilot.csv", "--bar", "14", "--cost", "1.20", "--json")
    )
    assert report["delta_p"]["H"] == pytest.approx(0.390)
    assert report["lower_bounds"] == pytest.approx({"H": 0.3271, "L": 0.4902, "min": 0.3271}, abs=5e-5)
    assert report["bonus"] == "3.67"
    own_bar = document(kina("review", "calibrate", "--pilot", "pilot.csv", "--cost", "1.20", "--json"))
    assert own_bar["items_choosing_bar"] == 150
    (tmp_path / "tiny.csv").write_text("\n".join([lines[0], *lines[1:21]]))
    tiny = kina("review", "calibrate", "--pilot", "tiny.csv", "--bar", "14", "--cost", "1.20")
    assert tiny.exit_code == 1
    assert "items in each of HH, HL, LL" in tiny.stderr


def test_a_budget_is_checked_before_a_batch_opens(kina: Kina) -> None:
    beyond = kina(
        "review", "budget", "--items", "100", "--budget", "850", "--base", "2.00", "--bonus", "5.00"
    )
    assert beyond.exit_code == 1
    assert "900.00" in beyond.stderr
    assert "94 items" in beyond.stderr
    fits = document(kina("review", "budget", "--items", "94", "--budget", "850", "--json"))
    assert fits["worst_case_minor"] == 84_600


def test_simulate_prints_and_plots(kina: Kina, tmp_path: Path) -> None:
    report = document(kina("review", "simulate", "--items", "3000", "--plot", "p.svg", "--json"))
    assert report["dominance"]["holds"] is True
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    bad = kina("review", "simulate", "--colluding", "2")
    assert bad.exit_code == 2
    assert "colluding" in bad.stderr


@pytest.mark.parametrize(
    ("reviews", "message"),
    [
        (None, "no such file"),
        ("", "the file is empty"),
        ("item_id,reviewer_id\n", "no rows"),
        ("item_id,reviewer_id,status\ni,A,quite done\n", "reviews.csv:2: status"),
        ("item_id,reviewer_id,review_score\ni,A,14x\n", "reviews.csv:2: review_score"),
        ("item_id,reviewer_id,review_score\ni,A,NaN\n", "reviews.csv:2: review_score"),
        ("item_id,reviewer_id,factuality\ni,A,5\n", "reviews.csv:2: ratings"),
        ("item_id,reviewer_id,submitted_at\ni,A,yesterday\n", "reviews.csv:2: submitted_at"),
        ("item_id\ni\n", "reviews.csv:2: reviewer_id"),
    ],
)
def test_unusable_reviews_are_refused_in_a_line(
    kina: Kina, tmp_path: Path, reviews: str | None, message: str
) -> None:
    if reviews is not None:
        (tmp_path / "reviews.csv").write_text(reviews, encoding="utf-8")
    result = kina("review", "settle", "--reviews", "reviews.csv", "--ledger", "pay.db")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "pay.db").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--base", "2.005"), ("--base", "-1"), ("--currency", "XXX"), ("--bar", "high"), ("--deadline", "soon")],
)
def test_unusable_options_are_refused_in_a_line(kina: Kina, desk: Path, option: str, value: str) -> None:
    result = kina("review", "settle", "--reviews", "reviews.csv", option, value)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error:")


def test_columns_that_nothing_reads_are_named(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("item_id,reviewer_id,reviewscore\ni,A,14\n", encoding="utf-8")
    result = kina("review", "settle", "--reviews", "reviews.csv")
    assert "columns not read: reviewscore" in result.stderr


def test_config_prints_the_review_page_and_refuses_unknown_keys(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "kina.toml").write_text('[review]\nbar = "12"\n')
    assert document(kina("config", "--json"))["review"]["bar"] == "12"
    assert "review.weights.factuality" in kina("config").stdout
    (tmp_path / "kina.toml").write_text("[review]\nbarr = 12\n")
    for command in (("config",), ("review", "budget", "--items", "1", "--budget", "9")):
        result = kina(*command)
        assert result.exit_code == 2
        assert "review.barr: unknown key" in result.stderr
        assert "did you mean review.bar" in result.stderr


def test_a_payment_that_no_provider_takes_is_never_planned(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("item_id,reviewer_id,review_score\ni,=1+1,14\n", encoding="utf-8")
    assert kina("review", "settle", "--reviews", "reviews.csv", "--ledger", "pay.db").exit_code == 0
    refused = kina("review", "pay", "plan", "--ledger", "pay.db", "-o", "p.csv")
    assert refused.exit_code == 1
    assert "cannot stand in a payment file" in refused.stderr
    status = document(kina("review", "pay", "status", "--ledger", "pay.db", "--json"))
    assert (status["owed"], status["batches"]) == ("2.00", [])
    (tmp_path / "payees.csv").write_text("payee_id,account\n=1+1,rv-1\n", encoding="utf-8")
    plan = kina("review", "pay", "plan", "--ledger", "pay.db", "-o", "p.csv", "--payees", "payees.csv")
    assert plan.exit_code == 0, plan.output


def test_a_cap_carries_the_rest(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("item_id,reviewer_id,review_score\ni,A,14\n", encoding="utf-8")
    (tmp_path / "before.csv").write_text("payee_id,amount\nA,567.00\n", encoding="utf-8")
    kina("review", "settle", "--reviews", "reviews.csv", "--base", "45.00", "--ledger", "pay.db")
    plan = ("review", "pay", "plan", "--ledger", "pay.db", "-o", "p.csv", "--cap", "600.00")
    report = document(kina(*plan, "--paid-before", "before.csv", "--json"))
    assert (report["total"], report["carried"][0]["amount"]) == ("33.00", "12.00")


@pytest.mark.parametrize(
    "line",
    [
        "ledger verify",
        "ledger show",
        "statement",
        "pay plan -o p.csv",
        "pay status",
        "pay mark --batch b0001 --state in_flight",
        "pay reconcile --batch b0001 --provider-list list.csv",
    ],
)
def test_a_missing_or_foreign_ledger_is_one_clear_line(kina: Kina, tmp_path: Path, line: str) -> None:
    (tmp_path / "list.csv").write_text("payee_id,amount\nA,1.00\n", encoding="utf-8")
    missing = kina("review", *line.split(), "--ledger", "none.db")
    assert missing.exit_code == 2
    assert "none.db: no such ledger" in missing.stderr
    foreign = kina("review", *line.split(), "--ledger", "list.csv")
    assert foreign.exit_code == 2
    assert foreign.stderr.startswith("error: list.csv:")
    assert not (tmp_path / "none.db").exists()


def test_a_reconciliation_that_a_person_must_look_at_is_exit_1(kina: Kina, desk: Path) -> None:
    assert kina(*SETTLE, "--ledger", "pay.db").exit_code == 0
    assert kina("review", "pay", "plan", "--ledger", "pay.db", "-o", "p.csv").exit_code == 0
    (desk / "list.csv").write_text("payee_id,amount\nP-ANN,115.00\np-bob,4.00\n", encoding="utf-8")
    line = "review pay reconcile --ledger pay.db --batch b0001 --provider-list list.csv"
    result = kina(*shlex.split(line))
    assert result.exit_code == 1
    assert "another amount" in result.stdout
    assert "unknown_payee_or_duplicate" in result.stdout


def test_a_review_missing_from_its_item_stops_the_run_until_it_is_allowed(kina: Kina, desk: Path) -> None:
    assert kina(*SETTLE, "--ledger", "pay.db").exit_code == 0
    rows = [row for row in REVIEWS.splitlines() if "it-1,bob" not in row]
    (desk / "reviews.csv").write_text("\n".join(rows), encoding="utf-8")
    (desk / "scores.csv").write_text("item_id,reviewer_id,review_score\nit-1,ann,18\n", encoding="utf-8")
    stopped = kina(*SETTLE, "--ledger", "pay.db")
    assert stopped.exit_code == 1
    assert "the review by 'bob' of 2026-03-01T11:00:00+00:00 is missing" in stopped.stderr
    result = kina(*SETTLE, "--ledger", "pay.db", "--allow-corrections", "bob withdrew")
    assert "payables are taken back" in result.stderr
    lines = document(kina("review", "ledger", "show", "--ledger", "pay.db", "--json"))["lines"]
    assert "bob withdrew" in next(line["reason"] for line in lines if line["kind"] == "correction")


def test_a_batch_file_holds_the_options_once(kina: Kina, desk: Path) -> None:
    (desk / "batch.toml").write_text(
        'reviews = "reviews.csv"\nscores = ["scores.csv"]\nbase = "2.00"\nbonus = 5.00\ncurrency = "USD"\n'
        'bar = 14\ntie = "split"\nseed = 42\ndeadline = 2026-03-02T00:00:00Z\nledger = "pay.db"\n'
    )
    first = document(kina("review", "settle", "--batch", "batch.toml", "--json"))
    assert (len(first["posted"]), first["terms"]["deadline"]) == (11, "2026-03-02T00:00:00+00:00")
    assert document(kina(*SETTLE, "--ledger", "pay.db", "--json"))["posted"] == []
    clash = kina("review", "settle", "--batch", "batch.toml", "--bonus", "6.00")
    assert (clash.exit_code, "batch.toml already says what --bonus" in clash.stderr) == (2, True)
    (desk / "batch.toml").write_text('reviws = "reviews.csv"\n')
    unknown = kina("review", "settle", "--batch", "batch.toml")
    assert (unknown.exit_code, "batch.toml: reviws" in unknown.stderr) == (2, True)
    assert kina("review", "settle").exit_code == 2


def test_the_audit_of_a_settled_ledger_finds_nothing_until_a_file_differs(kina: Kina, desk: Path) -> None:
    assert kina(*SETTLE, "--ledger", "pay.db", "--deadline", "2026-03-02T00:00:00Z").exit_code == 0
    line = ("review", "ledger", "audit", "--ledger", "pay.db", "--reviews", "reviews.csv", "--scores")
    assert "all follow" in kina(*line, "scores.csv").stdout
    (desk / "other.csv").write_text(SCORES.replace("bob,15", "bob,19"))
    differs = kina(*line, "other.csv")
    assert differs.exit_code == 1
    assert (
        "bonus of 'bob' on item 'it-1', round '1' is 0 minor units, and the files give 500" in differs.stdout
    )


def test_an_adjustment_is_booked_from_the_command_line(kina: Kina, desk: Path) -> None:
    assert kina(*SETTLE, "--ledger", "pay.db").exit_code == 0
    assert kina("review", "pay", "plan", "--ledger", "pay.db", "-o", "p.csv").exit_code == 0
    line = "review pay adjust --ledger pay.db --payment b0001-00001 --paid 11.00 --reason fee --by ann"
    assert kina(*shlex.split(line), "--approved-by", "Ann").exit_code == 2
    done = kina(*shlex.split(line), "--approved-by", "bob")
    assert "11.00 USD paid" in done.stdout


def test_from_two_tables_to_paid_in_three_commands_without_a_repeated_flag(kina: Kina, desk: Path) -> None:
    (desk / "batch.toml").write_text(
        'reviews = "reviews.csv"\nscores = "scores.csv"\nbase = 2.00\nbonus = 5.00\ncurrency = "USD"\n'
        'bar = 14\ntie = "split"\nledger = "pay.db"\npayments = "payments.csv"\nprovider = "csv"\n'
    )
    assert kina("review", "settle", "--batch", "batch.toml").exit_code == 0
    planned = document(kina("review", "pay", "plan", "--batch-file", "batch.toml", "--json"))
    (desk / "list.csv").write_text(
        "payee_id,amount\n" + "".join(f"{p['account']},{p['amount']}\n" for p in planned["payments"])
    )
    line = (
        "review",
        "pay",
        "reconcile",
        "--batch-file",
        "batch.toml",
        "--provider-list",
        "list.csv",
        "--json",
    )
    told = document(kina(*line))
    assert set(told["states"].values()) == {"confirmed"}
    assert told["open"] == []
    audited = kina("review", "ledger", "audit", "--batch-file", "batch.toml")
    assert audited.exit_code == 0, audited.stderr

    twice = kina("review", "pay", "plan", "--batch-file", "batch.toml", "-o", "other.csv")
    assert twice.exit_code == 2
    assert "batch.toml already says what --output would say" in twice.stderr
    missing = kina("review", "pay", "plan", "-o", "payments.csv")
    assert missing.exit_code == 2
    assert "--ledger is missing" in missing.stderr
