"""Bins of difficulty inside strata: quotas on them, a certificate over them, found again by certify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.selection.balance import RULE, balance, cut_bins, read_difficulty, read_rule
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.records import Quota
from kina_build.selection.verifier.verify import verify
from kina_build.support.matrix import build_matrix

IDS = [f"q{at:02}" for at in range(20)]
DIFFICULTY = {item_id: at / 20 for at, item_id in enumerate(IDS)}
STRATA = {item_id: "ab"[at % 2] for at, item_id in enumerate(IDS)}


def inputs(**more: Any) -> Inputs:
    scores = np.zeros((20, 3))
    scores[:5] = 1  # greedy alone takes the easy ones
    scores[5:] = np.random.default_rng(0).random((15, 3)) / 2
    return Inputs(build_matrix(IDS, ["u", "v", "w"], scores, np.ones(3)), strata=STRATA, **more)


def test_bins_are_even_and_ordered() -> None:
    bins = cut_bins(np.array([0.3, 0.1, 0.2, 0.9, 0.4]), np.array([0, 0, 0, 1, 0]), 2)
    assert bins.tolist() == [1, 0, 0, 0, 1]


def test_the_set_is_balanced_and_certified() -> None:
    asked = balance(inputs(), DIFFICULTY, 5, 10)
    chosen = select(asked, 10)
    met = [DIFFICULTY[item_id] for item_id in chosen.item_ids]
    assert [sum(low <= d < low + 0.2 for d in met) for low in (0, 0.2, 0.4, 0.6, 0.8)] == [2, 2, 2, 2, 2]
    assert chosen.certificate.guarantee.theorem == "matroid"
    assert verify(chosen, asked).holds


def test_a_quota_keeps_its_bounds_over_its_bins() -> None:
    quotas = (Quota(stratum="a", lower=3, upper=7), Quota(stratum="b", lower=1))
    asked = balance(inputs(quotas=quotas), DIFFICULTY, 5, 8)
    own = [quota for quota in asked.quotas if quota.stratum.startswith("a ")]
    assert len(own) == 5
    assert sum(quota.lower for quota in own) == 3
    assert sum(quota.upper or 0 for quota in own) == 7
    assert all(quota.upper is None for quota in asked.quotas if quota.stratum.startswith("b "))


def test_an_item_without_difficulty_is_named() -> None:
    with pytest.raises(InputError, match="item 'q00' has no difficulty"):
        balance(inputs(), dict.fromkeys(IDS[1:], 0.5), 5, 10)
    assert balance(inputs(exclude=frozenset(["q00"])), dict.fromkeys(IDS[1:], 0.5), 5, 10).quotas


def test_rules_and_files_are_read(tmp_path: Path) -> None:
    assert read_rule("difficulty:5") == 5
    assert not RULE.fullmatch("difficulty:0")
    with pytest.raises(UsageError, match="not a rule"):
        read_rule("length:5")
    (tmp_path / "d.csv").write_text("item_id,p\nq1,.25\n")
    assert read_difficulty(tmp_path / "d.csv") == {"q1": 0.75}
    (tmp_path / "d.csv").write_text("item_id,difficulty\nq1,hard\nq2,1\nq2,2\n")
    with pytest.raises(RowErrors, match=r":2: .*number difficulty or p"):
        read_difficulty(tmp_path / "d.csv")


def test_certify_finds_the_bins_again(kina: Any, tmp_path: Path) -> None:
    rows = [f"{i},u,{0.9 - at / 40:.3f}" for at, i in enumerate(IDS)]
    (tmp_path / "s.csv").write_text("item_id,anchor_id,score\n" + "\n".join(rows) + "\n")
    (tmp_path / "a.csv").write_text("anchor_id,weight\nu,1\n")
    (tmp_path / "strata.csv").write_text(
        "item_id,stratum\n" + "".join(f"{i},{s}\n" for i, s in STRATA.items())
    )
    (tmp_path / "d.csv").write_text(
        "item_id,difficulty\n" + "".join(f"{i},{d}\n" for i, d in DIFFICULTY.items())
    )
    files = ("--support", "s.csv", "--anchors", "a.csv", "--strata", "strata.csv")
    line = ("select", *files, "-k", 10, "--balance", "difficulty:5", "--difficulty", "d.csv")
    assert kina(*line, "-o", "sel.json").exit_code == 0
    names = {file["role"]: file["name"] for file in json.loads((tmp_path / "sel.json").read_text())["files"]}
    assert (names["balance"], names["difficulty"]) == ("difficulty:5", "d.csv")
    assert kina("certify", "sel.json").exit_code == 0
    assert kina("certify", "sel.json", *line[1:]).exit_code == 0
    other = kina("certify", "sel.json", *line[1:-3], "difficulty:4", "--difficulty", "d.csv")
    assert other.exit_code == 1
    assert kina(*line[:-2]).exit_code == 2
