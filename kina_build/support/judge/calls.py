"""The judge behind `kina support --method judge`: which calls, made where, at what price."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from kina_build.chat import ChatReply, Endpoint, Meter, ReplyLog
from kina_build.engine import open_engine
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor, in_scope, reference_ids
from kina_build.support.embedding import cosine_table
from kina_build.support.judge.pairs import Ask, Batch, choose_pairs, estimate_calls, judge_pairs, plan_batches
from kina_build.support.judge.rated import count_calls, refuse_unjudged, support_by_ratings
from kina_build.support.judge.ratings import read_ratings, write_ratings
from kina_build.support.setup import Outcome, Setup, load_embedder


def by_judge(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the ratings of language models."""
    labels = read_ratings(setup.options.labels) if setup.options.labels else []
    batches, report = plan(setup, items, anchors)
    with asking(setup, "judging") as ask:
        judged = judge_pairs(batches, ask, setup.rules)
    ratings, left_out = refuse_unjudged(judged, setup.rules.unjudged_limit)
    kept = [item for item in items if item.item_id not in set(left_out)]
    rated = support_by_ratings(kept, anchors, ratings, labels, setup.rules)
    return Outcome(
        rated.matrix,
        {
            **report,
            **rated.report,
            "calls": count_calls(judged, setup.chat),
            "left_out": list(left_out),
        },
        write_more=lambda: setup.options.save_ratings and write_ratings(setup.options.save_ratings, ratings),
    )


@contextmanager
def asking(setup: Setup, label: str) -> Iterator[Ask]:
    """Give a way to ask the endpoint, with log, caps and a progress bar.

    Raises:
        ConfigError: no endpoint is set.
    """
    endpoint = Endpoint.from_environment(setup.options.base_url)
    log, meter = setup.open_log(setup.calls), Meter()
    caps = {"max_calls": setup.options.max_calls, "max_cost": setup.options.max_cost}
    rules = setup.chat.model_copy(update={k: v for k, v in caps.items() if v is not None})
    try:
        with setup.tell.progress(label) as on_progress, _completing(setup) as complete:
            ask = partial(complete, endpoint=endpoint, log=log, rules=rules, meter=meter)
            yield partial(ask, on_progress=on_progress)
    finally:
        setup.reuse.replies += meter.reused
        setup.tell.say(f"{meter.calls} calls made now; every reply is in {setup.calls}")


@contextmanager
def _completing(setup: Setup) -> Iterator[Callable[..., list[ChatReply]]]:
    """Give what answers requests: one process with many open calls, or batches on a cluster."""
    from kina_build.chat import complete, complete_batches

    if setup.engine.kind == "local":
        yield complete
        return

    with open_engine(setup.engine) as engine:
        yield partial(complete_batches, engine=engine)


def plan(
    setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]
) -> tuple[list[Batch], dict[str, Any]]:
    """Choose the pairs to judge and cut them into calls."""
    references = reference_ids(items, anchors)
    ordered = sorted(
        (item for item in items if item.item_id not in references), key=lambda item: item.item_id
    )
    scope = in_scope(ordered, anchors)
    if setup.options.all_domains:
        scope = np.ones_like(scope)
    most = setup.rules.prefilter_anchors
    wanted = scope
    if most and scope.sum(axis=1).max(initial=0) > most:
        embed, _ = load_embedder(setup)
        wanted = choose_pairs(cosine_table(ordered, anchors, embed), scope, setup.rules)
    report = {"pairs_in_scope": int(scope.sum()), "pairs_judged": int(wanted.sum())}
    return plan_batches(ordered, anchors, wanted, setup.options.judge, setup.rules), report


def estimate(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> dict[str, Any]:
    """Return what a run would take, without a call.

    Raises:
        UsageError: the method makes no calls.
    """
    if setup.options.method != "judge":
        raise UsageError(f"--dry-run estimates calls; --method {setup.options.method} makes none")
    log = ReplyLog(setup.calls)
    if setup.reuse.forced:
        log.set_aside()
    batches, report = plan(setup, items, anchors)
    calls = estimate_calls(batches, lambda key: log.find(key) is not None, setup.rules, setup.chat)
    return report | calls
