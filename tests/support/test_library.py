"""Support from Python, and the forms of text that the room reads by pattern."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kina_build.support as room
from kina_build.errors import UsageError
from kina_build.items.model import Item, Option
from kina_build.support.anchors import Anchor
from kina_build.support.judge.prompts import OUT_OF, read_rating
from kina_build.support.partition.files import PART
from kina_build.support.setup import JUDGE


def item(item_id: str, question: str) -> Item:
    options = [Option(key="A", answer="heat"), Option(key="B", answer="cold")]
    return Item(item_id=item_id, question=question, options=options, correct_answer="A", discipline="physics")


def test_support_is_scored_from_records(
    words: Any, make_anchor: Callable[..., Anchor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("kina_build.encode.loading.load_encoder", lambda *_: words)
    items = [item("q1", "entropy"), item("q2", "something else")]
    found = room.score_support(items, [make_anchor()], cache=tmp_path / "v.sqlite")
    assert found.matrix.item_ids == ("q1", "q2")
    assert found.matrix.levels[0, 0] > found.matrix.levels[1, 0]
    assert "2 items x 1 anchors by embedding" in str(found)
    found.write(tmp_path / "support.npz")
    assert room.read_support(tmp_path / "support.npz").anchor_ids == ("a1",)
    with pytest.raises(UsageError, match="needs --judge"):
        room.score_support(items, [make_anchor()], method="judge")


def test_the_door_offers_what_it_names() -> None:
    assert all(getattr(room, name) for name in room.__all__)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (JUDGE, "gpt-4o#2", "gpt-4o#0"),
        (PART, "part-00012.npz", "part-12.npz"),
        (OUT_OF, "3/4", "3/5"),
    ],
)
def test_patterns_match_what_they_are_for(pattern: Any, good: str, bad: str) -> None:
    assert pattern.fullmatch(good)
    assert not pattern.fullmatch(bad)


def test_ratings_are_whole_numbers_from_0_to_4() -> None:
    assert [read_rating(value) for value in (4, 3.0, " 2/4 ", "5", 1.5, True)] == [4, 3, 2, None, None, None]
