"""From awards to ledger lines: only the difference between what is due and what is posted.

A second run over the same reviews posts nothing; a correction posts the correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kina_build.errors import Refusal
from kina_build.jsonl import canonical
from review.chain import Head
from review.ledger import Holding, Ledger, PayKey, create_ledger, open_ledger
from review.payees import PayeeBook, begin_book, book_path, check_book, read_book, write_book
from review.records import Award, EntryKind, LedgerEntry
from review.screening import EARNS_NOTHING
from review.tournament import Settlement


def targets(awards: Sequence[Award], refs: Mapping[str, str]) -> dict[PayKey, Holding]:
    """Return what each award should amount to in the ledger, zero lines with their reason included.

    Args:
        awards: one a reviewer, item and round.
        refs: reviewer id to payee reference.
    """
    due: dict[PayKey, Holding] = {}
    for award in awards:
        for kind, amount, reason in _parts(award):
            key = (award.item_id, award.round, award.reviewer_id, kind)
            due[key] = Holding(amount, reason, award.rule, refs[award.reviewer_id])
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

    The seed is a term of pay: another one would hand ties to somebody else.

    Raises:
        Refusal: a version is already registered with other terms.
    """
    lines = []
    used = {award.rule for award in settlement.awards}
    for rule in settlement.terms.rules:
        if rule.version not in used:
            continue
        terms = rule.model_dump(mode="json", exclude={"version"})
        text = canonical(terms | {"seed": settlement.terms.seed})
        if known.get(rule.version, text) != text:
            raise Refusal(
                f"pay rule {rule.version} stands in the ledger with other terms: {known[rule.version]}",
                hint="pay past work by the rule it was done under; give new terms a new --rule-version",
            )
        if rule.version not in known:
            lines.append(LedgerEntry(seq=0, kind="rule", rule=rule.version, reason=text))
    return lines


def draft_lines(ledger: Ledger | None, settlement: Settlement, book: PayeeBook) -> list[LedgerEntry]:
    """Return the lines that would bring a ledger (None: an empty one) to a settlement.

    Raises:
        Refusal: as differences and rule_lines.
    """
    held = ledger.holdings() if ledger else {}
    refs = {key[2]: holding.payee_ref for key, holding in held.items()}
    for reviewer_id, payee_id in sorted({(a.reviewer_id, a.payee_id or "") for a in settlement.awards}):
        if payee_id or reviewer_id not in refs:
            ref = book.ref(payee_id or reviewer_id)
            if refs.setdefault(reviewer_id, ref) != ref:
                raise Refusal(
                    f"reviewer {reviewer_id!r} stands in the ledger with another payee",
                    hint="pay out and begin a new ledger, or restore the payee",
                )
    lines = rule_lines(settlement, ledger.rules() if ledger else {})
    return lines + differences(targets(settlement.awards, refs), held)


@dataclass(frozen=True)
class Posting:
    """What one run added to a ledger."""

    lines: tuple[LedgerEntry, ...]
    head: Head


def post_to(path: Path, settlement: Settlement) -> Posting:
    """Bring the ledger at a path to a settlement, beginning it and its payee book where needed.

    A crash at any moment leaves the ledger as before or as after; the payee book may then
    know payees too many, never too few.

    Raises:
        InputError: an unusable file.
        Refusal: another currency or payee book, or as draft_lines.
    """
    if path.exists() and path.stat().st_size:
        with open_ledger(path):
            pass  # beside what is no ledger no payee book is begun
    book = begin_book(book_path(path))
    currency = settlement.terms.rules[0].currency
    with create_ledger(path, currency, book.check) as ledger:
        _check_ledger(ledger, book, currency)
        with ledger.writing():
            known = read_book(book_path(path))
            book = known.with_payees({award.payee_id or award.reviewer_id for award in settlement.awards})
            if book != known:
                write_book(book_path(path), book)
            lines = draft_lines(ledger, settlement, book)
            ledger.append(lines)
        return Posting(tuple(lines), ledger.head())


def preview(path: Path, settlement: Settlement) -> list[LedgerEntry]:
    """Return the lines that post_to would append; write nothing.

    Raises:
        InputError: an unusable file.
        Refusal: as post_to.
    """
    if not path.exists():
        return draft_lines(None, settlement, PayeeBook(key="00"))
    book = read_book(book_path(path))
    with open_ledger(path) as ledger:
        _check_ledger(ledger, book, settlement.terms.rules[0].currency)
        return draft_lines(ledger, settlement, book)


def _check_ledger(ledger: Ledger, book: PayeeBook, currency: str) -> None:
    check_book(book, ledger.key_check)
    if ledger.currency != currency:
        raise Refusal(
            f"{ledger.name}: a ledger of {ledger.currency}, not {currency}", hint="use one ledger a currency"
        )


def _check_same(key: PayKey, before: Holding, after: Holding) -> None:
    if before.rule != after.rule and before.amount_minor:
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
