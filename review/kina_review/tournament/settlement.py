"""The tournament over all items: rows to counted reviews, contests and awards, each with its reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from kina_build.errors import InputError
from kina_review.payrecords import Award, PayRule
from kina_review.records import Contest, ContestStatus, Finding, Grade, Reason, Review, SetAside
from kina_review.rubric import REVIEWS_PER_ITEM, ReviewRules
from kina_review.tournament.contest import Outcome, average_grades, compare_audited, print_score, score_of
from kina_review.tournament.decisions import round_order
from kina_review.tournament.evidence import Evidence, gather
from kina_review.tournament.gradings import Grading, pay_gradings
from kina_review.tournament.payrules import check_rules, rule_at, rule_of
from kina_review.tournament.scarcity import check_disciplines
from kina_review.tournament.screening import Desk, check_reviews, screen


@dataclass(frozen=True)
class Terms:
    """Everything but reviews, grades and findings that decides what is paid."""

    rules: tuple[PayRule, ...]
    """One pay rule, or several with dates: the one in force at a contest's first submission governs it."""
    seed: int = 0
    """Breaks ties and places odd units."""
    deadline: datetime | None = None
    """Last instant in time, inclusive; with it, a missing review ends a contest."""
    penalty_minor: int | None = None
    """Taken for an item that fails its audit from each of its reviewers."""
    registered: Mapping[tuple[str, str], tuple[datetime | None, int | None]] = field(default_factory=dict)
    """Deadline and penalty that the ledger holds for an item and round: used where none is given here."""
    new_deadline: datetime | None = None
    """The deadline of the ledger's batch, for items that it does not know yet."""
    usual_penalty_minor: int | None = 0
    """Where neither these terms nor the ledger name a penalty; None: it is in another currency."""
    disciplines: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Item to its discipline, where rules pay by it."""

    def deadline_at(self, place: tuple[str, str]) -> datetime | None:
        """Return the deadline of an item and round."""
        if self.deadline is not None:
            return self.deadline
        return self.registered[place][0] if place in self.registered else self.new_deadline

    def penalty_at(self, place: tuple[str, str]) -> int | None:
        """Return what a failed audit of an item and round costs; None: nobody said it in this currency."""
        if self.penalty_minor is not None:
            return self.penalty_minor
        known = self.registered[place][1] if place in self.registered else None
        return self.usual_penalty_minor if known is None else known


@dataclass(frozen=True)
class Settlement:
    """All awards of a set of reviews, with what did not count and the parameters used."""

    awards: tuple[Award, ...]
    """By item, round and reviewer; zero awards included."""
    contests: tuple[Contest, ...]
    set_aside: tuple[SetAside, ...]
    terms: Terms
    counted: dict[tuple[str, str], list[Review]] = field(repr=False)
    """(item_id, round) to the reviews that count: what decisions on items rest on."""
    evidence: dict[tuple[str, str], Evidence] = field(repr=False)
    """(item_id, round) to all that decided its pay."""
    gradings: tuple[Grading, ...] = ()
    """What adjudicators earn, where the rules pay them."""

    @property
    def tie_rate(self) -> float | None:
        """Return ties at or above the bar as a share of the contests decided; None without any."""
        decided = [contest for contest in self.contests if contest.status == "decided"]
        return sum(contest.tied for contest in decided) / len(decided) if decided else None

    @property
    def statuses(self) -> dict[str, int]:
        """Count contests by status."""
        return dict(sorted(Counter(contest.status for contest in self.contests).items()))


def settle(
    reviews: Sequence[Review],
    terms: Terms,
    *,
    grades: Sequence[Grade] = (),
    findings: Sequence[Finding] = (),
    numbers: ReviewRules = ReviewRules(),
) -> Settlement:
    """Settle all contests; a pure function of its arguments, whatever the order of rows.

    Args:
        reviews: rows as they came, complete or not.
        terms: rules, seed, deadline, penalty.
        grades: scores from a file of their own; they go before scores in the reviews.
        findings: what audits found.
        numbers: the [review] page.

    Raises:
        InputError: grades or findings that fit no review, or scores off the step.
        Refusal: money cannot be settled without more knowledge, or one thing stands under two names.
    """
    check_rules(terms.rules)
    check_reviews(reviews)
    check_disciplines(terms.rules, terms.disciplines, {review.item_id for review in reviews})
    graded = average_grades(reviews, grades, numbers)
    found = _by_place(findings, reviews)
    desks = screen(reviews, terms.deadline_at)
    awards: list[Award] = []
    contests: list[Contest] = []
    rules: dict[tuple[str, str], PayRule] = {}
    begun = _first_rounds(desks)
    for place, desk in desks.items():
        # what is reviewed anew is reviewed under the bar and pay of its first round
        first = begun.get(place[0], desk)
        rule = _rule(terms, place[0], first)
        rules[place] = rule
        scores = {review.reviewer_id: score_of(review, graded, numbers) for review in desk.reviews}
        status, outcome = _hold(place, scores, found.get(place), rule, terms)
        contest = Contest(
            item_id=place[0],
            round=place[1],
            rule=rule.name,
            status=status,
            scores={who: print_score(score) for who, score in scores.items() if score is not None},
            winners=outcome.winners,
            tied=outcome.tied,
        )
        contests.append(contest)
        awards += _award(
            contest, outcome, desk, rule=rule, finding=found.get(place), penalty_minor=terms.penalty_at(place)
        )
    aside = [row for desk in desks.values() for row in desk.set_aside]
    aside.sort(key=lambda row: (row.item_id, row.round, row.reviewer_id, row.review_id or "", row.reason))
    counted = {place: desk.reviews for place, desk in desks.items()}
    evidence = {
        place: one.model_copy(
            update={"deadline": terms.deadline_at(place), "penalty_minor": terms.penalty_at(place)}
        )
        for place, one in gather(reviews, grades, found).items()
    }
    gradings = pay_gradings(grades, reviews, rules)
    return Settlement(tuple(awards), tuple(contests), tuple(aside), terms, counted, evidence, gradings)


def _hold(
    place: tuple[str, str],
    scores: Mapping[str, Fraction | None],
    finding: Finding | None,
    rule: PayRule,
    terms: Terms,
) -> tuple[ContestStatus, Outcome]:
    graded = {reviewer: score for reviewer, score in scores.items() if score is not None}
    if len(graded) == REVIEWS_PER_ITEM:
        failed = finding.failed if finding else ()
        return "decided", compare_audited(place[0], graded, failed, rule, terms.seed)
    if len(scores) < REVIEWS_PER_ITEM and terms.deadline_at(place) is not None:
        return "no_contest", _without_bonus(scores, "no_contest")
    return "open", _without_bonus(scores, "contest_incomplete")


def _without_bonus(reviewers: Iterable[str], reason: Reason) -> Outcome:
    names = list(reviewers)
    return Outcome(dict.fromkeys(names, 0), dict.fromkeys(names, reason))


def _award(
    contest: Contest,
    outcome: Outcome,
    desk: Desk,
    *,
    rule: PayRule,
    finding: Finding | None,
    penalty_minor: int | None,
) -> list[Award]:
    rows: dict[str, dict[str, Any]] = {
        who: {"base_minor": 0, "bonus_minor": 0, "reason": why} for who, why in desk.absent.items()
    }
    for review in desk.reviews:
        who = review.reviewer_id
        bonus = outcome.bonus_minor[who]
        penalty = 0
        if _is_liable(review, finding):
            penalty = min(_said(penalty_minor, rule.currency), rule.base_minor + bonus)
        rows[who] = {
            "base_minor": rule.base_minor,
            "bonus_minor": bonus,
            "penalty_minor": -penalty,
            "reason": outcome.reasons[who],
        }
    place = {"item_id": contest.item_id, "round": contest.round, "rule": contest.rule}
    return [
        Award(reviewer_id=who, payee_id=desk.payees[who], **place, **row) for who, row in sorted(rows.items())
    ]


def _said(penalty_minor: int | None, currency: str) -> int:
    if penalty_minor is None:
        raise InputError(
            f"an item failed its audit, and the usual penalty is not in {currency}",
            hint=f"give --penalty in {currency}; 0 takes nothing",
        )
    return penalty_minor


def _is_liable(review: Review, finding: Finding | None) -> bool:
    """Tell whether an audit's finding costs this reviewer: not whoever named the flaw."""
    if finding is None or not finding.flawed:
        return False
    return not any(flaw.kind == finding.flaw for flaw in review.flaws)


def _rule(terms: Terms, item_id: str, first: Desk) -> PayRule:
    discipline = terms.disciplines.get(item_id)
    if not first.reviews:
        return rule_of(terms.rules, terms.rules[0].version, discipline)
    return rule_at(terms.rules, _first_moment(first), discipline)


def _first_moment(desk: Desk) -> datetime | None:
    times = [review.submitted_at for review in desk.reviews]
    return None if None in times else min(time for time in times if time is not None)


def _first_rounds(desks: Mapping[tuple[str, str], Desk]) -> dict[str, Desk]:
    """Return what lay on the desk in each item's first round that has a review."""
    first: dict[str, tuple[str, Desk]] = {}
    for (item_id, round_), desk in desks.items():
        if desk.reviews and (item_id not in first or round_order(round_) < round_order(first[item_id][0])):
            first[item_id] = (round_, desk)
    return {item_id: desk for item_id, (_, desk) in first.items()}


def _by_place(findings: Sequence[Finding], reviews: Sequence[Review]) -> dict[tuple[str, str], Finding]:
    found: dict[tuple[str, str], Finding] = {}
    reviewers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for review in reviews:
        reviewers[review.item_id, review.round].add(review.reviewer_id)
    for finding in findings:
        place = (finding.item_id, finding.round)
        if place not in reviewers:
            raise InputError(
                f"an audit finding on item {finding.item_id!r}, round {finding.round!r}, of which there "
                "is no review",
                hint="ids must be equal letter for letter; give the findings of this batch only",
            )
        if found.setdefault(place, finding) != finding:
            raise InputError(f"two audit findings on item {finding.item_id!r} differ")
        strangers = sorted(set(finding.failed) - reviewers[place])
        if strangers:
            raise InputError(
                f"the audit fails {strangers[0]!r} on item {finding.item_id!r}, who has no review there"
            )
    return found
