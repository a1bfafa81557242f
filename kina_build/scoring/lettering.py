"""Letters as identities: which form of its item a reply answers, and what its letter means there.

A letter means an option only together with the order that was shown. `kina export` draws
that order anew, so that one letter names one text in the pool and another in the release.
A reply of `kina run` carries the digest of its prompt, others may carry digests of the
options they were shown; by these it is matched to a form, and its letter goes by the text.
A reply with neither is read only in an order that its reader states.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from kina_build.errors import InputError, UsageError
from kina_build.scoring.prompts import build_prompt, prompt_digest
from kina_build.scoring.questions import Question, fold_blanks, hash_option
from kina_build.scoring.responses import Asked

STATED = "order as stated, not proven"
"""What outputs say of letters that were read in an order their reader named."""

LONE = re.compile(r"(?<![^\W_])[A-Za-z](?![^\W_])")
"""A letter that stands alone: in "both A and C", not in "Arno"."""


@dataclass(frozen=True)
class Forms:
    """The forms in which items may have been asked."""

    own: Mapping[str, Question]
    """The form whose letters are wanted, by item_id."""
    others: Sequence[Mapping[str, Question]] = ()
    """Forms that replies with a digest may answer: of a release, for instance."""
    stated: Mapping[str, Question] | None = None
    """The form that replies without a digest answer, as their reader says."""

    def known(self, item_id: str) -> list[Question]:
        """Return an item's forms, its own first."""
        maps = (self.own, *self.others, *((self.stated,) if self.stated is not None else ()))
        return [forms[item_id] for forms in maps if item_id in forms]


@dataclass(frozen=True)
class Lettering:
    """What each reply was asked, as far as it is known."""

    asked: Mapping[Asked, Question]
    """The form that is answered, where it is another than the item's own."""
    unproven: Counter[str] = field(default_factory=Counter)
    """Replies an item that carry no digest while no order is stated."""
    foreign: Counter[Asked] = field(default_factory=Counter)
    """Replies to a form that is not known: other options, another order, another text."""
    stated: int = 0
    """Replies read in an order that their reader named."""


def find_forms(replies: Iterable[Asked], forms: Forms) -> Lettering:
    """Match what answered replies were asked to the forms of their items; other items are passed over."""
    counts = Counter(identity for identity in replies if identity.item_id in forms.own)
    asked: dict[Asked, Question] = {}
    unproven: Counter[str] = Counter()
    foreign: Counter[Asked] = Counter()
    stated = 0
    for identity, n in counts.items():
        if identity.bare and forms.stated is None:
            unproven[identity.item_id] += n
            continue
        stated += n if identity.bare else 0
        form, own = _find_form(identity, forms), forms.own[identity.item_id]
        if form is None or (form != own and match_places(form.choices, own.choices) is None):
            foreign[identity] += n
        elif form.choices != own.choices:
            asked[identity] = form
    return Lettering(asked, unproven, foreign, stated)


def refuse_unproven(lettering: Lettering, path: str = "POOL") -> None:
    """Refuse replies that do not say which order of the options they answer.

    Raises:
        UsageError: there are some, and no order is stated.
    """
    if lettering.unproven:
        raise UsageError(
            f"{lettering.unproven.total()} replies to {len(lettering.unproven)} items carry no prompt_sha or "
            f"option_hashes: nothing tells which order of the options their letters mean",
            hint=f"say whose order it is: --letters-of {path}, or the release folder they answer",
        )


def refuse_foreign(lettering: Lettering, cure: str) -> None:
    """Refuse replies to forms that are not known.

    Raises:
        InputError: there are some.
    """
    if lettering.foreign:
        items = {identity.item_id for identity in lettering.foreign}
        raise InputError(
            f"{lettering.foreign.total()} replies to {len(items)} items, first {min(items)!r}, were made on "
            "another form of them (options in another order, or a changed text): their letters mean others",
            hint=cure,
        )


def with_order(
    records: Sequence[BaseModel], order: str | None
) -> Sequence[BaseModel] | Sequence[dict[str, Any]]:
    """Add to records that their letters were read in an order that was only stated."""
    if order is None:
        return records
    return [
        record.model_dump(mode="json", exclude_none=True) | {"letters_order": order} for record in records
    ]


def translate(label: str | None, form: Question, own: Question) -> str | None:
    """Turn the label of an option in the form that was asked into the item's own label of it."""
    if label is None or form.choices == own.choices:
        return label
    places = match_places(form.choices, own.choices)
    return relabel(label, form, [own.labels[place] for place in places]) if places else None


def relabel(label: str, form: Question, others: Sequence[str]) -> str | None:
    """Turn a label, or those of several options, into other labels; None where one is none of the form's.

    Args:
        label: of one option, or of all that were chosen ("BD").
        form: whose labels these are.
        others: the label that each option of the form has elsewhere, in the form's order.
    """
    if label in form.labels:
        return others[form.labels.index(label)]
    known = form.several and set(label) <= set(form.labels)
    return "".join(sorted(others[form.labels.index(one)] for one in label)) if known else None


def match_places(asked: Sequence[str], own: Sequence[str]) -> tuple[int, ...] | None:
    """Find the own place of each option that was asked, by its text; None where it cannot be told.

    Options that name others by letter may have been renamed with them ("both A and C");
    they are matched last, by what their letters mean.
    """
    if tuple(asked) == tuple(own):
        return tuple(range(len(own)))
    texts, wanted = [fold_blanks(text) for text in asked], [fold_blanks(text) for text in own]
    if len(texts) != len(wanted) or len(set(wanted)) < len(wanted):
        return None
    letterless = {text: place for place, text in enumerate(wanted) if not LONE.search(text)}
    found: dict[int, int] = {n: letterless[text] for n, text in enumerate(texts) if text in letterless}
    renamed = {chr(65 + n): chr(65 + place) for n, place in found.items()}
    for n, text in enumerate(texts):
        if n not in found:
            place = _find_renamed(text, wanted, renamed, set(found.values()))
            if place is None:
                return None
            found[n] = place
    return tuple(found[n] for n in range(len(texts))) if len(set(found.values())) == len(found) else None


def _find_renamed(
    text: str, wanted: Sequence[str], renamed: Mapping[str, str], taken: set[int]
) -> int | None:
    """Find a text with letters: as it stands, or with its letters carried along; one reading only."""
    carried = LONE.sub(lambda one: _carry(one[0], renamed), text)
    places = {n for n, own in enumerate(wanted) if n not in taken and own in (text, carried)}
    return places.pop() if len(places) == 1 else None


def _carry(letter: str, renamed: Mapping[str, str]) -> str:
    carried = renamed.get(letter.upper(), letter)
    return carried if letter.isupper() else carried.lower()


def _find_form(identity: Asked, forms: Forms) -> Question | None:
    """Find the form that a reply answers by what it carries; the stated one where it carries nothing."""
    if identity.bare:
        return (forms.stated or {}).get(identity.item_id)
    known = forms.known(identity.item_id)
    for one in known if identity.prompt_sha is not None else ():
        if prompt_digest(build_prompt(one)) == identity.prompt_sha:
            return one
    ordered = (_put_in_order(one, identity.option_hashes or ()) for one in known)
    return next((one for one in ordered if one is not None), None)


def _put_in_order(question: Question, hashes: Sequence[str]) -> Question | None:
    """Put a question's options into the order of their digests; None where they are others."""
    own = list(map(hash_option, question.choices))
    if len(own) == len(hashes) and all(map(str.startswith, own, hashes)):
        return question
    full = dict(zip(own, question.choices, strict=True))
    if len(full) != len(question.choices) or len(hashes) != len(full):
        return None
    chosen = [[text for whole, text in full.items() if whole.startswith(one)] for one in hashes]
    if any(len(texts) != 1 for texts in chosen) or len({texts[0] for texts in chosen}) != len(full):
        return None
    return question.model_copy(update={"choices": tuple(texts[0] for texts in chosen)})
