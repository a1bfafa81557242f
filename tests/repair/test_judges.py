"""Judges' votes: two of three count, errors at stated rates are borne, and nothing is changed by them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kina_build.chat import ChatReply, ChatRequest
from kina_build.errors import Refusal
from kina_build.items.checking.lint import check
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.repair.judges import judge_items, read_opinion, request_for
from kina_build.repair.mend import diagnose
from tests.repair.planted_faults import TEXTS, plant
from tests.repair.scripted_judges import Truth, judges
from tests.servers import said, scripted

Make = Callable[..., Item]
THREE = ("j1", "j2", "j3")


def measure(items: Sequence[Item], kinds: dict[str, str], ask: Any) -> tuple[float, float]:
    """Return recall and precision of the diagnoses, by kind; nothing is proposed by judges alone."""
    before = [item.model_dump() for item in items]
    sources = [one for one in check(items, "kina") if one.rule == "missing_source"]
    found = diagnose(items, sources, None, judged=judge_items(items, THREE, ask))
    assert all(one.proposal is None for one in found)
    assert [item.model_dump() for item in items] == before
    told = {(one.item_id, issue.kind) for one in found for issue in one.issues}
    right = told & set(kinds.items())
    return len(right) / len(kinds), len(right) / max(len(told), 1)


def test_judges_that_do_not_err_find_every_fault_of_eight_kinds(make_item: Make) -> None:
    items, truths, kinds = plant(make_item)
    assert len(set(kinds.values())) == 8
    assert measure(items, kinds, judges(truths, miss=0, false=0)) == (1.0, 1.0)


@pytest.mark.parametrize("biased", ["", "j2"])
@pytest.mark.parametrize(
    ("miss", "false", "least_recall", "least_precision"),
    [(0.2, 0.0, 0.8, 1.0), (0.0, 0.1, 1.0, 0.9), (0.2, 0.1, 0.8, 0.85), (0.4, 0.2, 0.5, 0.6)],
)
def test_errors_of_single_judges_are_mostly_outvoted(
    make_item: Make, miss: float, false: float, least_recall: float, least_precision: float, biased: str
) -> None:
    """By chance two of three judges overlook a fault with 3 m² - 2 m³: .10 at .2, .35 at .4.

    With one that always takes the first option both of the others must see it: (1 - m)², .64 at .2.
    """
    items, truths, kinds = plant(make_item)
    asks = [judges(truths, miss=miss, false=false, biased=biased, seed=n) for n in range(5)]
    rates = [measure(items, kinds, ask) for ask in asks]
    lost = 0.2 if biased else 0.0
    assert sum(recall for recall, _ in rates) / 5 >= least_recall - lost
    assert sum(precision for _, precision in rates) / 5 >= least_precision - lost


def test_recall_falls_with_the_rate_of_misses_and_precision_with_false_alarms(make_item: Make) -> None:
    items, truths, kinds = plant(make_item)

    def mean(miss: float, false: float) -> tuple[float, float]:
        rates = [measure(items, kinds, judges(truths, miss=miss, false=false, seed=n)) for n in range(5)]
        return sum(recall for recall, _ in rates) / 5, sum(precision for _, precision in rates) / 5

    recalls = [mean(rate, 0)[0] for rate in (0, 0.2, 0.4, 0.6)]
    precisions = [mean(0, rate)[1] for rate in (0, 0.1, 0.3, 0.5)]
    for falling in (recalls, precisions):
        assert falling[0] == 1.0
        assert sorted(falling, reverse=True) == falling
        assert falling[-1] < 0.7


def test_a_judge_does_not_see_the_key_or_its_explanation(make_item: Make) -> None:
    item = make_item("q", "Which gas?", TEXTS, "B").model_copy(update={"explanation": "argon, since B"})
    asked = request_for(item, "j1").messages[-1]["content"]
    assert "argon" in asked
    assert "since B" not in asked
    assert asked == request_for(item.model_copy(update={"correct_answer": "C"}), "j1").messages[-1]["content"]


@pytest.mark.parametrize(
    ("text", "right", "issue"),
    [
        ('{"right": ["A"], "issue": "none"}', {"A"}, None),
        ('I think {"right": "b", "issue": "unclear", "why": "x"}', {"B"}, "unclear"),
        ('{"right": [], "issue": "outdated"}', set(), "outdated"),
        ('{"right": ["Z"], "issue": "none"} {"right": ["C"], "issue": "none"}', {"C"}, None),
    ],
)
def test_opinions_are_read_as_models_write_them(
    make_item: Make, text: str, right: set[str], issue: str | None
) -> None:
    opinion = read_opinion(text, make_item("q", "Which gas?", TEXTS))
    assert opinion is not None
    assert (opinion.right, opinion.issue) == (right, issue)


@pytest.mark.parametrize(
    "text", ["A", "", '{"right": ["Z"]}', '{"right": ["A"], "issue": "bad"}', '{"right": 3}']
)
def test_what_is_no_opinion_is_no_vote(make_item: Make, text: str) -> None:
    item = make_item("q", "Which gas?", TEXTS)
    assert read_opinion(text, item) is None

    def ask(requests: Sequence[ChatRequest]) -> list[ChatReply]:
        return [ChatReply(key=one.key, status="ok", text=text) for one in requests]

    with pytest.raises(Refusal, match="no judge gave an opinion"):
        judge_items([item], THREE, ask)


def test_a_judge_that_fails_leaves_two_votes_that_suffice(make_item: Make) -> None:
    item = make_item("q", "Which gas? A", TEXTS, "A")
    right = judges({"Which gas? A": Truth("C")}, miss=0, false=0)

    def ask(requests: Sequence[ChatRequest]) -> list[ChatReply]:
        failed = ChatReply(key="x", status="timeout", error="late")
        return [failed if one.model == "j3" else right([one])[0] for one in requests]

    judged = judge_items([item], THREE, ask)
    assert judged.unread == 1
    ((kind, evidence),) = judged.evidence["q"]
    assert kind == "wrong_key"
    assert evidence.message == "2 of 2 judges hold C right, the key is A"


def test_the_command_asks_about_doubtful_items_and_keeps_replies(
    make_item: Make, tmp_path: Path, kina: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    doubtful = make_item("q1", "Which gas?", ["x", "y", "y "], "A")
    write_pool(Path("pool.jsonl"), [doubtful, make_item("q2", "Which metal?", TEXTS, "B")])
    with scripted(lambda _prompt, _times: said('{"right": ["B"], "issue": "unclear"}')) as server:
        line = ["repair", "pool.jsonl", "--base-url", server.url, "--json"]
        line += [part for model in THREE for part in ("--judge", model)]
        report = json.loads(kina(*line).stdout)
        assert report["judges"] == {"calls": {"ok": 3}, "unread": 0}
        issues = {issue["kind"]: issue["evidence"] for issue in report["diagnoses"][0]["issues"]}
        assert issues.keys() == {"wrong_key", "unclear", "flawed_distractor"}
        assert len(server.asked) == 3
        kina(*line, "--judge-all")
        assert len(server.asked) == 6
        kina(*line, "--force")
        assert len(server.asked) == 9


def test_findings_and_judges_stand_side_by_side(make_item: Make) -> None:
    item = make_item("q", "What does the passage above imply? A", TEXTS, "A")
    ask = judges({item.question: Truth("A", "missing_context")}, miss=0, false=0)
    (found,) = diagnose([item], check([item]), judged=judge_items([item], THREE, ask))
    assert [evidence.by for evidence in found.issues[0].evidence] == ["missing_passage", "judges"]


def test_a_cap_that_is_reached_or_one_judge_named_twice_writes_nothing(
    make_item: Make, tmp_path: Path, kina: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pool(tmp_path / "pool.jsonl", [make_item(f"q{n}", f"Which gas {n}?", TEXTS, "A") for n in range(4)])
    with scripted(lambda _prompt, _times: said('{"right": ["B"], "issue": "none"}')) as server:
        line = ("repair", "pool.jsonl", "--judge-all", "--base-url", server.url, "--judge", "j1")
        capped = kina(*line, "--max-calls", "3")
        assert capped.exit_code == 1
        assert "the cap of 3 calls is reached: 1 of 4 judgements are wanting" in capped.stderr
        assert not (tmp_path / "diagnoses.jsonl").exists()
        assert "judges: ok 4" in kina(*line).stdout
        assert len(server.asked) == 4, "only the rest was asked for"
        for names in (("--judge", "j1"), ("--judge", "")):
            twice = kina(*line, *names)
            assert (twice.exit_code, "a judge is named twice, or not at all" in twice.stderr) == (2, True)
