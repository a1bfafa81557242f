"""One review, one person, one item: the same thing under two names is paid once or stops the run."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from kina_build.errors import Refusal
from kina_review.records import Review

Owner = tuple[str, str, str]
"""item_id, round, reviewer_id."""


def fold(name: str) -> str:
    """Return a name without case, blanks and Unicode form: what two spellings share."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(character for character in plain if not character.isspace())


def check_spelling(what: str, names: Iterable[str]) -> None:
    """Check that no two names differ only by case or Unicode form.

    Raises:
        Refusal: two do.
    """
    seen: dict[str, str] = {}
    for name in sorted(set(names)):
        other = seen.setdefault(fold(name), name)
        if other != name:
            raise Refusal(
                f"{what} ids {other!r} and {name!r} differ only by case, blanks or Unicode form: "
                "they may be the same",
                hint="spell one the same everywhere, or give the other an id of its own",
            )


def check_reviews(reviews: Sequence[Review]) -> None:
    """Check that items, reviewers and payees have one spelling each, and reviews one owner each.

    Raises:
        Refusal: as check_spelling, or one review_id stands under two items or reviewers.
    """
    check_spelling("item", (review.item_id for review in reviews))
    check_spelling("reviewer", (review.reviewer_id for review in reviews))
    check_spelling("payee", (review.payee_id for review in reviews if review.payee_id))
    check_owners({}, ((review.review_id or "", owner_of(review)) for review in reviews))


def owner_of(review: Review) -> Owner:
    """Return whose review of what it is."""
    return review.item_id, review.round, review.reviewer_id


def check_owners(known: Mapping[str, Owner], found: Iterable[tuple[str, Owner]]) -> None:
    """Check that every review_id has one owner, in a run and over all runs before.

    Raises:
        Refusal: it has two.
    """
    owners = dict(known)
    for review_id, owner in found:
        other = owners.setdefault(review_id, owner) if review_id else owner
        if other != owner:
            raise Refusal(
                f"review {review_id!r} stands under item {other[0]!r}, round {other[1]!r}, reviewer "
                f"{other[2]!r}, and under item {owner[0]!r}, round {owner[1]!r}, reviewer {owner[2]!r}: "
                "a review is paid once",
                hint="give it the item and the reviewer it was first settled with",
            )
