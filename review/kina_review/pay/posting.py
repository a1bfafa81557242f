"""From awards to ledger lines: only the difference between what is due and what is posted.

A second run over the same reviews posts nothing, and new evidence posts what it changes. What
rests on evidence that is gone, or is told otherwise now, waits for somebody to allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kina_build.errors import InputError, Refusal
from kina_build.jsonl import canonical
from kina_review.money import MOST_SUM_MINOR, format_amount
from kina_review.pay.holds import FREED, HELD, HoldKey, hold_line, open_holds
from kina_review.pay.ledger import Holding, Ledger, PayKey, create_ledger, open_ledger
from kina_review.pay.payees import PayeeBook, begin_book, book_path, check_book, read_book, write_book
from kina_review.pay.seal import Head
from kina_review.records import Award, EntryKind, Finding, LedgerEntry
from kina_review.tournament.evidence import Change, Evidence, Place, compare, evidence_line, read_evidence
from kina_review.tournament.screening import EARNS_NOTHING, Owner, check_owners, check_spelling
from kina_review.tournament.settlement import Settlement, Terms


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


@dataclass(frozen=True)
class Draft:
    """What a settlement would add to a ledger, and what speaks against it."""

    lines: list[LedgerEntry]
    disputed: dict[str, list[str]]
    """Item to what of its evidence changed, where that would change somebody's pay."""
    holds: list[LedgerEntry]
    """Lines that hold the pay of those whose evidence was contradicted."""


def draft_lines(
    ledger: Ledger | None, settlement: Settlement, book: PayeeBook, allowed: str = ""
) -> list[LedgerEntry]:
    """Return the lines that would bring a ledger (None: an empty one) to a settlement.

    Args:
        ledger: an open ledger.
        settlement: what is due.
        book: makes payee references.
        allowed: the reason for which changes of old evidence are corrections.

    Raises:
        Refusal: as draft and check_disputes.
    """
    drafted = draft(ledger, settlement, book, allowed)
    check_disputes(drafted, settlement)
    return drafted.lines


def draft(ledger: Ledger | None, settlement: Settlement, book: PayeeBook, allowed: str = "") -> Draft:
    """Draft the lines that would bring a ledger to a settlement.

    Raises:
        Refusal: as differences and rule_lines, one thing under two names, or sums beyond all pay.
    """
    held = ledger.holdings() if ledger else {}
    known = read_evidence(ledger.entries("evidence")) if ledger else {}
    _check_names(held, known, settlement)
    refs = _refs(held, settlement, book)
    lines = differences(targets(settlement.awards, refs), held)
    _check_sums(held, lines)
    moved = {_at(line) for line in lines}
    lowered = {_at(line) for line in lines if line.amount_minor < 0}
    settled = {key[:2] for key in held}
    changes = {
        place: found
        for place, one in settlement.evidence.items()
        if (found := _changes(known.get(place), one, takes_back=place in lowered, is_old=place in settled))
    }
    disputed = {place: found for place, found in changes.items() if place in moved}
    fresh = [
        evidence_line(place, one)
        for place, one in settlement.evidence.items()
        if known.get(place) != one and (place not in changes or allowed)
    ]
    holds = open_holds(ledger.entries("hold")) if ledger else set()
    doubted = {} if allowed else disputed
    posted = rule_lines(settlement, ledger.rules() if ledger else {})
    if disputed and allowed:
        posted.append(_correction(disputed, allowed))
    posted += fresh + lines
    posted += [
        hold_line(k, FREED) for k in sorted(holds) if k[:2] in settlement.evidence and k[:2] not in doubted
    ]
    return Draft(
        posted,
        {
            f"{place[0]!r}, round {place[1]!r}": [one.text for one in found]
            for place, found in doubted.items()
        },
        _holds(doubted, lines, holds),
    )


def check_disputes(drafted: Draft, settlement: Settlement) -> None:
    """Refuse to post what rests on evidence that is gone or is told otherwise.

    Raises:
        Refusal: a line an item.
    """
    if not drafted.disputed:
        return
    told = [f"item {item}: {'; '.join(texts)}" for item, texts in drafted.disputed.items()]
    money = [
        f"  {line.reviewer_id}, {line.item_id}, {line.kind}: "
        f"{format_amount(line.amount_minor, settlement.terms.rules[0].currency)} ({line.reason})"
        for line in drafted.lines
        if line.kind in ("base", "bonus", "penalty")
    ]
    raise Refusal(
        "pay would change because evidence is missing or altered; nothing is posted",
        *told[:SHOWN],
        *([f"... and {len(told) - SHOWN} more items"] if len(told) > SHOWN else []),
        *money[:SHOWN],
        hint="give all files of the first run, and all reviews of an item together; a correction that is "
        "meant is posted with --allow-corrections REASON",
    )


SHOWN = 20
"""Items and lines that a refusal names."""


def _changes(before: Evidence | None, now: Evidence, *, takes_back: bool, is_old: bool) -> list[Change]:
    if before is not None:
        return compare(before, now, takes_back=takes_back)
    if takes_back and is_old:
        return [Change(how="terms", text="an older ledger does not say what its pay rested on")]
    return []


def _at(line: LedgerEntry) -> Place:
    return line.item_id, line.round


def _holds(
    disputed: Mapping[Place, Sequence[Change]], lines: Sequence[LedgerEntry], held: set[HoldKey]
) -> list[LedgerEntry]:
    doubtful = {place for place, found in disputed.items() if any(one.how == "altered" for one in found)}
    keys = {(*_at(line), line.reviewer_id, line.payee_ref) for line in lines if _at(line) in doubtful}
    return [hold_line(key, HELD) for key in sorted(keys - held)]


def _correction(disputed: Mapping[Place, Sequence[Change]], allowed: str) -> LedgerEntry:
    told = {
        f"{place[0]}|{place[1]}": [one.text for one in found] for place, found in sorted(disputed.items())
    }
    return LedgerEntry(seq=0, kind="correction", reason=canonical({"why": allowed, "changes": told}))


def _check_names(
    held: Mapping[PayKey, Holding], known: Mapping[Place, Evidence], settlement: Settlement
) -> None:
    check_spelling("item", {*(key[0] for key in held), *(place[0] for place in settlement.evidence)})
    check_spelling(
        "reviewer", {*(key[2] for key in held), *(award.reviewer_id for award in settlement.awards)}
    )
    check_owners(dict(_owners(known)), _owners(settlement.evidence))


def _owners(evidence: Mapping[Place, Evidence]) -> Iterator[tuple[str, Owner]]:
    for place, one in evidence.items():
        for who, rows in one.reviews.items():
            yield from ((row.review_id, (*place, who)) for row in rows if row.review_id)


def _check_sums(held: Mapping[PayKey, Holding], lines: Sequence[LedgerEntry]) -> None:
    whole = sum(abs(one.amount_minor) for one in held.values()) + sum(
        abs(line.amount_minor) for line in lines
    )
    if whole > MOST_SUM_MINOR:
        raise Refusal("the sums of this ledger would be beyond all pay", hint="look at --base and --bonus")


def _refs(held: Mapping[PayKey, Holding], settlement: Settlement, book: PayeeBook) -> dict[str, str]:
    refs = {key[2]: holding.payee_ref for key, holding in held.items()}
    for reviewer_id, payee_id in sorted({(a.reviewer_id, a.payee_id or "") for a in settlement.awards}):
        if payee_id or reviewer_id not in refs:
            ref = book.ref(payee_id or reviewer_id)
            if refs.setdefault(reviewer_id, ref) != ref:
                raise Refusal(
                    f"reviewer {reviewer_id!r} stands in the ledger with another payee",
                    hint="pay out and begin a new ledger, or restore the payee",
                )
    return refs


@dataclass(frozen=True)
class Posting:
    """What one run added to a ledger."""

    lines: tuple[LedgerEntry, ...]
    head: Head


def post_to(path: Path, settlement: Settlement, allowed: str = "") -> Posting:
    """Bring the ledger at a path to a settlement, beginning it and its payee book where needed.

    A crash at any moment leaves the ledger as before or as after; the payee book may then
    know payees too many, never too few.

    Raises:
        InputError: an unusable file.
        Refusal: another currency or payee book, or as draft_lines; pay whose evidence was
            contradicted is held then.
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
            drafted = draft(ledger, settlement, book, allowed)
            if drafted.disputed:
                ledger.append(drafted.holds)
            else:
                if book != known:
                    write_book(book_path(path), book)
                ledger.append(drafted.lines)
        check_disputes(drafted, settlement)
        return Posting(tuple(drafted.lines), ledger.head())


def preview(path: Path, settlement: Settlement, allowed: str = "") -> list[LedgerEntry]:
    """Return the lines that post_to would append; write nothing.

    Raises:
        InputError: an unusable file.
        Refusal: as post_to.
    """
    if not path.exists():
        return draft_lines(None, settlement, PayeeBook(key="00"))  # no reference of it is kept
    book = read_book(book_path(path))
    with open_ledger(path) as ledger:
        _check_ledger(ledger, book, settlement.terms.rules[0].currency)
        return draft_lines(ledger, settlement, book, allowed)


def recall(
    path: Path, terms: Terms, findings: Sequence[Finding], places: set[Place]
) -> tuple[Terms, list[Finding]]:
    """Fill in what the ledger knows of a batch and this run does not say: deadline, penalty, findings.

    That a file or an option is not given again says nothing about the batch.

    Args:
        path: the ledger; it need not be there yet.
        terms: as given.
        findings: as given.
        places: items and rounds of this run.

    Raises:
        InputError: several deadlines could be the one of new items.
    """
    if not (path.exists() and path.stat().st_size):
        return terms, list(findings)
    with open_ledger(path) as ledger:
        known = read_evidence(ledger.entries("evidence"))
    given = {(one.item_id, one.round) for one in findings}
    kept = [one.finding for place, one in sorted(known.items()) if place in places - given and one.finding]
    deadlines = sorted({one.deadline for one in known.values() if one.deadline})
    if terms.deadline is None and len(deadlines) > 1 and places - known.keys():
        raise InputError(
            f"the ledger knows {len(deadlines)} deadlines, and item {min(places - known.keys())[0]!r} is new",
            hint="give its --deadline, and settle the items of another batch apart",
        )
    filled = replace(
        terms,
        registered={place: (one.deadline, one.penalty_minor) for place, one in known.items()},
        new_deadline=deadlines[0] if len(deadlines) == 1 else None,
    )
    return filled, [*findings, *kept]


def _check_ledger(ledger: Ledger, book: PayeeBook, currency: str) -> None:
    check_book(book, ledger.key_check)
    if ledger.currency != currency:
        raise Refusal(
            f"{ledger.name}: a ledger of {ledger.currency}, not {currency}", hint="use one ledger a currency"
        )


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
