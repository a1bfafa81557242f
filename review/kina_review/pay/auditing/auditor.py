"""Each sum and reason of the ledger derived again from files and registered terms, by code of its own.

Nothing of the settlement is used here: who counts, who wins and what that pays is worked out a
second time, in another way, from the same tables. Payments are walked line by line: each step must
follow, and nothing may be planned that was not owed then.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from kina_review.pay.auditing.payments import walk_payments
from kina_review.pay.auditing.reasons import Case, compare_reasons, derive_reasons
from kina_review.pay.auditing.rules import PLACES, Work, derive_prizes, wrong_rule, wrong_scarcity
from kina_review.payrecords import LedgerEntry
from kina_review.records import Finding, Grade, Review
from kina_review.rubric import ReviewRules, weighted

Place = tuple[str, str]
Key = tuple[str, str, str, str]
"""item_id, round, reviewer_id, kind."""


@dataclass(frozen=True)
class Files:
    """What the ledger must follow from."""

    reviews: Sequence[Review]
    grades: Sequence[Grade] = ()
    findings: Sequence[Finding] = ()
    numbers: ReviewRules = ReviewRules()
    disciplines: Mapping[str, str] = field(default_factory=dict)
    """Item to its discipline."""
    work: Sequence[Work] = ()
    """Items and reviewers of each discipline, where pay went by the rule of scarcity."""


@dataclass(frozen=True)
class Facts:
    """Grades by review and findings by place."""

    grades: Mapping[tuple[str, str, str], Sequence[Grade]]
    findings: Mapping[Place, Finding]
    numbers: ReviewRules
    begun: Mapping[str, datetime] = field(default_factory=dict)
    """Item to the first review that counts of its first round: all its rounds go by the rule of then."""
    disciplines: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Books:
    """What the ledger says, sorted."""

    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    terms: dict[Place, dict[str, Any]] = field(default_factory=dict)
    """Item and round to its deadline and penalty."""
    sums: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    lines: dict[Key, list[LedgerEntry]] = field(default_factory=lambda: defaultdict(list))
    versions: dict[Place, str] = field(default_factory=dict)
    """Item and round to the rule that its first line names."""


def audit(entries: Iterable[LedgerEntry], files: Files) -> list[str]:
    """Return a sentence for each line, sum or payment that does not follow; empty: all does."""
    everything = list(entries)
    books = _sort(everything)
    facts = Facts(
        _by_review(files.grades),
        {(one.item_id, one.round): one for one in files.findings},
        files.numbers,
        _begun(files.reviews, books),
        files.disciplines,
    )
    due: dict[Key, int] = {}
    why: dict[Key, str] = {}
    faults: list[str] = []
    for place, rows in _by_place(files.reviews).items():
        earned, reasons, fault = _derive(place, rows, facts, books)
        due |= earned
        why |= reasons
        faults += [fault] if fault else []
    faults += _compare(due, books)
    # where a sum is wrong, its reason is too
    told = faults or compare_reasons(why, books.lines, due)
    dearer = wrong_scarcity(books.rules, files.work, Fraction(files.numbers.scarcity_most))
    return [*told, *dearer, *_refs(everything), *walk_payments(everything)]


def _sort(entries: Iterable[LedgerEntry]) -> Books:
    books = Books()
    for entry in entries:
        if entry.kind == "rule":
            books.rules[entry.rule] = json.loads(entry.reason)
        elif entry.kind == "evidence":
            books.terms[entry.item_id, entry.round] = json.loads(entry.reason)
        elif entry.kind in ("base", "bonus", "penalty", "grading"):
            key = (entry.item_id, entry.round, entry.reviewer_id, entry.kind)
            books.sums[key] += entry.amount_minor
            books.lines[key].append(entry)
            books.versions.setdefault(key[:2], entry.rule)
    return books


def _begun(reviews: Iterable[Review], books: Books) -> dict[str, datetime]:
    found: dict[str, tuple[tuple[int, str], datetime]] = {}
    for (item_id, round_), rows in _by_place(reviews).items():
        deadline = books.terms.get((item_id, round_), {}).get("deadline")
        moments = [row.submitted_at for row in _counted(rows, deadline) if row.submitted_at is not None]
        order = (len(round_), round_)
        if moments and (item_id not in found or order < found[item_id][0]):
            found[item_id] = (order, min(moments))
    return {item_id: moment for item_id, (_, moment) in found.items()}


def _by_place(reviews: Iterable[Review]) -> dict[Place, list[Review]]:
    found: dict[Place, list[Review]] = defaultdict(list)
    for review in reviews:
        found[review.item_id, review.round].append(review)
    return dict(sorted(found.items()))


def _derive(
    place: Place, rows: Sequence[Review], facts: Facts, books: Books
) -> tuple[dict[Key, int], dict[Key, str], str]:
    """Work out what the reviewers of one item earn; a sentence says why that cannot be done."""
    version = books.versions.get(place, "")
    if version not in books.rules:
        return (
            {},
            {},
            f"item {place[0]!r}, round {place[1]!r}: nothing of it is posted under a registered rule",
        )
    rule, terms = books.rules[version], books.terms.get(place, {})
    counted = _counted(rows, terms.get("deadline"))
    earned = {(*place, row.reviewer_id, kind): 0 for row in rows for kind in ("base", "bonus", "penalty")}
    for review in counted:
        earned[*place, review.reviewer_id, "base"] = int(rule["base_minor"])
    finding = facts.findings.get(place)
    scores = {review.reviewer_id: _score(review, facts) for review in counted}
    for who, minor in derive_prizes(place[0], scores, finding, rule).items():
        earned[*place, who, "bonus"] = minor
    for review in counted:
        if finding and finding.flawed and finding.flaw not in {flaw.kind for flaw in review.flaws}:
            most = sum(earned[*place, review.reviewer_id, kind] for kind in ("base", "bonus"))
            earned[*place, review.reviewer_id, "penalty"] = -min(most, int(terms.get("penalty_minor") or 0))
    for who, graded in _gradings(place, rows, facts).items():
        if minor := graded * int(rule.get("grade_minor", 0)):
            earned[*place, who, "grading"] = minor
    last = _moment(terms["deadline"]) if terms.get("deadline") else None
    why = derive_reasons(place, Case(rows, counted, scores, finding, rule, last))
    begun, discipline = facts.begun.get(place[0]), facts.disciplines.get(place[0])
    return earned, why, wrong_rule(place, version, begun, discipline, books.rules)


def _counted(rows: Sequence[Review], deadline: str | None) -> list[Review]:
    """Return the reviews that count: whole, in time, by their signer; one a reviewer, two an item."""
    last = datetime.fromisoformat(deadline) if deadline else None
    whole = [row for row in rows if _is_whole(row, last)]
    whole.sort(key=lambda row: (row.submitted_at is None, row.submitted_at or 0, row.reviewer_id))
    first: dict[str, Review] = {}
    for row in whole:
        first.setdefault(row.reviewer_id, row)
    persons = [row.payee_id or row.reviewer_id for row in first.values()]
    return [row for row in first.values() if persons.count(row.payee_id or row.reviewer_id) == 1][:PLACES]


def _is_whole(row: Review, last: datetime | None) -> bool:
    if row.status != "submitted" or (row.updated_by or row.reviewer_id) != row.reviewer_id:
        return False
    if row.submitted_at is None:
        return row.review_score is not None or bool(row.ratings) or row.verdict is not None
    return last is None or row.submitted_at <= last


def _by_review(grades: Iterable[Grade]) -> dict[tuple[str, str, str], list[Grade]]:
    found: dict[tuple[str, str, str], list[Grade]] = defaultdict(list)
    for grade in grades:
        found[grade.item_id, grade.round, grade.reviewer_id].append(grade)
    return found


def _score(review: Review, facts: Facts) -> Fraction | None:
    graders: dict[str, Fraction] = {}
    for grade in facts.grades.get((review.item_id, review.round, review.reviewer_id), ()):
        if grade.review_score is not None:
            graders[grade.grader_id] = Fraction(grade.review_score)
        elif grade.marks:
            graders[grade.grader_id] = Fraction(weighted(grade.marks, facts.numbers))
    if graders:
        return sum(graders.values(), Fraction(0)) / len(graders)
    return None if review.review_score is None else Fraction(review.review_score)


def _gradings(place: Place, rows: Sequence[Review], facts: Facts) -> dict[str, int]:
    """Count the reviews of an item that each adjudicator graded."""
    pairs = {
        (grade.grader_id, who)
        for who in {row.reviewer_id for row in rows}
        for grade in facts.grades.get((*place, who), ())
        if grade.review_score is not None or grade.marks
    }
    return {name: sum(grader == name for grader, _ in pairs) for name, _ in pairs}


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _compare(due: Mapping[Key, int], books: Books) -> list[str]:
    faults = []
    for key in sorted(due.keys() | books.sums.keys()):
        item_id, round_, who, kind = key
        posted, wanted = books.sums.get(key, 0), due.get(key, 0)
        if posted != wanted:
            numbers = ", ".join(str(line.seq) for line in books.lines.get(key, ())) or "none"
            faults.append(
                f"lines {numbers}: {kind} of {who!r} on item {item_id!r}, round {round_!r} is {posted} minor "
                f"units, and the files give {wanted}"
            )
    return faults


def _refs(entries: Iterable[LedgerEntry]) -> list[str]:
    """Name lines that pay a reviewer's work to somebody else than the lines before."""
    seen: dict[str, str] = {}
    return [
        f"line {entry.seq}: {entry.reviewer_id!r} is paid to another payee than before"
        for entry in entries
        if entry.reviewer_id and seen.setdefault(entry.reviewer_id, entry.payee_ref) != entry.payee_ref
    ]
