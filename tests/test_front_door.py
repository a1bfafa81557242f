"""The library's front door: about 25 names, lazy, and the demo's flow by them alone."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import kina_build as kb
import kina_review

ROOMS = [
    name
    for package in (kb, kina_review)
    for _, name, is_package in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    if is_package and name != "kina_build.cli"
]
HEAVY = {
    "faiss",
    "numpy",
    "pydantic",
    "scipy",
    "sentence_transformers",
    "torch",
    "networkx",
    "label_studio_sdk",
}


def test_there_are_about_25_names_and_none_is_a_rooms() -> None:
    assert 20 <= len(kb.__all__) <= 30
    assert {name.rpartition(".")[2] for name in ROOMS} & set(kb.__all__) == set()


def test_every_name_stays_what_it_is_when_all_rooms_are_imported_first() -> None:
    for room in ROOMS:
        importlib.import_module(room)
    assert [name for name in kb.__all__ if not callable(getattr(kb, name))] == []


def test_the_stub_names_the_same_for_type_checkers() -> None:
    stub = ast.parse(Path(kb.__file__).with_suffix(".pyi").read_text())
    told = {
        alias.asname: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == kb._PLACES


def test_doors_are_light_and_show_at_most_12_names() -> None:
    script = f"import sys\n{''.join(f'import {room}{chr(10)}' for room in ROOMS)}print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & HEAVY == set()
    for room in ROOMS:
        names = getattr(importlib.import_module(room), "__all__", None)
        assert names is None or 1 <= len(names) <= 12, room


def test_a_name_that_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kb.nothing  # noqa: B018


def test_the_demos_flow_from_pool_to_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = files("kina_build.data")
    for name in ("pool.csv", "anchors.csv", "reviews.jsonl", "responses.jsonl"):
        (tmp_path / name).write_bytes((data / name).read_bytes())

    pool = kb.read_questions("pool.csv")
    findings = kb.check(pool)
    copies = kb.find_duplicates(pool)
    rule = kb.PayRule(base="2.00", bonus="5.00", currency="USD", bar=14, tie="split")
    settlement = kb.settle(kb.read_reviews("reviews.jsonl"), rule, seed=42)
    settlement.post("ledger.db")
    support = kb.score_support(pool, kb.read_anchors("anchors.csv"))
    budget = kb.share_budget(pool, 36, duplicates=copies, decisions=settlement.decisions)
    selection = kb.select(support, budget=budget, duplicates=copies, decisions=settlement.decisions)
    assert kb.certify(
        selection, support, budget=budget, duplicates=copies, decisions=settlement.decisions
    ).holds
    release = kb.build_release(
        pool, selection, support=support, budget=budget, duplicates=copies, decisions=settlement.decisions
    )
    release.write("release")
    assert kb.verify("release")
    scores = kb.score(kb.read_responses("responses.jsonl"), pool)
    board = kb.rank(scores, only=selection)
    kb.write_report(
        "report",
        pool=pool,
        findings=findings,
        duplicates=copies,
        support=support,
        selection=selection,
        settlement=settlement,
        release=release,
        scores=scores,
        leaderboard=board,
    )

    assert (str(pool), len(copies.dropped), len(selection.item_ids)) == ("118 items, 0 rejects", 5, 36)
    assert "at least 99.73 % of the optimum" in str(selection)
    assert str(settlement) == "990.00 USD due for 235 reviews of 118 items"
    assert str(board).startswith("5 models on 36 items\ntier 1, rank 1-3: cedar-70b 0.9444")
    assert "cedar-70b" in (tmp_path / "report" / "leaderboard.html").read_text()
