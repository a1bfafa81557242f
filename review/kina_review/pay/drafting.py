"""From awards to ledger lines: only the difference between what is due and what is posted.

A second run over the same reviews drafts nothing, and new evidence drafts what it changes. What
rests on evidence that is gone, or is told otherwise now, waits for somebody to allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kina_build.errors import Refusal
from kina_build.rows.jsonl import canonical
from kina_review.money import MOST_SUM_MINOR, format_amount
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.differences import differences, rule_lines, targets
from kina_review.pay.payees import PayeeBook
from kina_review.pay.payments import FREED, HELD, HoldKey, hold_line, open_holds
from kina_review.payrecords import Holding, LedgerEntry, PayKey
from kina_review.spelling import check_rounds, check_spelling
from kina_review.tournament.decisions import round_order
from kina_review.tournament.evidence import (
    Change,
    Evidence,
    Place,
    compare,
    evidence_line,
    find_moved,
    read_evidence,
)
from kina_review.tournament.screening import EARNS_NOTHING, Owner, check_owners
from kina_review.tournament.settlement import Settlement


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
    check_spelling("payee", book.payees.values())
    refs = _refs(held, settlement, book)
    due = targets(settlement.awards, refs, settlement.gradings)
    _check_rounds(due, held)
    lines = differences(due, held)
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
        if line.kind in ("base", "bonus", "penalty", "grading")
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
        "reviewer",
        {
            *(key[2] for key in held),
            *(award.reviewer_id for award in settlement.awards),
            *(one.grader_id for one in settlement.gradings),
        },
    )
    check_rounds([*(key[:2] for key in held), *settlement.evidence])
    check_owners(dict(_owners(known)), _owners(settlement.evidence))
    moved = find_moved(known, settlement.evidence)
    if moved:
        (item, round_), (other, later) = moved
        raise Refusal(
            f"the reviews of item {other!r}, round {later!r} stand in the ledger under item {item!r}, round "
            f"{round_!r}: the same people handed them in at the same instants, and a review is paid once",
            hint="give the item the id it was first settled with; if they are other reviews, give each a "
            "review_id",
        )


def _owners(evidence: Mapping[Place, Evidence]) -> Iterator[tuple[str, Owner]]:
    for place, one in evidence.items():
        for who, rows in one.reviews.items():
            yield from ((row.review_id, (*place, who)) for row in rows if row.review_id)


def _check_rounds(due: Mapping[PayKey, Holding], held: Mapping[PayKey, Holding]) -> None:
    """Refuse to pay a later round of an item by another rule than its first."""
    first: dict[str, tuple[tuple[int, str, str], str]] = {}
    for (item_id, round_, _, _), holding in held.items():
        if holding.reason not in EARNS_NOTHING:
            first[item_id] = min(
                first.get(item_id, (round_order(round_), holding.rule)), (round_order(round_), holding.rule)
            )
    for (item_id, round_, _, _), holding in due.items():
        known, rule = first.get(item_id, (round_order(round_), holding.rule))
        if known < round_order(round_) and rule != holding.rule and holding.reason not in EARNS_NOTHING:
            raise Refusal(
                f"item {item_id!r}, round {round_!r} would be paid under rule {holding.rule}, and its first "
                f"round was under {rule}",
                hint="give the reviews of all its rounds together: then the first round's rule holds",
            )


def _check_sums(held: Mapping[PayKey, Holding], lines: Sequence[LedgerEntry]) -> None:
    whole = sum(abs(one.amount_minor) for one in held.values()) + sum(
        abs(line.amount_minor) for line in lines
    )
    if whole > MOST_SUM_MINOR:
        raise Refusal("the sums of this ledger would be beyond all pay", hint="look at --base and --bonus")


def _refs(held: Mapping[PayKey, Holding], settlement: Settlement, book: PayeeBook) -> dict[str, str]:
    refs = {key[2]: holding.payee_ref for key, holding in held.items()}
    people = sorted({(a.reviewer_id, a.payee_id or "") for a in settlement.awards})
    people += sorted({(one.grader_id, one.payee_id or "") for one in settlement.gradings})
    for reviewer_id, payee_id in people:
        if payee_id or reviewer_id not in refs:
            ref = book.ref(payee_id or reviewer_id)
            if refs.setdefault(reviewer_id, ref) != ref:
                raise Refusal(
                    f"reviewer {reviewer_id!r} stands in the ledger with another payee",
                    hint="pay out and begin a new ledger, or restore the payee",
                )
    return refs
