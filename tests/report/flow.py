"""A small flow on disk, made with the rooms that own its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kina_build.config import RankingRules
from kina_build.items.model import Item, Option
from kina_build.items.pool import write_pool
from kina_build.ranking.assembly import rank_board
from kina_build.ranking.board import build_board
from kina_build.ranking.itemanalysis import analyse_items
from kina_build.rows.jsonl import write_document, write_records

HOSTILE = '<script>alert("x")</script> & <img src=x onerror=alert(1)>'
FORMULA = r"Which is the derivative of \(x^2 + \frac{1}{x}\) at $x = 1$?"


def item(item_id: str, question: str, **more: str) -> Item:
    options = tuple(
        Option(key=key, answer=text) for key, text in zip("ABC", ("one", "two", "three"), strict=True)
    )
    return Item(item_id=item_id, question=question, options=options, correct_answer="B", **more)


def write_flow(folder: Path) -> Path:
    """Write a pool of 60 items, findings, decisions, contests and a leaderboard."""
    pool = [item(f"q{i:02d}", f"Question {i}?", discipline="law" if i % 2 else "art") for i in range(58)]
    pool += [item("q58", FORMULA, discipline="art"), item("q59", HOSTILE, discipline=HOSTILE)]
    write_pool(folder / "pool.jsonl", pool)
    write_records(
        folder / "findings.jsonl",
        [{"item_id": "q03", "rule": "options_equal", "severity": "error", "message": HOSTILE}],
    )
    write_records(
        folder / "decisions.jsonl",
        [
            {"item_id": "q01", "decision": "accept"},
            {"item_id": "q02", "decision": "reject", "reason": "wrong_key"},
        ],
    )
    write_records(
        folder / "contests.jsonl",
        [{"item_id": "q01", "status": "decided", "tied": True, "scores": {"reviewer-secret": "17"}}],
    )
    rng = np.random.default_rng(0)
    scores = (rng.random((4, 60)) < [[0.85], [0.8], [0.5], [0.2]]).astype(float)
    board = build_board(
        ["alpha", "beta", "gamma", "delta"], [i.item_id for i in pool], scores, ["law", "art"] * 30
    )
    rules = RankingRules(samples=400, split_halves=20, thinning_samples=50)
    write_document(folder / "leaderboard.json", rank_board(board, rules, paper=True))
    write_records(folder / "item_analysis.jsonl", analyse_items(board))
    return folder
