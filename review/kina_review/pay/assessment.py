"""What audits say: the flaw rate among approved items, and what a reviewer's record calls for.

A strike (Wald's sequential test, 1945) informs a person, who decides; it never blocks pay by itself.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from kina_build.errors import Refusal
from kina_build.shares import bound_share
from kina_review.records import Audit, Finding, Review
from kina_review.rubric import ReviewRules


@dataclass(frozen=True)
class FlawRate:
    """How many approved items are flawed, by the audit's sample."""

    audited: int
    flawed: int
    rate: float
    lower: float
    """Two-sided Wilson interval; the sample is drawn without replacement, so it is on the wide side."""
    upper: float
    confidence: float


def check_findings(audit: Audit, findings: Sequence[Finding]) -> list[str]:
    """Check that findings are about drawn items only; return the drawn items still without one.

    Raises:
        Refusal: a finding on an item that was not drawn, or two on one item.
    """
    seen: set[str] = set()
    for finding in findings:
        if finding.item_id not in audit.item_ids:
            raise Refusal(
                f"a finding on item {finding.item_id!r}, which was not drawn",
                hint="only drawn items may cost anybody money",
            )
        if finding.item_id in seen:
            raise Refusal(f"two findings on item {finding.item_id!r}")
        seen.add(finding.item_id)
    return [item_id for item_id in audit.item_ids if item_id not in seen]


def flaw_rate(findings: Sequence[Finding], rules: ReviewRules = ReviewRules()) -> FlawRate | None:
    """Estimate the share of flawed items among the approved; None without findings."""
    if not findings:
        return None
    flawed = sum(finding.flawed for finding in findings)
    z = NormalDist().inv_cdf((1 + rules.confidence) / 2)
    lower, upper = bound_share(flawed, len(findings), z)
    return FlawRate(len(findings), flawed, flawed / len(findings), lower, upper, rules.confidence)


Call = Literal["strike_out", "in_good_standing", "keep_watching"]


@dataclass(frozen=True)
class TrackRecord:
    """One reviewer's audits so far."""

    reviewer_id: str
    audited: int
    failed: int
    evidence: float
    """Log likelihood ratio of the unacceptable over the acceptable rate."""
    call: Call


def judge(reviewer_id: str, outcomes: Sequence[bool], rules: ReviewRules = ReviewRules()) -> TrackRecord:
    """Run the sequential test over a reviewer's audits, in order; True is a failed one.

    The first crossing of a boundary stands: later audits do not take it back.
    """
    failed_step = math.log(rules.strike_unacceptable / rules.strike_acceptable)
    passed_step = math.log((1 - rules.strike_unacceptable) / (1 - rules.strike_acceptable))
    edge = math.log((1 - rules.strike_error) / rules.strike_error)
    evidence = 0.0
    call: Call = "keep_watching"
    for failed in outcomes:
        evidence += failed_step if failed else passed_step
        if call == "keep_watching" and abs(evidence) >= edge:
            call = "strike_out" if evidence > 0 else "in_good_standing"
    return TrackRecord(reviewer_id, len(outcomes), sum(outcomes), evidence, call)


def judge_all(
    reviews: Sequence[Review], findings: Sequence[Finding], rules: ReviewRules = ReviewRules()
) -> list[TrackRecord]:
    """Judge every audited reviewer; audits count in the order of the findings.

    A reviewer fails on a flawed item unless they named its flaw, and where the finding
    says so.
    """
    outcomes: dict[str, list[bool]] = defaultdict(list)
    by_place: dict[tuple[str, str], list[Review]] = defaultdict(list)
    for review in reviews:
        by_place[review.item_id, review.round].append(review)
    for finding in findings:
        for review in by_place[finding.item_id, finding.round]:
            named = any(flaw.kind == finding.flaw for flaw in review.flaws)
            failed = review.reviewer_id in finding.failed or (finding.flawed and not named)
            outcomes[review.reviewer_id].append(failed)
    return [judge(reviewer_id, seen, rules) for reviewer_id, seen in sorted(outcomes.items())]
