"""The room as Python users see it: names that load late, results that print, report and write."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kina_build.errors import UsageError
from kina_build.items.model import Item, Option
from kina_build.ranking import rank
from kina_build.scoring import ask, read_forms, read_responses, score
from tests.servers import said, scripted

OPTIONS = {"cats": "A", "dogs": "B", "fish": "C"}


def pool() -> list[Item]:
    """Two questions with the key B."""
    options = tuple(Option(key=key, answer=text) for text, key in OPTIONS.items())
    return [
        Item(
            item_id=f"q{n}",
            discipline="Law",
            question=f"Which one, {n}?",
            options=options,
            correct_answer="B",
        )
        for n in (1, 2)
    ]


def test_doors_load_nothing_heavy() -> None:
    heavy = "numpy", "pydantic", "openai", "httpx", "babel", "scipy"
    code = (
        "import sys, kina_build.scoring, kina_build.ranking, kina_build.chat\n"
        "import kina_build.scoring.options, kina_build.ranking.options\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_name_of_a_door_is_there() -> None:
    import kina_build.chat
    import kina_build.ranking
    import kina_build.scoring

    for room in (kina_build.scoring, kina_build.ranking, kina_build.chat):
        assert 5 <= len(room.__all__) <= 12
        assert all(callable(getattr(room, name)) or isinstance(getattr(room, name), str)
                   for name in room.__all__)  # fmt: skip


def test_ask_score_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = "Which one, 1?"
    with scripted(lambda prompt, _times: said("Answer: B" if right in prompt else "Answer: C")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        answers = ask(pool(), "m", samples=2, log=tmp_path / "log.jsonl")
    assert str(answers) == "4 of 4 calls answered (2 items)"
    answers.write(tmp_path / "responses.jsonl")
    scores = score(read_responses(tmp_path / "responses.jsonl"), pool())
    assert str(scores) == "m: 0.5000 (2 of 2 items answered)"
    assert scores.report["models"][0]["pass_at_1"] == 0.5
    scores.write(tmp_path / "scores.jsonl")
    board = rank(scores, only=["q1", "q2"])
    assert board == rank(tmp_path / "scores.jsonl")
    assert str(board) == "1 models on 2 items\ntier 1, rank 1-1: m 0.5000"
    board.write(tmp_path / "leaderboard.json")
    assert json.loads((tmp_path / "leaderboard.json").read_text()) == board.report


def test_letters_without_an_order_are_refused_in_the_library_too(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"item_id": "q1", "model": "m", "response": "Answer: B"}\n')
    said_so = read_responses(tmp_path / "r.jsonl")
    with pytest.raises(UsageError, match="nothing tells which order of the options"):
        score(said_so, pool())
    from kina_build.items.pool import write_pool

    write_pool(tmp_path / "pool.jsonl", pool())
    scores = score(said_so, pool(), stated=read_forms(tmp_path / "pool.jsonl"), allow_partial=True)
    assert scores.stated
    assert scores.models[0].score == 1.0
