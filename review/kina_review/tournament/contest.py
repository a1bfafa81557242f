"""One contest: two review scores to one winner, a tie, or nobody (paper, section 3.2).

W_i = w0 + B * 1{S_i > S_-i and S_i >= tau}. Ties, which the paper's model excludes, go by
the rule's tie; at most B is paid an item whatever happens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from kina_build.errors import Refusal
from kina_review.records import PayRule, Reason

MOST_DIGITS = 12
"""Decimals after which a score is printed as a fraction."""


@dataclass(frozen=True)
class Outcome:
    """How one contest ends."""

    bonus_minor: dict[str, int]
    """Reviewer id to bonus, zero included."""
    reasons: dict[str, Reason]
    winners: tuple[str, ...] = ()
    tied: bool = False


def tie_bit(item_id: str, seed: int) -> int:
    """Return the fair bit that indexes the sorted reviewers of a tied item."""
    return hashlib.sha256(f"seed{seed}|{item_id}|tie".encode()).digest()[0] & 1


def compare(item_id: str, scores: Mapping[str, Fraction], rule: PayRule, seed: int) -> Outcome:
    """Compare two scores under a pay rule.

    Raises:
        Refusal: a tie at or above the bar under a rule without a tie rule.
    """
    first, second = sorted(scores)
    best = max(scores.values())
    if best < Fraction(rule.bar):
        return Outcome(dict.fromkeys(scores, 0), dict.fromkeys(scores, "below_bar"))
    if scores[first] != scores[second]:
        winner, loser = (first, second) if scores[first] == best else (second, first)
        return Outcome(
            {winner: rule.bonus_minor, loser: 0}, {winner: "win", loser: "loss"}, winners=(winner,)
        )
    return _break_tie((first, second), rule, tie_bit(item_id, seed))


def _break_tie(pair: tuple[str, str], rule: PayRule, bit: int) -> Outcome:
    lucky, other = pair[bit], pair[1 - bit]
    if rule.tie == "split":
        half = rule.bonus_minor // 2
        bonus = {lucky: rule.bonus_minor - half, other: half}
        return Outcome(bonus, dict.fromkeys(pair, "tie_split"), winners=pair, tied=True)
    if rule.tie == "coin":
        reasons: dict[str, Reason] = {lucky: "tie_coin_win", other: "tie_coin_loss"}
        return Outcome({lucky: rule.bonus_minor, other: 0}, reasons, winners=(lucky,), tied=True)
    if rule.tie == "strict":
        return Outcome(dict.fromkeys(pair, 0), dict.fromkeys(pair, "tie_strict"), tied=True)
    raise Refusal(
        f"tie_rule_missing: {pair[0]!r} and {pair[1]!r} tie at or above the bar, and rule {rule.version} "
        "does not say what then",
        hint="set tie to split, strict or coin",
    )


def compare_audited(
    item_id: str, scores: Mapping[str, Fraction], failed: Sequence[str], rule: PayRule, seed: int
) -> Outcome:
    """Compare scores after an audit: who failed is out, and the other moves up on reaching the bar.

    Raises:
        Refusal: as compare.
    """
    before = compare(item_id, scores, rule, seed)
    out = [reviewer for reviewer in scores if reviewer in failed]
    if not out:
        return before
    bonus = dict.fromkeys(scores, 0)
    reasons: dict[str, Reason] = dict(before.reasons) | dict.fromkeys(out, "audit_failed")
    rest = [reviewer for reviewer in scores if reviewer not in out and scores[reviewer] >= Fraction(rule.bar)]
    for reviewer in rest:
        bonus[reviewer] = rule.bonus_minor
        reasons[reviewer] = "win" if before.winners == (reviewer,) else "promoted"
    return Outcome(bonus, reasons, winners=tuple(rest), tied=False)


def print_score(score: Fraction) -> str:
    """Write a score exactly: a decimal where it ends, else a fraction such as "43/3"."""
    if 10**MOST_DIGITS % score.denominator:
        return str(score)
    return f"{(Decimal(score.numerator) / score.denominator).normalize():f}"
