"""What a reviewer's record looks like beside their peers': signals for a person, never a verdict.

No flag blocks pay; each is a reason for a manager to look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from kina_build.rows.tables import read_table
from kina_build.shares import bound_share
from kina_review.desk.agreement import Coefficient, cohen_kappa, gwet_ac1, krippendorff_alpha
from kina_review.intake import read_reviews
from kina_review.records import Review
from kina_review.rubric import CRITERION_NAMES, SHINGLE_WORDS, ReviewRules

Flag = Literal["no_rejections", "fast", "missed_seeded", "copied_text"]


@dataclass(frozen=True)
class Profile:
    """One reviewer's habits, with intervals where a rate is estimated."""

    reviewer_id: str
    reviews: int
    accepts: int
    rejects: int
    median_lead_time_s: float | None
    peer_median_lead_time_s: float | None
    """Median of the other reviewers' medians."""
    seeded_shown: int
    seeded_caught: int
    catch_rate: float | None
    catch_rate_95: tuple[float, float] | None
    """Wilson interval."""
    partner_agreement: float | None
    """Share of shared items where the verdict equals the partner's; the reviewer's own votes left out."""
    text_overlap: float | None
    """Largest Jaccard overlap of a rationale with the partner's on the same item."""
    flags: tuple[Flag, ...]
    goes_to: Literal["human decision", "nobody"]


def profile_reviewers(
    reviews: Sequence[Review],
    seeded_bad: Iterable[str] = (),
    rules: ReviewRules = ReviewRules(),
) -> list[Profile]:
    """Describe each reviewer beside their peers.

    Args:
        reviews: submitted reviews.
        seeded_bad: ids of items planted with a known flaw.
        rules: thresholds of the flags.
    """
    planted = set(seeded_bad)
    by_reviewer: dict[str, list[Review]] = defaultdict(list)
    by_item: dict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.status == "submitted":
            by_reviewer[review.reviewer_id].append(review)
            by_item[review.item_id].append(review)
    times = {name: _median_time(own) for name, own in by_reviewer.items()}
    return [
        _profile(name, by_reviewer[name], by_item=by_item, times=times, planted=planted, rules=rules)
        for name in sorted(by_reviewer)
    ]


def _profile(
    name: str,
    own: Sequence[Review],
    *,
    by_item: Mapping[str, Sequence[Review]],
    times: Mapping[str, float | None],
    planted: set[str],
    rules: ReviewRules,
) -> Profile:
    peers = [time for other, time in times.items() if other != name and time is not None]
    peer_time = median(peers) if peers else None
    shown = [review for review in own if review.item_id in planted]
    caught = sum(review.verdict in ("reject", "revise") for review in shown)
    meetings = [(a, b) for a in own for b in by_item[a.item_id] if b.reviewer_id != name]
    verdicts = [(a.verdict, b.verdict) for a, b in meetings if a.verdict and b.verdict]
    overlaps = [_overlap(a.rationale, b.rationale) for a, b in meetings if a.rationale and b.rationale]
    accepts = sum(review.verdict == "accept" for review in own)
    rejects = sum(review.verdict == "reject" for review in own)
    overlap = max(overlaps) if overlaps else None
    flags: list[Flag] = []
    if accepts >= rules.stamp_reviews and not any(r.verdict in ("reject", "revise") for r in own):
        flags.append("no_rejections")
    own_time = times[name]
    if own_time is not None and peer_time is not None and own_time < float(rules.fast_share) * peer_time:
        flags.append("fast")
    if len(shown) >= rules.least_seeded and bound_share(caught, len(shown))[1] < rules.least_catch_rate:
        flags.append("missed_seeded")
    if overlap is not None and overlap >= rules.copied_overlap:
        flags.append("copied_text")
    return Profile(
        reviewer_id=name,
        reviews=len(own),
        accepts=accepts,
        rejects=rejects,
        median_lead_time_s=own_time,
        peer_median_lead_time_s=peer_time,
        seeded_shown=len(shown),
        seeded_caught=caught,
        catch_rate=caught / len(shown) if shown else None,
        catch_rate_95=bound_share(caught, len(shown)) if shown else None,
        partner_agreement=sum(a == b for a, b in verdicts) / len(verdicts) if verdicts else None,
        text_overlap=overlap,
        flags=tuple(flags),
        goes_to="human decision" if flags else "nobody",
    )


def _median_time(reviews: Sequence[Review]) -> float | None:
    times = [review.lead_time_s for review in reviews if review.lead_time_s is not None]
    return median(times) if times else None


def _overlap(one: str, two: str) -> float:
    first, second = _shingles(one), _shingles(two)
    return len(first & second) / len(first | second) if first | second else 0.0


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    if len(words) <= SHINGLE_WORDS:
        return {tuple(words)} if words else set()
    return {tuple(words[i : i + SHINGLE_WORDS]) for i in range(len(words) - SHINGLE_WORDS + 1)}


def measure_agreement(
    files: Sequence[Path], seeded_bad: Path | None = None, rules: ReviewRules = ReviewRules(), seed: int = 0
) -> dict[str, Any]:
    """Measure agreement on verdicts and ratings, and put each reviewer beside their peers.

    Args:
        files: reviews: tables, or exports of other desks.
        seeded_bad: items planted with a known flaw.
        rules: numbers behind the flags.
        seed: of the bootstrap.

    Raises:
        InputError: an unreadable file.
    """
    table = read_reviews(files)
    rows = [review for review in table.records if _is_own(review)]
    planted = [str(row.values.get("item_id", "")) for row in read_table(seeded_bad)] if seeded_bad else []
    found = _coefficients(rows, table.ratings, seed)
    return {
        "reviews": len(rows),
        "agreement": {name: asdict(one) for name, one in found.items()},
        "profiles": [asdict(profile) for profile in profile_reviewers(rows, planted, rules)],
    }


def _is_own(review: Review) -> bool:
    return review.status == "submitted" and review.updated_by in (None, review.reviewer_id)


def _coefficients(
    rows: Sequence[Review], ratings: Mapping[tuple[str, str], Mapping[str, Any]], seed: int
) -> dict[str, Coefficient]:
    verdicts: dict[str, list[str | float]] = defaultdict(list)
    marks: dict[str, dict[str, list[str | float]]] = {name: defaultdict(list) for name in CRITERION_NAMES}
    for review in rows:
        if review.verdict:
            verdicts[review.item_id].append(review.verdict)
        # ratings of another tool need not be on our scale: agreement asks only for their order
        for name, mark in {**ratings.get((review.item_id, review.reviewer_id), {}), **review.ratings}.items():
            marks[name][review.item_id].append(mark)
    found = {
        "verdict, alpha": krippendorff_alpha(verdicts, seed=seed),
        "verdict, AC1": gwet_ac1(verdicts, seed=seed),
    }
    people = sorted({review.reviewer_id for review in rows})
    if len(people) == 2:  # kappa is about two fixed raters
        one, two = ({r.item_id: r.verdict for r in rows if r.reviewer_id == p and r.verdict} for p in people)
        found["verdict, kappa"] = cohen_kappa(one, two, seed=seed)
    for name, units in marks.items():
        found[f"{name}, alpha (ordinal)"] = krippendorff_alpha(units, "ordinal", seed=seed)
    return found
