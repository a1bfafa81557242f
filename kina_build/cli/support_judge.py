"""The judge behind `kina support --method judge`: which calls, made where, at what price."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kina_build.cli.support_choice import Choice, Method, Outcome
from kina_build.cli.support_vectors import load_embedder

if TYPE_CHECKING:
    from kina_build.chat import ChatReply
    from kina_build.items.model import Item
    from kina_build.support.anchors import Anchor
    from kina_build.support.judge.pairs import Ask, Batch


def by_judge(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score by the ratings of language models."""
    from kina_build.support.judge.agreement import count_calls, refuse_unjudged, support_by_ratings
    from kina_build.support.judge.pairs import judge_pairs
    from kina_build.support.judge.ratings import read_ratings, write_ratings

    labels = read_ratings(choice.labels) if choice.labels else []
    batches, report = plan(choice, items, anchors)
    with asking(choice, "judging") as ask:
        judged = judge_pairs(batches, ask, choice.rules)
    ratings, left_out = refuse_unjudged(judged, choice.rules.unjudged_limit)
    kept = [item for item in items if item.item_id not in set(left_out)]
    rated = support_by_ratings(kept, anchors, ratings, labels, choice.rules)
    return Outcome(
        rated.matrix,
        {
            **report,
            **rated.report,
            "calls": count_calls(judged, choice.run.settings.chat),
            "left_out": list(left_out),
        },
        write_more=lambda: choice.save_ratings and write_ratings(choice.save_ratings, ratings),
    )


@contextmanager
def asking(choice: Choice, label: str) -> Iterator[Ask]:
    """Give a way to ask the endpoint, with log, caps and a progress bar.

    Raises:
        ConfigError: no endpoint is set.
    """
    from kina_build.chat import Endpoint, Meter
    from kina_build.cli.kept import open_log

    endpoint = Endpoint.from_environment(choice.base_url)
    log, meter = open_log(choice.run, choice.calls), Meter()
    caps = {"max_calls": choice.max_calls, "max_cost": choice.max_cost}
    rules = choice.run.settings.chat.model_copy(update={k: v for k, v in caps.items() if v is not None})
    try:
        with choice.run.console.progress(label) as on_progress, _completing(choice) as complete:
            ask = partial(complete, endpoint=endpoint, log=log, rules=rules, meter=meter)
            yield partial(ask, on_progress=on_progress)
    finally:
        choice.reuse.replies += meter.reused
        choice.run.console.say(f"{meter.calls} calls made now; every reply is in {choice.calls}")


@contextmanager
def _completing(choice: Choice) -> Iterator[Callable[..., list[ChatReply]]]:
    """Give what answers requests: one process with many open calls, or batches on a cluster."""
    from kina_build.chat import complete, complete_batches

    if choice.engine.kind == "local":
        yield complete
        return
    from kina_build.engine import open_engine

    with open_engine(choice.engine) as engine:
        yield partial(complete_batches, engine=engine)


def plan(
    choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]
) -> tuple[list[Batch], dict[str, Any]]:
    """Choose the pairs to judge and cut them into calls."""
    import numpy as np

    from kina_build.support.anchors import in_scope
    from kina_build.support.embedding import cosine_table
    from kina_build.support.judge.pairs import choose_pairs, plan_batches

    ordered = sorted(items, key=lambda item: item.item_id)
    scope = in_scope(ordered, anchors)
    if choice.all_domains:
        scope = np.ones_like(scope)
    most = choice.rules.prefilter_anchors
    wanted = scope
    if most and scope.sum(axis=1).max(initial=0) > most:
        embed, _ = load_embedder(choice)
        wanted = choose_pairs(cosine_table(ordered, anchors, embed), scope, choice.rules)
    report = {"pairs_in_scope": int(scope.sum()), "pairs_judged": int(wanted.sum())}
    return plan_batches(ordered, anchors, wanted, choice.judges, choice.rules), report


def estimate(choice: Choice, items: Sequence[Item], anchors: Sequence[Anchor]) -> dict[str, Any]:
    """Return what a run would take, without a call.

    Raises:
        UsageError: the method makes no calls.
    """
    from kina_build.chat import ReplyLog
    from kina_build.errors import UsageError
    from kina_build.support.judge.pairs import estimate_calls

    if choice.method != Method.judge:
        raise UsageError(f"--dry-run estimates calls; --method {choice.method.value} makes none")
    log = ReplyLog(choice.calls)
    if choice.run.force:
        log.set_aside()
    batches, report = plan(choice, items, anchors)
    calls = estimate_calls(
        batches, lambda key: log.find(key) is not None, choice.rules, choice.run.settings.chat
    )
    return report | calls
