"""Judges' votes become constraints of a selection: exactly n of a field, no piece of knowledge twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.repair.opinions import read_opinion, request_for, tell_answers
from tests.servers import Served, failed, said, scripted

Make = Callable[..., Item]
TEXTS = ["oxygen", "argon", "neon", "xenon"]
GOOD = {"point": "gas laws", "features": ["recall"], "difficulty": 3, "power": 4, "failures": [],
        "vote": "keep", "why": "sound"}  # fmt: skip
THREE = [part for name in ("a", "b", "c") for part in ("--judge", name)]


@pytest.fixture
def files(make_item: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty items of two fields: number n tests point n // 2, and every fifth is to be left."""
    monkeypatch.chdir(tmp_path)
    write_pool(Path("pool.jsonl"), [
        make_item(f"q{n:02}", f"Number {n}: which gas?", TEXTS, "A", field=("air", "sea")[n % 4 // 2])
        for n in range(40)
    ])  # fmt: skip
    rows = [{"item_id": f"q{n:02}", "anchor_id": f"u{n % 7}", "score": 1} for n in range(40)]
    Path("support.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("anchors.csv").write_text("anchor_id,weight\n" + "".join(f"u{n},1\n" for n in range(7)))
    return tmp_path


SELECT = (
    *("select", "--support", "support.jsonl", "--anchors", "anchors.csv", "-o", "s.json"),
    *("--strata", "pool.jsonl", "--by", "field", "--quota", "quota.jsonl", "--conflicts", "conflicts.json"),
)


def without(number: int, trouble: Served) -> Callable[[str, int], Served]:
    """Return a sound judge that has trouble with one item."""
    answer = judge(sound)
    return lambda prompt, times: trouble if f"Number {number}:" in prompt else answer(prompt, times)


def judge(name_of: Callable[[str, int], dict[str, Any]]) -> Callable[[str, int], Served]:
    """Return a judge that answers about the number in a question; what it says may depend on the model."""

    def script(prompt: str, _times: int) -> Served:
        number = re.search(r"Number (\d+)", prompt)
        assert number is not None
        return said(json.dumps(GOOD | name_of(prompt, int(number[1]))))

    return script


def sound(_prompt: str, n: int) -> dict[str, Any]:
    return {"point": f"Point  {n // 2}", "vote": "leave" if n % 5 == 0 else "keep"}


def line(url: str, *more: str) -> tuple[str, ...]:
    return ("consensus", "pool.jsonl", *THREE, "--base-url", url, "-n", "6", "--write-quota", "quota.jsonl",
            "--write-conflicts", "conflicts.json", "--write-exclude", "exclude.json", *more)  # fmt: skip


def test_a_selection_takes_exactly_n_of_a_field_and_no_point_twice(kina: Any, files: Path) -> None:
    with scripted(judge(sound)) as server:
        report = json.loads(kina(*line(server.url, "--json")).stdout)
        assert len(server.asked) == 120
        assert kina(*line(server.url, "--json")).exit_code == 0
        assert len(server.asked) == 120, "replies are kept"
    assert (report["kept"], report["left_out"], report["short"]) == (32, {"votes": 8}, [])
    assert report["agreement"][0]["kappa"] == 1.0
    done = kina(*SELECT, "-k", report["k"], "--exclude", "exclude.json")
    assert done.exit_code == 0, done.stderr
    chosen = [int(name[1:]) for name in json.loads((files / "s.json").read_text())["item_ids"]]
    assert [sum(n % 4 // 2 == field for n in chosen) for field in (0, 1)] == [6, 6]
    assert len({n // 2 for n in chosen}) == 12
    assert not any(n % 5 == 0 for n in chosen)


def test_two_of_three_judges_decide_and_one_that_is_alone_does_not(kina: Any, files: Path) -> None:
    def mixed(prompt: str, n: int) -> dict[str, Any]:
        # the judges cannot be told apart by their prompt, and all say the same
        return sound(prompt, n) | {"failures": ["misread_question"] if n < 10 else []}

    with scripted(judge(mixed)) as server:
        assert kina(*line(server.url)).exit_code == 0
    rows = [json.loads(row) for row in (files / "consensus.jsonl").read_text().splitlines()]
    assert [row["failures"] for row in rows[8:12]] == [["misread_question"]] * 2 + [[]] * 2
    assert rows[3]["point"] == "point 1"
    assert (rows[3]["difficulty"], rows[3]["power"]) == (3, 4)


def test_a_field_with_too_few_points_is_said_and_no_selection_passes(kina: Any, files: Path) -> None:
    with scripted(judge(lambda _prompt, n: {"point": f"p{n % 4}", "vote": "keep"})) as server:
        done = kina(*line(server.url))
    assert done.exit_code == 0
    assert "air: fewer than 6 pieces of knowledge are kept" in done.stderr
    refused = kina(*SELECT, "-k", "12")
    assert refused.exit_code == 1


def test_votes_at_chance_stop_and_nothing_is_written(kina: Any, files: Path) -> None:
    turns: dict[str, int] = {}

    def lots(prompt: str, n: int) -> dict[str, Any]:
        turn = turns[prompt] = turns.get(prompt, -1) + 1  # the three calls about one item come in any order
        return {"vote": "keep" if turn == n % 3 else "leave"}

    with scripted(judge(lots)) as server:
        done = kina(*line(server.url))
        assert (done.exit_code, "agrees with no other better than by chance" in done.stderr) == (1, True)
        assert not (files / "consensus.jsonl").exists()
        assert kina(*line(server.url, "--allow-disagreement")).exit_code == 0
        assert len(server.asked) == 120


def test_calls_that_fail_stop_and_a_second_run_asks_only_for_the_rest(kina: Any, files: Path) -> None:
    (files / "kina.toml").write_text("[chat]\nattempts = 1\n")
    answer = judge(sound)
    with scripted(
        lambda prompt, times: failed(400) if "Number 7:" in prompt else answer(prompt, times)
    ) as server:
        done = kina(*line(server.url))
        assert (done.exit_code, "3 of 120 calls failed" in done.stderr) == (1, True)
        assert not (files / "quota.jsonl").exists()
    with scripted(judge(sound)) as server:
        assert kina(*line(server.url)).exit_code == 0
        assert len(server.asked) == 3
        assert kina(*line(server.url, "--force", "--max-calls", "5")).exit_code == 1


JUNK = [
    "",
    "no",
    "{}",
    "{" * 5000,
    json.dumps([GOOD])[:40],
    *(
        json.dumps(GOOD | change)
        for change in (
            {"point": " "},
            {"point": None},
            {"difficulty": 9},
            {"power": True},
            {"vote": "perhaps"},
            {"failures": ["bad luck"]},
        )
    ),
]


@pytest.mark.parametrize("text", JUNK)
def test_junk_is_no_opinion(text: str) -> None:
    assert read_opinion(text, "a") is None


def test_opinions_are_read_as_models_write_them() -> None:
    text = "Well: " + json.dumps(
        GOOD | {"features": "recall", "vote": " KEEP", "difficulty": "2", "extra": 1}
    )
    found = read_opinion(text, "a")
    assert found is not None
    assert (found.features, found.vote, found.difficulty, found.judge) == (("recall",), "keep", 2, "a")


def test_an_item_of_which_no_two_opinions_can_be_read_is_left_out(kina: Any, files: Path) -> None:
    answer = judge(sound)
    with scripted(
        lambda prompt, times: said("junk") if "Number 7:" in prompt else answer(prompt, times)
    ) as server:
        done = kina(*line(server.url, "--json"))
    report = json.loads(done.stdout)
    assert (report["left_out"], report["unread"]) == ({"undecided": 1, "votes": 8}, 3)
    assert "q07" in json.loads((files / "exclude.json").read_text())["item_ids"]


def test_judges_are_told_what_models_answered(make_item: Make) -> None:
    told = tell_answers(["A", "B", "B", "-", "A", "C"], "A")
    assert told == "2 of 6 right; B 2, C 1, none 1"
    asked = request_for(make_item("q", "Which gas?", TEXTS), "a", told).messages[-1]["content"]
    assert asked.endswith("Key: A\nModels: 2 of 6 right; B 2, C 1, none 1\n</item>")


def test_surrogates_of_a_reply_are_written_or_refused_but_no_fault(kina: Any, files: Path) -> None:
    with scripted(judge(lambda _p, n: {"point": f"\ud800 {n}", "why": "\udfff"})) as server:
        done = kina(*line(server.url))
    assert "fault in kina" not in done.stderr
    assert done.exit_code == 0
