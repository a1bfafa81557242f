"""Whether each item was settled under the right rule, and whether the rules follow from their own terms.

Which version was in force, whose discipline a rule pays, and what the rule of scarcity makes of the
usual pay are worked out here a second time, by code of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from kina_review.records import Finding

Place = tuple[str, str]
"""item_id, round."""
Rules = Mapping[str, Mapping[str, Any]]
"""Name of a registered rule to its terms."""

PLACES = 2
"""Reviews that may compete for one item."""


class Work(Protocol):
    """How much work a discipline has, and how many people for it."""

    @property
    def discipline(self) -> str:
        """Return its name."""

    @property
    def items(self) -> int:
        """Return how many items it has."""

    @property
    def reviewers(self) -> int:
        """Return how many people review them."""


def wrong_rule(
    place: Place, name: str, begun_at: datetime | None, discipline: str | None, rules: Rules
) -> str:
    """Say why an item should have gone by another rule; empty if it should not.

    Args:
        place: item and round.
        name: the rule that it was settled under.
        begun_at: first review of its first round that counts; None: none has a date.
        discipline: the item's, where a file says it.
        rules: all that are registered.
    """
    here = f"item {place[0]!r}, round {place[1]!r}: settled under rule {name}"
    begins = {
        _version(other, terms): _moment(terms["valid_from"])
        for other, terms in rules.items()
        if terms.get("valid_from")
    }
    version = _version(name, rules[name])
    if begun_at is not None and version in begins:
        begun = {other: at for other, at in begins.items() if at <= begun_at}
        right = max(begun, key=lambda other: begun[other], default=None)
        if right != version:
            return f"{here}, and rule {right} was in force"
    return _wrong_discipline(here, name, discipline, rules)


def _wrong_discipline(here: str, name: str, discipline: str | None, rules: Rules) -> str:
    version = _version(name, rules[name])
    parts = {
        terms.get("discipline"): other for other, terms in rules.items() if _version(other, terms) == version
    }
    if set(parts) == {None}:
        return ""
    if discipline is None:
        return f"{here}, which goes by discipline, and no file says the item's (--items)"
    right = parts.get(discipline, parts.get(None))
    return "" if right == name else f"{here}, and the item is of {discipline!r}, which is paid by {right}"


def wrong_scarcity(rules: Rules, work: Sequence[Work], most: Fraction) -> list[str]:
    """Return a sentence for each rule whose pay is not what the rule of scarcity makes of the usual pay.

    Args:
        rules: all that are registered.
        work: items and reviewers of each discipline; without any the registered factor is taken.
        most: most times the usual pay.
    """
    faults = []
    factors = _factors(work, most)
    for name, terms in sorted(rules.items()):
        usual = terms.get("scarcity")
        if not usual:
            continue
        factor = Fraction(usual["factor"])
        found = factors.get(terms["discipline"]) if work else factor
        if found != factor:
            faults.append(f"rule {name} is dearer by {factor}, and the files give {found or 'nothing'}")
        for kind in ("base_minor", "bonus_minor"):
            exact = usual[kind] * factor
            wanted = (exact.numerator + exact.denominator - 1) // exact.denominator
            if terms[kind] != wanted:
                faults.append(
                    f"rule {name} has {kind} {terms[kind]}, and {factor} times the usual is {wanted}"
                )
    return faults


def _factors(work: Sequence[Work], most: Fraction) -> dict[str, Fraction]:
    items, people = sum(one.items for one in work), sum(one.reviewers for one in work)
    found = {one.discipline: Fraction(one.items * people, one.reviewers * items) for one in work}
    return {name: max(Fraction(1), min(factor, most)) for name, factor in found.items()}


def _version(name: str, terms: Mapping[str, Any]) -> str:
    discipline = terms.get("discipline")
    return name[: -len(discipline) - 1] if discipline else name


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def derive_prizes(
    item_id: str, scores: Mapping[str, Fraction | None], finding: Finding | None, rule: Mapping[str, Any]
) -> dict[str, int]:
    """Return who gets how much of the bonus (paper, section 3.2, and the tie rule)."""
    known = {who: score for who, score in scores.items() if score is not None}
    bar, bonus = Fraction(Decimal(str(rule["bar"]))), int(rule["bonus_minor"])
    if len(known) < PLACES:
        return {}
    failed = set(finding.failed) & known.keys() if finding else set()
    if failed:
        return {who: bonus for who, score in known.items() if who not in failed and score >= bar}
    top = max(known.values())
    best = sorted(who for who, score in known.items() if score == top and score >= bar)
    if len(best) < PLACES:
        return dict.fromkeys(best, bonus)
    digest = hashlib.sha256(f"seed{rule.get('seed', 0)}|{item_id}|tie".encode()).digest()
    lucky, other = best[digest[0] % 2], best[1 - digest[0] % 2]
    if rule["tie"] == "split":
        return {lucky: bonus - bonus // 2, other: bonus // 2}
    return {lucky: bonus} if rule["tie"] == "coin" else {}
