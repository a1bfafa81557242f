"""A settlement into its ledger: begun where needed, previewed, and filled in by what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kina_build.errors import InputError, Refusal
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import check_begun, create_ledger, open_ledger
from kina_review.pay.book.seal import Head
from kina_review.pay.drafting import check_disputes, draft, draft_lines
from kina_review.pay.payees import PayeeBook, begin_book, book_path, check_book, read_book, write_book
from kina_review.payrecords import LedgerEntry
from kina_review.records import Finding
from kina_review.tournament.evidence import Place, read_evidence
from kina_review.tournament.settlement import Settlement, Terms


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
    check_begun(path)
    if path.exists() and path.stat().st_size:
        with open_ledger(path):
            pass  # beside what is no ledger no payee book is begun
        book = read_book(book_path(path))
    else:
        book = begin_book(book_path(path))
    currency = settlement.terms.rules[0].currency
    with create_ledger(path, currency, book.check) as ledger:
        _check_ledger(ledger, book, currency)
        with ledger.writing():
            known = read_book(book_path(path))
            book = known.with_payees(_payees(settlement))
            drafted = draft(ledger, settlement, book, allowed)
            if drafted.disputed:
                ledger.append(drafted.holds)
            else:
                if book != known:
                    write_book(book_path(path), book)
                ledger.append(drafted.lines)
        check_disputes(drafted, settlement)
        return Posting(tuple(drafted.lines), ledger.head())


def _payees(settlement: Settlement) -> set[str]:
    reviewers = {award.payee_id or award.reviewer_id for award in settlement.awards}
    return reviewers | {one.payee_id or one.grader_id for one in settlement.gradings}


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
