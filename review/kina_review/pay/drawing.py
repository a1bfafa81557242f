"""An audit from its files: the commitment, the draw, and what its findings amount to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, UsageError
from kina_build.jsonl import read_document, read_records, read_text
from kina_build.manifest import Manifest
from kina_build.tables import need_rows
from kina_review.intake import read_findings, read_reviews
from kina_review.pay.assessment import check_findings, flaw_rate, judge_all
from kina_review.pay.audit import approved_items, check_first, commit, commit_all, draw, register_draw
from kina_review.records import Audit, Decision
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
    approved = approved_items(read_records(options.decisions, Decision))
    batch = _read_ids(options.items) if options.items else ()
    audit = draw(approved, seed, share, options.commitment, batch)
    check_first(audit, _drawn_before(options.output))
    if options.ledger:
        register_draw(options.ledger, audit)
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
        UsageError: it is no number.
    """
    try:
        return rules().audit_rate if rate is None else Decimal(rate)
    except InvalidOperation:
        raise UsageError(f"--rate {rate!r} is not a number") from None


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
