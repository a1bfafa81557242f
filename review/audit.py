"""Audits: a random draw of approved items that nobody could foresee or bend afterwards.

The seed stays secret until the draw; its sha256 is published before the batch opens.
Items are drawn by HMAC-SHA256(seed, item_id), so that whoever learns the seed later can
repeat the draw, and whoever did not know it could not aim at it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

from kina_build.errors import InputError, Refusal
from kina_build.shares import bound_share
from review.records import Audit, Decision, Finding
from review.rubric import ReviewRules

LEAST_SEED_LENGTH = 16
"""Characters below which a seed could be guessed from its commitment."""


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


def commit(seed: str) -> str:
    """Return the commitment to publish before the batch opens: sha256 of the seed.

    Raises:
        InputError: a seed so short that it could be guessed.
    """
    if len(seed) < LEAST_SEED_LENGTH:
        raise InputError(
            f"the audit seed has {len(seed)} characters; fewer than {LEAST_SEED_LENGTH} could be guessed",
            hint="python3 -c 'import secrets; print(secrets.token_hex(32))' makes a good one",
        )
    return hashlib.sha256(seed.encode()).hexdigest()


def draw(approved: Sequence[str], seed: str, rate: Decimal, commitment: str) -> Audit:
    """Draw ceil(rate * N) of the approved items.

    Args:
        approved: item ids, each once, in any order.
        seed: the secret seed.
        rate: share to audit, in [0, 1].
        commitment: what was published.

    Raises:
        InputError: an item twice, or an unusable rate or seed.
        Refusal: the seed is not the one committed to.
    """
    if commit(seed) != commitment.strip().lower():
        raise Refusal("the seed is not the one that was committed to: this draw would prove nothing")
    if len(set(approved)) != len(approved):
        raise InputError("an approved item stands more than once in the draw")
    if not 0 <= rate <= 1:
        raise InputError(f"the audit rate must lie in [0, 1], and is {rate}")
    ordered = sorted(approved, key=lambda item_id: (_lot(seed, item_id), item_id))
    size = math.ceil(Fraction(rate) * len(approved))
    return Audit(commitment=commit(seed), rate=rate, approved=len(approved), item_ids=tuple(ordered[:size]))


def approved_items(decisions: Sequence[Decision]) -> list[str]:
    """Return the ids of accepted items."""
    return sorted(decision.item_id for decision in decisions if decision.decision == "accept")


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


def _lot(seed: str, item_id: str) -> bytes:
    return hmac.new(seed.encode(), item_id.encode(), hashlib.sha256).digest()
