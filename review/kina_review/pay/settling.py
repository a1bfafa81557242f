"""A batch from its files to awards, decisions and lines of the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kina_build.errors import UsageError
from kina_build.rows.jsonl import read_document, write_records
from kina_build.rows.tables import read_typed, write_csv
from kina_review import intake
from kina_review.instants import read_end
from kina_review.money import format_amount, parse_pay
from kina_review.pay import posting
from kina_review.pay.audit import read_draws, undrawn
from kina_review.pay.auditing.auditor import Files, audit
from kina_review.pay.batch import need
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.book.seal import key_path, mark_path
from kina_review.pay.options import AuditOptions
from kina_review.pay.payees import book_path
from kina_review.payrecords import Award, LedgerEntry, PayRule
from kina_review.records import Audit, Contest, Decision, Finding
from kina_review.rubric import ReviewRules
from kina_review.tournament.decisions import decide_items
from kina_review.tournament.options import SettleOptions
from kina_review.tournament.payrules import build_pay_rule, read_pay_rules, usual_penalty
from kina_review.tournament.scarcity import DisciplineRow, read_disciplines, scarce_rules, scarcity
from kina_review.tournament.settlement import Settlement, Terms, settle

POSTED = ("base", "bonus", "penalty", "grading")
"""Kinds of lines that a settlement posts for people."""


def beside(ledger: Path) -> list[Path]:
    """Return the private files beside a ledger: no output may be one of them."""
    return [book_path(ledger), key_path(ledger), mark_path(ledger)]


@dataclass(frozen=True)
class Settled:
    """A batch that was settled, with what a person should be warned of."""

    settlement: Settlement
    decisions: Sequence[Decision]
    ignored: Mapping[str, Sequence[str]]
    """File to the columns of it that were not read."""
    undrawn: list[str]
    """Items with a finding that no draw shows."""
    posted: Sequence[LedgerEntry] | None = None
    """Lines that were, or would be, posted; None without a ledger."""
    head: str | None = None

    @property
    def awards(self) -> tuple[Award, ...]:
        """Return what each reviewer earns on each item."""
        return self.settlement.awards

    @property
    def contests(self) -> tuple[Contest, ...]:
        """Return the comparison of each item's two reviews."""
        return self.settlement.contests

    def __str__(self) -> str:
        """Return what is due in a line."""
        totals = self.report["totals"]
        due = format_amount(totals["total_minor"], totals["currency"])
        return f"{due} {totals['currency']} due for {len(self.awards)} reviews of {len(self.contests)} items"

    def post(self, ledger: Path | str, allow_corrections: str = "") -> Settled:
        """Post what a ledger does not hold yet, and begin it where there is none; safe to repeat.

        Args:
            ledger: its file.
            allow_corrections: the reason for which pay may change whose evidence is missing or altered.

        Raises:
            InputError: no ledger, or one that is damaged.
            Refusal: pay would change because evidence is missing or altered.
        """
        done = posting.post_to(Path(ledger), self.settlement, allow_corrections)
        return replace(self, posted=done.lines, head=str(done.head))

    def preview(self, ledger: Path | str, allow_corrections: str = "") -> Settled:
        """Return what `post` would post; as it, but nothing is written."""
        return replace(self, posted=posting.preview(Path(ledger), self.settlement, allow_corrections))

    @property
    def taken_back(self) -> int:
        """Count payables that are taken back because their reviews are not in the files."""
        return sum(line.reason == "withdrawn" for line in self._lines())

    def _lines(self) -> list[LedgerEntry]:
        return [line for line in self.posted or () if line.kind in POSTED]

    @property
    def report(self) -> dict[str, Any]:
        """Return awards, totals, contests, decisions and posted lines as plain values."""
        done = self.settlement
        base = sum(award.base_minor for award in done.awards)
        bonus = sum(award.bonus_minor for award in done.awards)
        penalty = sum(award.penalty_minor for award in done.awards)
        gradings = sum(one.amount_minor for one in done.gradings)
        more = {"grading_minor": gradings} if done.gradings else {}
        keys = {"item_id", "round", "reviewer_id", "kind", "amount_minor", "reason", "rule"}
        posted = None if self.posted is None else [line.model_dump(include=keys) for line in self._lines()]
        return {
            "awards": [award.model_dump(exclude={"payee_id"}) for award in done.awards],
            **({"gradings": [asdict(one) for one in done.gradings]} if done.gradings else {}),
            "tie_rate": done.tie_rate,
            "totals": {
                "currency": done.terms.rules[0].currency,
                "base_minor": base,
                "bonus_minor": bonus,
                "penalty_minor": penalty,
                **more,
                "total_minor": base + bonus + penalty + gradings,
            },
            "contests": done.statuses,
            "decisions": dict(sorted(Counter(decision.decision for decision in self.decisions).items())),
            "items_with_opinions": sum(bool(decision.opinions) for decision in self.decisions),
            "set_aside": [row.model_dump() for row in done.set_aside],
            "ignored_columns": {name: list(columns) for name, columns in self.ignored.items()},
            "terms": echo_terms(done.terms),
            "undrawn": self.undrawn,
            "posted": posted,
            "ledger_head": self.head,
        }


def terms_of(options: SettleOptions, numbers: ReviewRules = ReviewRules()) -> Terms:
    """Return the terms that a batch is settled by: rules, seed, deadline, penalty.

    Raises:
        InputError: a bad amount, bar, currency or table of rules.
        UsageError: no reviews, two sources of one term, or a deadline that is no instant.
    """
    if not options.reviews:
        raise UsageError("no reviews are given", hint="--reviews FILE, or a --batch file that names them")
    rules = _pay_rules(options, numbers)
    if options.scarcity is not None:
        rules = scarce_rules(rules, scarcity(read_typed(options.scarcity, DisciplineRow), numbers))
    currency, penalty = rules[0].currency, options.penalty
    return Terms(
        rules=tuple(rules),
        seed=options.seed or 0,
        deadline=None if options.deadline is None else read_end(options.deadline, "--deadline"),
        penalty_minor=None if penalty is None else parse_pay(penalty, currency, "--penalty"),
        usual_penalty_minor=usual_penalty(currency, numbers),
        disciplines=_disciplines(options, rules),
    )


def _disciplines(options: SettleOptions, rules: Sequence[PayRule]) -> Mapping[str, str]:
    if options.items is None:
        return {}
    if not any(rule.discipline for rule in rules):
        raise UsageError(
            "--items says the items' disciplines, and no pay goes by them",
            hint="--scarcity makes scarce disciplines dearer; --rules may have a column discipline",
        )
    return read_disciplines(options.items)


def _pay_rules(options: SettleOptions, numbers: ReviewRules) -> Sequence[PayRule]:
    names = ("base", "bonus", "grade_pay", "currency", "bar", "tie")
    given = {key: getattr(options, key) for key in names}
    if options.rules is None:
        return [build_pay_rule("1" if options.rule_version is None else options.rule_version, given, numbers)]
    clash = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if clash:
        raise UsageError(f"--rules already says what {', '.join(clash)} would say")
    return read_pay_rules(options.rules)


def echo_terms(terms: Terms) -> dict[str, Any]:
    """Return terms as plain values."""
    return {
        "rules": [rule.terms() for rule in terms.rules],
        "seed": terms.seed,
        "deadline": terms.deadline.isoformat() if terms.deadline else None,
        "penalty_minor": terms.usual_penalty_minor if terms.penalty_minor is None else terms.penalty_minor,
    }


def settle_files(options: SettleOptions, terms: Terms, numbers: ReviewRules = ReviewRules()) -> Settled:
    """Settle a batch from its files; what its ledger knows and they do not say is filled in.

    Raises:
        InputError: unreadable files, or rows that fit no review.
        Refusal: money cannot be settled without more knowledge, or a finding on an item not drawn.
    """
    table = intake.read_reviews(options.reviews)
    grades = intake.read_grades(options.scores) if options.scores else None
    found = intake.read_findings(options.findings) if options.findings else None
    sources = ((options.reviews, table), (options.scores, grades), (options.findings, found))
    ignored = {
        ", ".join(map(str, paths)): part.ignored
        for paths, part in sources
        if part is not None and part.ignored
    }
    rows = intake.settle_payees(table.records)
    findings: Sequence[Finding] = found.records if found else ()
    missing = _check_draw(options.draw, options.ledger, findings)
    if options.ledger:
        places = {(row.item_id, row.round) for row in rows}
        terms, findings = posting.recall(options.ledger, terms, findings, places)
    done = settle(rows, terms, grades=grades.records if grades else (), findings=findings, numbers=numbers)
    return Settled(done, decide_items(done.counted, findings, numbers), ignored, missing)


def _check_draw(draw: Path | None, ledger: Path | None, findings: Sequence[Finding]) -> list[str]:
    """Hold findings against the draw given and those of the ledger; return the items that none shows."""
    draws = [read_document(draw, Audit)] if draw else []
    if ledger and ledger.exists() and ledger.stat().st_size:
        with open_ledger(ledger) as book:
            draws += read_draws(book)
    return undrawn(draws, findings)


def write_outputs(done: Settled, options: SettleOptions) -> None:
    """Write contests, decisions and awards where the options name files for them."""
    if options.contests:
        write_records(options.contests, done.settlement.contests)
    if options.decisions:
        write_records(options.decisions, done.decisions)
    if options.awards:
        columns = ["item_id", "round", "reviewer_id", "base_minor", "bonus_minor", "penalty_minor", "reason"]
        write_csv(options.awards, columns, (award.model_dump() for award in done.settlement.awards))


def audit_files(options: AuditOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Audit a ledger against the files that it was settled by; return the report.

    Raises:
        InputError: an unreadable file.
        UsageError: no ledger or no reviews are named.
    """
    ledger = need(options.ledger, "ledger")
    if not options.reviews:
        raise UsageError("--reviews is missing", hint="--reviews FILE, or a --batch-file that names them")
    files = Files(
        intake.settle_payees(intake.read_reviews(options.reviews).records),
        intake.read_grades(options.scores).records if options.scores else (),
        intake.read_findings(options.findings).records if options.findings else (),
        rules,
        read_disciplines(options.items) if options.items else {},
        read_typed(options.scarcity, DisciplineRow) if options.scarcity else (),
    )
    with open_ledger(ledger) as book:
        faults = audit(book.entries(), files)
        return {"lines": book.head().count, "faults": faults, "ledger_head": str(book.head())}
