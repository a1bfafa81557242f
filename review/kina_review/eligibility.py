"""Who may review what, and with whom: authorship, declared conflicts, expertise, payee, affiliation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from kina_build.items.model import Item
from kina_review.records import Reviewer


class Eligibility:
    """Answer who may review an item; answers are shared by items that are alike."""

    def __init__(self, people: Sequence[Reviewer], *, by_affiliation: bool = False) -> None:
        self.people = people
        self.by_affiliation = by_affiliation
        self._of: dict[tuple[str, str, str, str | None], NDArray[np.int64]] = {}
        self._affiliation = {
            name: p.affiliation for p in people for name in (p.reviewer_id, p.payee_id) if name
        }

    def of(self, item: Item, banned: Collection[int] = ()) -> NDArray[np.int64]:
        """Return the positions of those who may review an item, without those banned from it."""
        key = (item.discipline, item.field, item.subfield, item.author_id)
        if key not in self._of:
            able = [index for index, person in enumerate(self.people) if self._may(person, item)]
            self._of[key] = np.array(able, dtype=np.int64)
        found = self._of[key]
        return found[~np.isin(found, list(banned))] if banned else found

    def apart(self) -> NDArray[np.bool_]:
        """Return who must never share an item, shape (reviewers, reviewers)."""
        count = len(self.people)
        apart = np.eye(count, dtype=bool)
        for group in self._groups():
            apart[np.ix_(group, group)] = True
        index = {person.reviewer_id: position for position, person in enumerate(self.people)}
        for one, person in enumerate(self.people):
            for name in person.conflicts:
                if name in index:
                    apart[one, index[name]] = apart[index[name], one] = True
        return apart

    def _groups(self) -> list[list[int]]:
        groups: dict[tuple[str, str], list[int]] = {}
        for position, person in enumerate(self.people):
            if person.payee_id:
                groups.setdefault(("payee", person.payee_id), []).append(position)
            if self.by_affiliation and person.affiliation:
                groups.setdefault(("affiliation", person.affiliation), []).append(position)
        return [group for group in groups.values() if len(group) > 1]

    def _may(self, person: Reviewer, item: Item) -> bool:
        if item.author_id is not None:
            if item.author_id in (person.reviewer_id, person.payee_id, *person.conflicts):
                return False
            author_home = self._affiliation.get(item.author_id)
            if self.by_affiliation and author_home and author_home == person.affiliation:
                return False
        return not person.fields or bool({item.discipline, item.field, item.subfield} & set(person.fields))
