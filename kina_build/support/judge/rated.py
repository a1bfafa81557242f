"""Support made of ratings: what is left out for want of them, what the calls took, what agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina_build.chat import ChatReply, cost_of
from kina_build.chat.records import count_statuses
from kina_build.config import ChatRules, SupportRules
from kina_build.errors import Refusal
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor
from kina_build.support.judge.agreement import (
    compare_experts,
    compare_judges,
    refuse_chance,
    refuse_strangers,
)
from kina_build.support.judge.calibration import Calibration, calibrate_ratings
from kina_build.support.judge.pairs import Judged
from kina_build.support.judge.prompts import TOP_RATING
from kina_build.support.judge.ratings import (
    Pair,
    Rating,
    matrix_of_pairs,
    median_ratings,
    quote_checker,
    rating_counts,
)
from kina_build.support.matrix import SupportMatrix


@dataclass(frozen=True)
class RatedSupport:
    """Support made of ratings, and what it rests on."""

    matrix: SupportMatrix
    calibration: Calibration
    report: dict[str, Any]


def support_by_ratings(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    ratings: Sequence[Rating],
    labels: Sequence[Rating] = (),
    rules: SupportRules = SupportRules(),
) -> RatedSupport:
    """Turn ratings into support: median of the judges, calibrated on experts' labels, over 4.

    Pairs without any rating have support 0: the caller has seen to it that they were
    left out on purpose.

    Args:
        items: the pool.
        anchors: the anchors.
        ratings: the judges' ratings.
        labels: experts' ratings of some of the same pairs.
        rules: numbers of the calibration.

    Raises:
        InputError: repeated ids or unusable anchor weights.
        Refusal: a judge or an expert that agrees with no other, or judges with experts, by chance only.
    """
    medians, expert = median_ratings(ratings), median_ratings(labels)
    agreement, among = compare_judges(ratings), compare_judges(labels)
    refuse_chance(agreement, rules)
    refuse_chance(among, rules, "expert")
    calibration = calibrate_ratings(medians, expert, rules)
    against = _against_experts(medians, expert, calibration) if labels else None
    if against:
        refuse_strangers(against, rules)
    scores = {pair: value / TOP_RATING for pair, value in calibration.apply(medians).items()}
    report = {
        "ratings": rating_counts(ratings),
        "unquoted": _count_unquoted(items, ratings),
        "agreement": agreement,
        "experts": against and {**against, "agreement": among},
    }
    return RatedSupport(matrix_of_pairs(items, anchors, scores, rules), calibration, report)


def refuse_unjudged(judged: Judged, limit: float = 0.0) -> tuple[tuple[Rating, ...], tuple[str, ...]]:
    """Return the ratings that may be used and the ids of items left out for want of ratings.

    A pair needs a rating by at least one judge. Items with a pair that has none are left
    out whole, as long as they are at most `limit` of all items.

    Raises:
        Refusal: more items than that, or there is nothing to rate.
    """
    rated = {(rating.item_id, rating.anchor_id) for rating in judged.ratings}
    bare = [lost for lost in judged.unjudged if (lost.item_id, lost.anchor_id) not in rated]
    left_out = sorted({lost.item_id for lost in bare})
    items = {rating.item_id for rating in judged.ratings} | set(left_out)
    if not items:
        raise Refusal("there is no pair to judge", hint="do the anchors' domains match the items' fields?")
    if left_out and (len(left_out) > limit * len(items) or len(left_out) == len(items)):
        pairs = len({(lost.item_id, lost.anchor_id) for lost in bare})
        reasons = ", ".join(f"{why}: {n}" for why, n in Counter(lost.reason for lost in bare).most_common(5))
        raise Refusal(
            f"{pairs} of {pairs + len(rated)} pairs, in {len(left_out)} of {len(items)} items, "
            f"have no rating ({reasons}){_first_error(judged.replies)}; nothing was written",
            hint=_AGAIN if any(not reply.answered for reply in judged.replies) else _OTHERWISE,
        )
    return tuple(r for r in judged.ratings if r.item_id not in set(left_out)), tuple(left_out)


_OTHERWISE = (
    "take another judge, a smaller support.judge_batch or more support.judge_rounds, "
    "or let a share of the items be left out with --allow-unjudged"
)


_AGAIN = f"good replies are kept: run again to ask only for the rest; else {_OTHERWISE}"


def count_calls(judged: Judged, prices: ChatRules = ChatRules()) -> dict[str, Any]:
    """Sum up the replies behind a result, those of earlier runs included."""
    return {
        "calls": len(judged.replies),
        "statuses": count_statuses(judged.replies),
        "prompt_tokens": sum(reply.prompt_tokens for reply in judged.replies),
        "completion_tokens": sum(reply.completion_tokens for reply in judged.replies),
        "cost": round(cost_of(judged.replies, prices), 4),
    }


def _count_unquoted(items: Sequence[Item], ratings: Sequence[Rating]) -> dict[str, int]:
    """Count each judge's ratings above 0 whose evidence does not stand in the item."""
    is_backed = quote_checker(items)
    counts = Counter(rating.judge for rating in ratings if not is_backed(rating))
    return {judge: counts[judge] for judge in sorted({rating.judge for rating in ratings})}


def _against_experts(
    medians: Mapping[Pair, float], expert: Mapping[Pair, float], calibration: Calibration
) -> dict[str, Any]:
    missed = sorted(pair for pair, value in expert.items() if value > 0 and pair not in medians)
    return {
        **compare_experts(medians, expert),
        "labels_on_unjudged_pairs": len(expert.keys() - medians.keys()),
        "support_the_prefilter_missed": [list(pair) for pair in missed],
        "calibration": {
            "applied": calibration.applied,
            "error_before": calibration.error_before,
            "error_after": calibration.error_after,
            "values": list(calibration.values),
        },
    }


def _first_error(replies: Sequence[ChatReply]) -> str:
    error = next((reply.error for reply in replies if reply.error), None)
    return f"; the endpoint said: {error}" if error else ""
