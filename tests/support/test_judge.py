from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kina_build.chat import ChatReply, ChatRequest, Meter, ReplyLog, complete
from kina_build.config import ChatRules, SupportRules
from kina_build.errors import Refusal
from kina_build.support.judge.pairs import (
    Batch,
    choose_pairs,
    estimate_calls,
    judge_pairs,
    plan_batches,
    request_of,
    split_batch,
)
from kina_build.support.judge.rated import count_calls, refuse_unjudged, support_by_ratings
from tests.conftest import fault_cases
from tests.servers import (
    CUT,
    EMPTY,
    MALFORMED,
    RATE_LIMITED,
    REASONING_ONLY,
    REFUSED,
    SERVER_ERROR,
    SLOW,
    UNAUTHORISED,
    Served,
    said,
    scripted,
)

QUICK = ChatRules(backoff_s=0.01, concurrency=4)


def anchors_asked(prompt: str) -> list[str]:
    """Return the statements listed in a prompt, in order."""
    return re.findall(r"^\d+\. \(\w+\) (.*)$", prompt, re.MULTILINE)


def rating_of(statement: str, item_text: str) -> int:
    return 4 if statement in item_text else 0


def honest(prompt: str, _: int = 0) -> Served:
    """Rate an anchor 4 if its statement stands in the item, else 0."""
    item_text = prompt.partition("</item>")[0]
    rows = [
        {"anchor": n, "rating": rating_of(s, item_text), "evidence": s if rating_of(s, item_text) else ""}
        for n, s in enumerate(anchors_asked(prompt), start=1)
    ]
    return said(json.dumps({"ratings": rows}))


@pytest.fixture
def story(make_item, make_anchor):
    """Two items and three anchors of one domain."""
    items = [make_item("q1", "What raises entropy?"), make_item("q2", "Who gains momentum?")]
    anchors = [make_anchor(f"u{i}", word) for i, word in enumerate(("entropy", "momentum", "torque"))]
    return items, anchors, np.ones((2, 3), dtype=bool)


def run(url_of, story, rules=SupportRules(judge_batch=2), chat=QUICK, log=None, judges=("m",)):
    items, anchors, wanted = story
    ask = partial(
        complete,
        endpoint=url_of.endpoint(),
        log=ReplyLog() if log is None else log,
        rules=chat,
        meter=Meter(),
    )
    return judge_pairs(plan_batches(items, anchors, wanted, judges, rules), ask, rules)


def test_an_honest_judge_makes_a_matrix(story):
    with scripted(honest) as server:
        judged = run(server, story)
    assert not judged.unjudged
    items, anchors, _ = story
    rated = support_by_ratings(items, anchors, judged.ratings)
    assert rated.matrix.levels.tolist() == [[1000, 0, 0], [0, 1000, 0]]
    assert rated.report["unquoted"] == {"m": 0}
    assert rated.report["ratings"] == {"m": [4, 0, 0, 0, 2]}
    assert count_calls(judged)["statuses"] == {"ok": 4}


@pytest.mark.parametrize(
    "trouble",
    [
        RATE_LIMITED,
        SERVER_ERROR,
        MALFORMED,
        EMPTY,
        REASONING_ONLY,
        REFUSED,
        CUT,
        said('{"ratings": [{"anchor"'),
    ],
    ids=["429", "500", "malformed", "empty", "reasoning only", "refused", "cut", "cut JSON"],
)
def test_trouble_that_passes_leaves_no_trace_in_the_scores(trouble, story):
    with scripted(lambda prompt, times: trouble if times == 0 else honest(prompt)) as server:
        judged = run(server, story)
    assert not judged.unjudged
    assert sorted(r.rating for r in judged.ratings) == [0, 0, 0, 0, 4, 4]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (SERVER_ERROR, "server_error"),
        (UNAUTHORISED, "auth"),
        (EMPTY, "empty"),
        (REFUSED, "refused"),
        (said("All of them, I think."), "not in the reply"),
        (
            said('[{"anchor": 1, "rating": 9}, {"anchor": 2, "rating": "?"}]'),
            "is not a whole number from 0 to 4",
        ),
        (SLOW, "timeout"),
    ],
    ids=["500", "401", "empty", "refused", "prose", "out of range", "slow"],
)
def test_trouble_that_stays_is_no_score_but_a_refusal(trouble, reason, story):
    chat = QUICK.model_copy(update={"attempts": 2} | ({"timeout_s": 0.1} if reason == "timeout" else {}))
    with scripted(lambda prompt, times: trouble) as server:
        judged = run(server, story, chat=chat)
    assert judged.ratings == ()
    assert {u.anchor_id for u in judged.unjudged} == {"u0", "u1", "u2"}
    with pytest.raises(Refusal, match="6 of 6 pairs, in 2 of 2 items, have no rating") as caught:
        refuse_unjudged(judged)
    assert reason in caught.value.message


def test_only_the_anchors_that_a_reply_left_out_are_asked_again(story):
    def forgetful(prompt: str, times: int) -> Served:
        full = json.loads(honest(prompt).body["choices"][0]["message"]["content"])
        return said(json.dumps({"ratings": full["ratings"][:1]}))

    with scripted(forgetful) as server:
        judged = run(server, story, rules=SupportRules(judge_batch=4))
    assert not judged.unjudged
    assert sorted(len(anchors_asked(prompt)) for prompt in server.prompts) == [1, 1, 2, 2, 3, 3]
    assert len(judged.ratings) == 6


def test_a_resumed_run_repeats_no_call(story, tmp_path: Path):
    def dies(prompt: str, times: int) -> Served:
        return honest(prompt) if "entropy?" in prompt else UNAUTHORISED

    one_by_one = QUICK.model_copy(update={"concurrency": 1})
    with scripted(dies) as server:
        first = run(server, story, log=ReplyLog(tmp_path / "calls.jsonl"), chat=one_by_one)
    assert {u.item_id for u in first.unjudged} == {"q2"}
    with scripted(honest) as server:
        second = run(server, story, log=ReplyLog(tmp_path / "calls.jsonl"), chat=one_by_one)
        assert all("momentum?" in prompt for prompt in server.prompts)
        assert len(server.asked) == 2
    with scripted(honest) as server:
        third = run(server, story, log=ReplyLog(tmp_path / "calls.jsonl"), chat=one_by_one)
        assert server.asked == []
    assert third.ratings == second.ratings


def test_a_cap_stops_the_run_and_says_so(story):
    chat = QUICK.model_copy(update={"max_calls": 1, "concurrency": 1})
    with scripted(honest) as server:
        judged = run(server, story, chat=chat)
        assert len(server.asked) == 1
    with pytest.raises(Refusal, match="the cap of 1 calls is reached"):
        refuse_unjudged(judged)


def test_an_item_may_be_left_out_whole_when_that_is_allowed(story):
    with scripted(lambda prompt, _: honest(prompt) if "entropy?" in prompt else REFUSED) as server:
        judged = run(server, story)
    ratings, left_out = refuse_unjudged(judged, limit=0.5)
    assert left_out == ("q2",)
    assert {r.item_id for r in ratings} == {"q1"}
    with pytest.raises(Refusal):
        refuse_unjudged(judged, limit=0.4)


def test_a_second_judge_can_stand_in_but_two_readings_are_two_calls(story):
    with scripted(lambda prompt, times: honest(prompt)) as server:
        judged = run(server, story, judges=("m", "m#2"))
        assert len(server.asked) == 8
    assert {(r.judge, r.model) for r in judged.ratings} == {("m", "m"), ("m#2", "m")}


def test_every_item_keeps_its_nearest_anchors_and_every_anchor_its_nearest_items():
    scores = np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.5, 0.4, 0.3]])
    scope = np.ones((3, 3), dtype=bool)
    rules = SupportRules(prefilter_anchors=1, prefilter_items=1)
    wanted = choose_pairs(scores, scope, rules)
    assert wanted.tolist() == [[True, True, False], [True, False, False], [True, False, True]]
    scope[2, 0] = False
    assert not choose_pairs(scores, scope, rules)[2, 0]
    assert choose_pairs(scores, scope, SupportRules(prefilter_anchors=0)).sum() == 8


def test_batches_are_even_and_cover_each_wanted_pair_once(make_item, make_anchor):
    items = [make_item("q1"), make_item("q2")]
    anchors = [make_anchor(f"u{i}") for i in range(7)]
    wanted = np.ones((2, 7), dtype=bool)
    wanted[1] = False
    batches = plan_batches(items, anchors, wanted, ["m"], SupportRules(judge_batch=3))
    assert [len(batch.anchors) for batch in batches] == [3, 3, 1]
    assert {a.anchor_id for batch in batches for a in batch.anchors} == {f"u{i}" for i in range(7)}
    assert split_batch(Batch("m", items[0], ()), 3) == []


def test_each_judge_meets_the_anchors_in_an_order_of_its_own(make_item, make_anchor):
    anchors = [make_anchor(f"u{i}") for i in range(12)]
    wanted = np.ones((1, 12), dtype=bool)
    one, two = plan_batches([make_item()], anchors, wanted, ["a", "b"], SupportRules())
    assert one.anchors != two.anchors
    assert set(one.anchors) == set(two.anchors)


def test_the_request_carries_rubric_item_anchors_and_form(make_item, make_anchor):
    item = make_item("q1", "What raises entropy?", question_material="A gas.")
    batch = Batch("org/model#3", item, (make_anchor("u1", "the  second\nlaw", kind="theorem"),))
    request = request_of(batch, SupportRules(judge_params={"seed": 7}))
    assert (request.model, request.sample, request.params["seed"]) == ("org/model", 6, 7)
    schema = request.params["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["1"]
    assert "1. (theorem) the second law" in request.messages[1]["content"]
    assert "Material: A gas." in request.messages[1]["content"]
    assert "4 = the crux" in request.messages[0]["content"]
    text = request_of(batch, SupportRules(judge_form="text"))
    assert "response_format" not in text.params


def test_an_estimate_counts_only_what_is_not_answered(story):
    items, anchors, wanted = story
    rules = SupportRules(judge_batch=3, judge_tokens=10)
    batches = plan_batches(items, anchors, wanted, ["m"], rules)
    done = request_of(batches[0], rules).key
    report = estimate_calls(batches, lambda key: key == done, rules, ChatRules(completion_price=1e6))
    assert (report["calls"], report["calls_answered"], report["pairs"]) == (1, 1, 6)
    assert report["completion_tokens_at_most"] == 40
    assert report["cost_at_most"] == 40


@pytest.mark.parametrize(
    "case", [c for c in fault_cases("anchors") if c.id in ("anc-judge-failures", "absent")]
)
def test_public_cases_of_failing_judges(case, kina, tmp_path: Path, make_item, make_anchor):
    from kina_build.items.pool import write_pool
    from kina_build.support.anchors import write_anchors

    codes = [int(reply["error"]) for reply in case["input"]["responses"]]
    pairs = case["input"]["pairs"]
    write_pool(tmp_path / "pool.jsonl", [make_item(f"q{i}") for i in range(pairs // 2)])
    write_anchors(tmp_path / "anchors.jsonl", [make_anchor("u1"), make_anchor("u2", "mass")])
    with scripted(lambda prompt, times: Served({"error": {"message": "no"}}, codes[0])) as server:
        result = kina(
            "support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "support.npz",
            "--method", "judge", "--judge", "m", "--base-url", server.url,
        )  # fmt: skip
    assert result.exit_code == 1
    assert f"error: {pairs} of {pairs} pairs" in result.stderr
    assert case["expected"]["file_written"] is False
    assert not (tmp_path / "support.npz").exists()


def test_a_reply_from_nowhere_is_never_a_rating(story):
    def ask(requests: Sequence[ChatRequest]) -> list[ChatReply]:
        return [
            ChatReply(key=r.key, status="not_sent", text='[{"anchor": 1, "rating": 4}]') for r in requests
        ]

    items, anchors, wanted = story
    judged = judge_pairs(plan_batches(items, anchors, wanted, ["m"]), ask)
    assert judged.ratings == ()
