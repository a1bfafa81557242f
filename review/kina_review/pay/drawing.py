"""An audit from its files: the commitment, the draw, and what its findings amount to.

A strike (Wald's sequential test, 1945) informs a person, who decides; it never blocks pay by itself.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

from kina_build.errors import InputError, Refusal, UsageError
from kina_build.manifest import Manifest
from kina_build.rows.jsonl import read_document, read_text
from kina_build.rows.tables import need_rows
from kina_build.shares import bound_share
from kina_review.intake import read_decisions, read_findings, read_reviews
from kina_review.pay.audit import approved_items, check_first, commit, commit_all, draw, register_draw
from kina_review.records import Audit, Finding, Review
from kina_review.rubric import ReviewRules
from kina_review.tournament.options import SEED_VARIABLE, AssessOptions, CommitOptions, DrawOptions
from kina_review.tournament.screening import screen

Rules = Callable[[], ReviewRules]
"""Gives the rules, which are read only where an option does not say it all."""


def commit_to(options: CommitOptions, rules: Rules) -> str:
    """Return the commitment to a seed; with a list of items, to rate, items and rule too.

    Raises:
        InputError: a seed that could be guessed, or an unreadable file.
        UsageError: no seed, or a rate without items.
    """
    seed = _read_seed(options.seed_file)
    if options.items is None and options.rate is not None:
        raise UsageError("--rate is committed to together with --items")
    if options.items is None:
        return commit(seed)
    return commit_all(seed, read_share(options.rate, rules), _read_ids(options.items))


def draw_audit(options: DrawOptions, share: Decimal) -> Audit:
    """Draw the items to audit, once under a commitment, and register the draw where there is a ledger.

    Raises:
        InputError: an unreadable file, or an unusable seed or rate.
        Refusal: what was committed to is another, or a draw was made under it.
    """
    seed = _read_seed(options.seed_file)
    approved = approved_items(read_decisions(options.decisions).records)
    batch = _read_ids(options.items) if options.items else ()
    audit = draw(approved, seed, share, options.commitment, batch)
    check_first(audit, _drawn_before(options.output), approved)
    if options.ledger:
        register_draw(options.ledger, audit, approved)
    return audit


def assess_audit(options: AssessOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Return the flaw rate, each reviewer's record, and the drawn items still without a finding.

    Raises:
        InputError: an unreadable file.
        Refusal: a finding on an item that was not drawn.
    """
    found = read_findings(options.findings).records
    pending = check_findings(read_document(options.draw, Audit), found)
    desks = screen(read_reviews(options.reviews).records).values()
    counted = [review for desk in desks for review in desk.reviews]
    rate = flaw_rate(found, rules)
    return {
        "pending": pending,
        "flaw_rate": asdict(rate) if rate else None,
        "reviewers": [asdict(record) for record in judge_all(counted, found, rules)],
    }


def read_share(rate: str | None, rules: Rules) -> Decimal:
    """Return the share of items to audit, as given or as the rules have it.

    Raises:
        UsageError: it is no number from 0 to 1.
    """
    try:
        share = rules().audit_rate if rate is None else Decimal(rate)
    except InvalidOperation:
        raise UsageError(f"--rate {rate!r} is not a number") from None
    if not share.is_finite() or not 0 <= share <= 1:
        raise UsageError(f"--rate {rate!r} is no share of the items", hint="from 0 to 1, such as 0.1")
    return share


def _drawn_before(output: Path) -> list[Audit]:
    """Read the draws that manifests in the output's folder record."""
    found = []
    for path in sorted(output.parent.glob("*.manifest.json")):
        try:
            past = read_document(path, Manifest)
        except InputError:
            continue  # not ours
        if past.command == "review audit draw":
            found.append(Audit.model_validate(past.report))
    return found


def _read_ids(path: Path) -> list[str]:
    ids = [str(row.values.get("item_id") or row.values.get("id") or "") for row in need_rows(path)]
    if "" in ids:
        raise InputError(f"{path}: a row has neither item_id nor id")
    return ids


def _read_seed(path: Path | None) -> str:
    if path is not None:
        return read_text(path).strip()
    seed = os.environ.get(SEED_VARIABLE, "").strip()
    if not seed:
        raise UsageError(f"no audit seed: give --seed-file or set {SEED_VARIABLE}")
    return seed


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


Call = Literal["strike_out", "in_good_standing", "keep_watching"]


@dataclass(frozen=True)
class TrackRecord:
    """One reviewer's audits so far."""

    reviewer_id: str
    audited: int
    failed: int
    evidence: float
    """Log likelihood ratio of the unacceptable over the acceptable rate."""
    call: Call


def judge(reviewer_id: str, outcomes: Sequence[bool], rules: ReviewRules = ReviewRules()) -> TrackRecord:
    """Run the sequential test over a reviewer's audits, in order; True is a failed one.

    The first crossing of a boundary stands: later audits do not take it back.
    """
    failed_step = math.log(rules.strike_unacceptable / rules.strike_acceptable)
    passed_step = math.log((1 - rules.strike_unacceptable) / (1 - rules.strike_acceptable))
    edge = math.log((1 - rules.strike_error) / rules.strike_error)
    evidence = 0.0
    call: Call = "keep_watching"
    for failed in outcomes:
        evidence += failed_step if failed else passed_step
        if call == "keep_watching" and abs(evidence) >= edge:
            call = "strike_out" if evidence > 0 else "in_good_standing"
    return TrackRecord(reviewer_id, len(outcomes), sum(outcomes), evidence, call)


def judge_all(
    reviews: Sequence[Review], findings: Sequence[Finding], rules: ReviewRules = ReviewRules()
) -> list[TrackRecord]:
    """Judge every audited reviewer; audits count in the order of the findings.

    A reviewer fails on a flawed item unless they named its flaw, and where the finding
    says so.
    """
    outcomes: dict[str, list[bool]] = defaultdict(list)
    by_place: dict[tuple[str, str], list[Review]] = defaultdict(list)
    for review in reviews:
        by_place[review.item_id, review.round].append(review)
    for finding in findings:
        for review in by_place[finding.item_id, finding.round]:
            named = any(flaw.kind == finding.flaw for flaw in review.flaws)
            failed = review.reviewer_id in finding.failed or (finding.flawed and not named)
            outcomes[review.reviewer_id].append(failed)
    return [judge(reviewer_id, seen, rules) for reviewer_id, seen in sorted(outcomes.items())]
