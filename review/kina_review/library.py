"""The review side as a library: the functions behind `import kina_build`, on records and paths.

Amounts are texts or decimals in major units ("2.00"); what comes back has a `report` of plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from kina_review import intake
from kina_review.instants import read_end
from kina_review.money import parse_pay
from kina_review.pay.auditing.auditor import Files
from kina_review.pay.auditing.auditor import audit as audit_entries
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.options import PlanOptions
from kina_review.pay.paying import Planned
from kina_review.pay.paying import plan_payments as plan_files
from kina_review.pay.providers.files import Provider
from kina_review.pay.providers.reconciling import reconcile_list
from kina_review.pay.settling import Settled
from kina_review.records import Finding, Grade, Id, Review
from kina_review.rubric import ReviewRules
from kina_review.tournament.decisions import decide_items
from kina_review.tournament.payrules import RuleRow, pay_rule, usual_penalty
from kina_review.tournament.settlement import Terms
from kina_review.tournament.settlement import settle as settle_rows

RULES = ReviewRules()


class PayRule(RuleRow):
    """What a review earns: base, bonus, bar and tie rule, amounts in major units of one currency."""

    version: Id = "1"


def read_reviews(*paths: Path | str) -> list[Review]:
    """Read reviews: reviews.jsonl, tables, or exports of Label Studio, Argilla, doccano and Prodigy.

    Raises:
        InputError: unreadable file, no rows, a reviewer with two payees.
        RowErrors: rows that are no reviews.
    """
    return intake.settle_payees(intake.read_reviews([Path(path) for path in paths]).records)


def settle(
    reviews: Sequence[Review],
    rule: PayRule | Sequence[PayRule],
    *,
    scores: Sequence[Grade] = (),
    findings: Sequence[Finding] = (),
    deadline: datetime | str | None = None,
    penalty: str | Decimal | None = None,
    seed: int = 0,
    disciplines: Mapping[str, str] | None = None,
    rules: ReviewRules = RULES,
) -> Settled:
    """Turn reviews and their scores into awards with reasons, and decisions on items (paper, section 3.2).

    Args:
        reviews: rows as they came, complete or not, in any order.
        rule: what a review earns; several have dates.
        scores: grades from a file of their own; they go before scores in the reviews.
        findings: what audits found.
        deadline: last instant in time (UTC); None leaves contests open that lack a review.
        penalty: taken for an item that fails its audit, major units; None is as the rules have it.
        seed: of coins and odd minor units of ties.
        disciplines: item to its discipline, where rules have one.
        rules: the numbers of table [review].

    Returns:
        Awards, contests, decisions; `post(ledger)` posts what is not yet posted.

    Raises:
        InputError: scores or findings that fit no review.
        Refusal: money cannot be settled without more knowledge.
    """
    terms = tuple(pay_rule(one, "rule") for one in ([rule] if isinstance(rule, PayRule) else rule))
    currency = terms[0].currency if terms else rules.currency
    told = Terms(
        rules=terms,
        seed=seed,
        deadline=read_end(deadline, "deadline") if isinstance(deadline, str) else deadline,
        penalty_minor=None if penalty is None else parse_pay(penalty, currency, "penalty"),
        usual_penalty_minor=usual_penalty(currency, rules),
        disciplines=disciplines or {},
    )
    done = settle_rows(reviews, told, grades=scores, findings=findings, numbers=rules)
    return Settled(done, decide_items(done.counted, findings, rules), {}, [])


def plan_payments(
    ledger: Path | str,
    output: Path | str,
    *,
    provider: Provider = "csv",
    payees: Sequence[Path] = (),
    cap: str | None = None,
    dry_run: bool = False,
    rules: ReviewRules = RULES,
) -> Planned:
    """Plan the payment of all that a ledger owes; `write()` on the result writes the provider's files.

    Planned again before anything was sent, it is the same batch.

    Args:
        ledger: its file.
        output: payment file; with a number if a provider needs several.
        provider: whose payment file to write.
        payees: accounts at the provider.
        cap: most that one payee may get, major units.
        dry_run: leave the ledger as it is.
        rules: the numbers of table [review].

    Raises:
        InputError: an unreadable file or a bad amount.
        Refusal: payments of an earlier batch are under way, or an account is missing.
    """
    options = PlanOptions(
        ledger=Path(ledger),
        output=Path(output),
        provider=provider,
        payees=tuple(payees),
        cap=cap,
        dry_run=dry_run,
    )
    return plan_files(options, rules.per_request, lambda _files: None)


def reconcile(
    ledger: Path | str,
    provider_list: Path | str,
    *,
    batch: str | None = None,
    payees: Sequence[Path] = (),
    complete: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Settle a batch of payments by the provider's own list of it; see `reconcile_list`.

    Raises:
        InputError: an unreadable file.
        Refusal: no such batch, several under way, or a ledger that was changed.
    """
    return reconcile_list(
        Path(ledger), batch, Path(provider_list), payees, complete=complete, dry_run=dry_run
    )


@dataclass(frozen=True)
class LedgerAudit:
    """What of a ledger does not follow from its files; truthy when all does."""

    faults: tuple[str, ...]
    lines: int
    head: str

    def __bool__(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        return "\n".join((*self.faults, f"{self.lines} lines, {len(self.faults)} that do not follow"))

    @property
    def report(self) -> dict[str, Any]:
        """Return faults and length as plain values."""
        return {"lines": self.lines, "faults": list(self.faults), "ledger_head": self.head}


def audit(
    ledger: Path | str,
    reviews: Sequence[Review],
    *,
    scores: Sequence[Grade] = (),
    findings: Sequence[Finding] = (),
    disciplines: Mapping[str, str] | None = None,
    rules: ReviewRules = RULES,
) -> LedgerAudit:
    """Derive every sum of a ledger again from its reviews and its registered terms, by other code.

    Raises:
        InputError: no such ledger.
        Refusal: its chain is broken.
    """
    with open_ledger(Path(ledger)) as book:
        faults = audit_entries(book.entries(), Files(reviews, scores, findings, rules, disciplines or {}))
        return LedgerAudit(tuple(faults), book.head().count, str(book.head()))
