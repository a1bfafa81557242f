"""Options that name a file: several are merged or refused, never is one forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Kina = Callable[..., Result]


@pytest.fixture
def scores(kina: Kina) -> Kina:
    Path("s.csv").write_text(
        "item_id,anchor_id,score\nm1,a,0.9\nm1,b,0.1\nm2,a,0.2\nm2,b,0.8\nm3,a,0.7\nm3,b,0.6\nm4,a,0.4\nm5,b,0.5\n"
    )
    Path("an.csv").write_text("anchor_id,weight\na,2\nb,1\n")
    return lambda *more: kina("select", "--support", "s.csv", "--anchors", "an.csv", *more, "-o", "o.json")


def picked() -> list[str]:
    return sorted(json.loads(Path("o.json").read_text())["item_ids"])


def test_all_files_of_exclude_count(scores: Kina) -> None:
    Path("x1.csv").write_text("item_id\nm1\n")
    Path("x2.json").write_text('[{"item_id": "m3"}]')
    assert scores("-k", "2", "--exclude", "x1.csv", "--exclude", "x2.json").exit_code == 0
    assert picked() == ["m2", "m4"]


def test_an_option_for_one_file_refuses_a_second(scores: Kina) -> None:
    Path("an2.csv").write_text("anchor_id,weight\na,1\nb,1\n")
    result = scores("-k", "2", "--anchors", "an2.csv")
    assert result.exit_code == 2
    assert "error: --anchors is given 2 times and takes one file" in result.stderr
    assert not Path("o.json").exists()


def test_one_file_given_twice_is_refused(scores: Kina) -> None:
    Path("x1.csv").write_text("item_id\nm1\n")
    result = scores("-k", "2", "--exclude", "x1.csv", "--exclude", "./x1.csv")
    assert (result.exit_code, "x1.csv is given twice to exclude" in result.stderr) == (2, True)


def test_exclude_knows_findings_and_refuses_decisions(scores: Kina) -> None:
    finding = {"rule": "key_not_among_options", "item_id": "m1", "message": "x"}
    rows = [finding | {"severity": "error"}, finding | {"severity": "info", "item_id": "m3"}]
    Path("f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert scores("-k", "2", "--exclude", "f.jsonl").exit_code == 0
    assert picked() == ["m2", "m3"]
    Path("d.jsonl").write_text('{"item_id": "m4", "round": "1", "decision": "reject", "reason": "r"}\n')
    result = scores("-k", "2", "--must", "d.jsonl")
    assert (result.exit_code, "--must takes ids" in result.stderr) == (2, True)
    assert "rejected items only" in result.stderr


def test_reviews_in_several_files_are_settled_together(kina: Kina) -> None:
    head = "item_id,reviewer_id,review_score,submitted_at,status\n"
    Path("r1.csv").write_text(head + "i,p1,18,2026-03-01T09:00:00Z,submitted\n")
    Path("r2.csv").write_text(head + "i,p2,15,2026-03-01T10:00:00Z,submitted\n")
    both = ("--reviews", "r1.csv", "--reviews", "r2.csv", "--base", "2.00", "--bonus", "5.00", "--bar", "14")
    result = kina("review", "settle", *both, "--dry-run", "--json")
    totals = json.loads(result.stdout)["totals"]
    assert (totals["base_minor"], totals["bonus_minor"]) == (400, 500)
