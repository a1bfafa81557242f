"""What awards amount to in the ledger, and the lines that bring what is held to what is due."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kina_build.errors import Refusal
from kina_build.rows.jsonl import canonical
from kina_review.payrecords import Award, EntryKind, Holding, LedgerEntry, PayKey, PayRule
from kina_review.tournament.gradings import Grading
from kina_review.tournament.screening import EARNS_NOTHING
from kina_review.tournament.settlement import Settlement


def targets(
    awards: Sequence[Award], refs: Mapping[str, str], gradings: Sequence[Grading] = ()
) -> dict[PayKey, Holding]:
    """Return what each award should amount to in the ledger, zero lines with their reason included.

    Args:
        awards: one a reviewer, item and round.
        refs: reviewer id to payee reference.
        gradings: what adjudicators earn.
    """
    due: dict[PayKey, Holding] = {}
    for award in awards:
        for kind, amount, reason in _parts(award):
            key = (award.item_id, award.round, award.reviewer_id, kind)
            due[key] = Holding(amount, reason, award.rule, refs[award.reviewer_id])
    for one in gradings:
        own: PayKey = (one.item_id, one.round, one.grader_id, "grading")
        due[own] = Holding(one.amount_minor, "graded", one.rule, refs[one.grader_id])
    return due


def _parts(award: Award) -> list[tuple[EntryKind, int, str]]:
    if award.reason in EARNS_NOTHING:
        return [("base", 0, award.reason)]
    parts: list[tuple[EntryKind, int, str]] = [
        ("base", award.base_minor, "complete"),
        ("bonus", award.bonus_minor, award.reason),
    ]
    return [*parts, ("penalty", award.penalty_minor, "audit_penalty")] if award.penalty_minor else parts


def differences(due: Mapping[PayKey, Holding], held: Mapping[PayKey, Holding]) -> list[LedgerEntry]:
    """Return the lines that bring what is held to what is due, in key order.

    Only items and rounds that stand in `due` are touched; their payables that are no
    longer due go to zero. A new reason without a new amount is a line of zero.

    Raises:
        Refusal: an item was settled under another rule, or a reviewer has another payee.
    """
    places = {key[:2] for key in due}
    lines: list[LedgerEntry] = []
    for key in sorted(due.keys() | {key for key in held if key[:2] in places}):
        before = held.get(key)
        after = due.get(key)
        if after is None and before is not None:
            after = Holding(0, "withdrawn", before.rule, before.payee_ref)
        if after is None:
            continue
        if before is not None:
            _check_same(key, before, after)
        if before is None or (before.amount_minor, before.reason) != (after.amount_minor, after.reason):
            lines.append(_line(key, after, after.amount_minor - (before.amount_minor if before else 0)))
    return lines


def rule_lines(settlement: Settlement, known: Mapping[str, str]) -> list[LedgerEntry]:
    """Return the lines that register the pay rules used, with their seed, if the ledger lacks them.

    The seed is a term of pay: another one would hand ties to somebody else. Where a version pays by
    discipline all its rules are registered together.

    Raises:
        Refusal: a version is already registered with other terms.
    """
    lines = []
    used = {award.rule for award in settlement.awards}
    versions = {rule.version for rule in settlement.terms.rules if rule.name in used}
    rules = [rule for rule in settlement.terms.rules if rule.version in versions]
    _check_disciplines(rules, known)
    for rule in rules:
        terms = {key: value for key, value in rule.terms().items() if key != "version"}
        text = canonical(terms | {"seed": settlement.terms.seed})
        if known.get(rule.name, text) != text:
            raise Refusal(
                f"pay rule {rule.name} stands in the ledger with other terms: {known[rule.name]}",
                hint="pay past work by the rule it was done under; give new terms a new --rule-version",
            )
        if rule.name not in known:
            lines.append(LedgerEntry(seq=0, kind="rule", rule=rule.name, reason=text))
    return lines


def _check_disciplines(rules: Sequence[PayRule], known: Mapping[str, str]) -> None:
    """Refuse a version that pays other disciplines apart than the ledger says: it is one rule in parts."""
    now, before = (
        _parts_of({rule.name: rule.discipline for rule in rules}),
        _parts_of({name: json.loads(text).get("discipline") for name, text in known.items()}),
    )
    for version, names in sorted(now.items()):
        if before.get(version, names) != names:
            raise Refusal(
                f"pay rule {version} stands in the ledger as {', '.join(sorted(before[version]))}, and this "
                f"run has {', '.join(sorted(names))}",
                hint="give --scarcity or --rules as in the first run; new terms need a new --rule-version",
            )


def _parts_of(names: Mapping[str, str | None]) -> dict[str, set[str]]:
    """Return, by version, the names of its rules."""
    found: dict[str, set[str]] = {}
    for name, discipline in names.items():
        found.setdefault(name.removesuffix(f":{discipline}") if discipline else name, set()).add(name)
    return found


def _check_same(key: PayKey, before: Holding, after: Holding) -> None:
    if before.rule != after.rule and before.reason not in EARNS_NOTHING and after.reason != "withdrawn":
        raise Refusal(
            f"item {key[0]!r}, round {key[1]!r} was settled under pay rule {before.rule}, not {after.rule}",
            hint="work keeps the rule it was done under; settle it with that rule",
        )


def _line(key: PayKey, after: Holding, amount_minor: int) -> LedgerEntry:
    item_id, round_, reviewer_id, kind = key
    return LedgerEntry(
        seq=0,
        kind=kind,
        item_id=item_id,
        round=round_,
        reviewer_id=reviewer_id,
        payee_ref=after.payee_ref,
        rule=after.rule,
        amount_minor=amount_minor,
        reason=after.reason,
    )
