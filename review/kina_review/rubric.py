"""The review side's page of numbers: criteria, weights, bar, pay, audit. Table [review].

Where a number comes from the paper (KINA, arXiv 2606.05104) its section is named; the
others are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from kina_build.config import CONFIG_NAME, Section, Settings, check_section

Tie = Literal["split", "strict", "coin"]
"""Who gets the bonus of a tie at or above the bar: half each, nobody, or one by a seeded coin."""

Share = Annotated[Decimal, Field(ge=0, le=1)]
Amount = Annotated[Decimal, Field(ge=0)]
"""Money in major units, such as 2.00."""

REVIEWS_PER_ITEM = 2
"""The tournament is between two (paper, section 3.2)."""

TOP_RATING = 4
"""Ratings and grades run from 0 to this on every criterion (paper, App. C)."""


RESAMPLES = 1000
"""Bootstrap samples of items behind an interval."""
SHINGLE_WORDS = 3
"""Words of the runs that two rationales are compared by."""
LEAST_SEED_LENGTH = 16
"""Characters below which a seed could be guessed from its commitment."""
SAME_WRITE_S = 2.0
"""Seconds between the two time stamps of an annotation that was written only once."""
REPLY_ROUNDS = 200
"""Best-reply steps after which the rate of high effort is taken as it stands."""
EXAM_ROUNDS = 2
"""Rounds of the recruitment exam (paper, App. E.1)."""
AUDIT_RATES = tuple(n / 100 for n in range(0, 51, 2))
"""Shares of audited items that the search for the cheapest terms tries."""
PENALTY_STEPS = 10
"""Parts of the base that it tries as penalties."""
BARS = 61
"""Bars that it tries where scores are assumed to be normal."""
DISCRETE_SHARE = 0.5
"""Scores count as a scale of steps when distinct values are at most this share of them."""

LEVELS = ("absent", "weak", "fair", "good", "full")
"""What a rating of 0, 1, 2, 3 and 4 is called on every criterion."""


@dataclass(frozen=True)
class Criterion:
    """One of the six criteria of the paper (section 4.1)."""

    name: str
    title: str
    asks: str
    """The question that a reviewer answers with 0 to 4."""
    grading: str
    """What an adjudicator asks of a review on this criterion."""


CRITERIA = (
    Criterion(
        "representativeness",
        "Representativeness and depth",
        "Does the item test knowledge that people of the field hold central, beyond recall of a phrase?",
        "Does the review say, with reasons, how central and how deep the item is?",
    ),
    Criterion(
        "factuality",
        "Factuality",
        "Are the stem, the key and every explanation true?",
        "Does the review find every false statement, and call none false that is true?",
    ),
    Criterion(
        "source_reliability",
        "Source reliability",
        "Can the answer be traced to sources that a careful colleague would accept?",
        "Did the review check the source, and say what it found there?",
    ),
    Criterion(
        "logical_rigor",
        "Logical rigor",
        "Does the key follow from the stem, without gaps and without hidden conditions?",
        "Did the review work the item through and name gaps and hidden conditions?",
    ),
    Criterion(
        "distractor_plausibility",
        "Distractor plausibility",
        "Would someone with partial knowledge be drawn to each wrong option?",
        "Does the review judge each wrong option, not the options as a heap?",
    ),
    Criterion(
        "combinatorial_validity",
        "Combinatorial validity",
        "Do the options, taken together, leave exactly one right choice?",
        "Does the review settle whether exactly one option is right?",
    ),
)
CRITERION_NAMES = tuple(criterion.name for criterion in CRITERIA)


class CriterionWeights(Section):
    """Weights of the criteria; with these defaults the best score is 20 and the step .5."""

    representativeness: Amount = Decimal(1)
    factuality: Amount = Decimal(1)
    source_reliability: Amount = Decimal("0.5")
    logical_rigor: Amount = Decimal(1)
    distractor_plausibility: Amount = Decimal(1)
    combinatorial_validity: Amount = Decimal("0.5")


class ReviewRules(Section):
    """Numbers of assignment, tournament, audit and pay: table [review]."""

    weights: CriterionWeights = CriterionWeights()

    base: Amount = Decimal("2.00")
    """w0: pay for a complete review, major units (paper, section 3.2)."""
    bonus: Amount = Decimal("5.00")
    """B: pay for winning an item's contest, major units (paper, section 3.2)."""
    currency: str = "USD"
    """ISO 4217 code."""
    grade_pay: Amount = Decimal(0)
    """What an adjudicator earns for each review graded, major units."""
    bar: Decimal = Decimal(14)
    """tau: least review_score that can win; reaching it is enough."""
    tie: Tie = "split"
    score_step: Annotated[Decimal, Field(ge=Decimal("1e-9"))] = Decimal("1e-9")
    """Scores must be multiples of this; finer than 1e-9 is a binary float's noise and rounded off."""

    flaw_share: Share = Decimal("0.5")
    """Part of a computed review_score that comes from the flaw list; the rest from the six grades."""
    false_flag_penalty: Share = Decimal("0.25")
    """Taken off the flaw recall for each flaw that the adjudicator did not confirm."""

    accept_at: Decimal = Decimal(14)
    """Least weighted rating (0 to 20 by default) at which one reviewer's ratings accept an item."""
    reject_below: Decimal = Decimal(8)
    """Below this weighted rating one reviewer's ratings reject it; between: revise."""

    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """One-sided confidence of pilot bounds; two-sided of audit intervals and FOSD bands."""
    cost_quantile: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Upper quantile of the extra cost of effort that the bonus must outweigh."""
    planning_delta_p: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """Gap of winning chances assumed when a pilot of unknown outcome is sized."""
    planning_power: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Chance that a pilot of the size named shows a positive gap, if the gap is as assumed."""
    largest_pilot: Annotated[int, Field(gt=0)] = 100_000
    """Items a cell beyond which a pilot is called hopeless."""

    audit_rate: Share = Decimal("0.1")
    """Share of approved items audited (paper: 5 to 10 %)."""
    penalty: Amount = Decimal("1.00")
    """Taken from each reviewer of an approved item that fails its audit, never beyond the item's pay."""
    strike_acceptable: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Rate of failed audits of a reviewer that is fine: p0 of Wald's sequential test."""
    strike_unacceptable: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Rate that is not: p1 of Wald's sequential test."""
    strike_error: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Chance of each wrong call of that test."""

    least_statements: Annotated[int, Field(gt=0)] = 6
    """Statements that an item whose options combine them has at least (paper, App. E.3)."""
    least_drafts: Annotated[int, Field(gt=0)] = 3
    """Questions on a point of knowledge that an author hands in at least; one is taken (paper, App. E.2)."""
    most_drafts: Annotated[int, Field(gt=0)] = 5
    exam_items: Annotated[int, Field(gt=1)] = 20
    """Questions of each round of the recruitment exam, half of them flawed."""
    exam_pass: Share = Decimal("0.8")
    """Share of right answers from which a round is passed."""

    payer: str = "the project that sent you this"
    """Who owes reviewers their pay, as statements name it."""
    objections_to: str = "whoever sent you this"
    """Whom reviewers write to about a line of their statement: an address or a name."""
    objection_days: Annotated[int, Field(gt=0)] = 14
    """Days after a statement within which an objection is looked at."""

    fee: Annotated[Decimal, Field(ge=0)] = Decimal(0)
    """The payment provider's fee as a share of the pay."""
    scarcity_most: Annotated[Decimal, Field(ge=1)] = Decimal(2)
    """Most times the usual pay that a discipline with few reviewers is paid."""
    no_show_rate: Annotated[Decimal, Field(ge=0, lt=1)] = Decimal(0)
    """Share of second reviews that never arrive; a lone review earns no bonus."""
    per_request: Annotated[int, Field(gt=0)] = 200
    """Payees in one payment file: providers take so many in one request."""

    open_cap: Annotated[int, Field(gt=0)] = 5
    """Most unfinished items a reviewer has at a time (paper: 3 to 5)."""
    stamp_reviews: Annotated[int, Field(gt=0)] = 20
    """Accepted reviews without one objection from which "no_rejections" is raised."""
    fast_share: Share = Decimal("0.25")
    """"fast" is raised below this share of the peers' median time."""
    least_seeded: Annotated[int, Field(gt=0)] = 3
    """Planted bad items a reviewer must have seen before "missed_seeded" can be raised."""
    least_catch_rate: Share = Decimal("0.5")
    """"missed_seeded" is raised when the catch rate's 95 % upper bound is below this."""
    copied_overlap: Share = Decimal("0.6")
    """"copied_text" is raised at this Jaccard overlap of two rationales' word triples."""


class ReviewPage(Section):
    """Table [review] in its place in kina.toml, so that messages name keys in full."""

    review: ReviewRules = ReviewRules()


def rules_of(settings: Settings) -> ReviewRules:
    """Check table [review] of kina.toml and return it resolved.

    Raises:
        ConfigError: an unknown key or a bad value.
    """
    numbers = {key: value for key, value in settings.review.items() if key != "batch"}  # the project's
    return check_section(ReviewPage, {"review": numbers}, CONFIG_NAME).review


def best_score(rules: ReviewRules = ReviewRules()) -> Decimal:
    """Return the weighted sum of full marks."""
    return TOP_RATING * sum((weight for _, weight in rules.weights), Decimal(0))


def weighted(marks: Mapping[str, int | Decimal], rules: ReviewRules = ReviewRules()) -> Fraction:
    """Sum marks over the criteria with their weights, exactly.

    Args:
        marks: criterion name to a mark from 0 to 4; all six must be there.
        rules: carries the weights.

    Raises:
        KeyError: a criterion has no mark.
    """
    weights = dict(rules.weights)
    return sum((Fraction(weights[name]) * Fraction(marks[name]) for name in CRITERION_NAMES), Fraction(0))
