"""Selection from Python: what the commands do, with records or paths in the place of files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from kina_build.config import SelectionRules
from kina_build.dedup.reading import spread_edges
from kina_build.errors import InputError, UsageError
from kina_build.selection import domains as by_domain
from kina_build.selection.files import levels
from kina_build.selection.inputs import (
    Inputs,
    Pair,
    read_conflicts,
    read_decisions,
    read_ids,
    read_quotas,
    sort_pairs,
)
from kina_build.selection.labels import read_labels
from kina_build.selection.options import Shares
from kina_build.selection.reading import read_selection
from kina_build.selection.records import ConflictMode, Quota, Selection
from kina_build.selection.sharing.draw import draw_sample
from kina_build.selection.sharing.share import Budget, Drawn, share
from kina_build.selection.verifier.verify import Expected, Verification, verify
from kina_build.support.library import Pool, items_of
from kina_build.support.matrix import SupportMatrix
from kina_build.support.rows import load_support

Ids = Path | str | Collection[str]
"""A file of ids, or ids."""


class HasDecision(Protocol):
    """What review decided about an item, as the review side records it."""

    @property
    def item_id(self) -> str:
        """Return whose it is."""

    @property
    def decision(self) -> str:
        """Return accept, revise, reject or escalate."""


Decisions = Path | str | Mapping[str, str] | Iterable[HasDecision] | None
"""A file of decisions, item to decision, or records of a settlement."""


class HasMatrix(Protocol):
    """Support as `score_support` returns it."""

    @property
    def matrix(self) -> SupportMatrix:
        """Return the scores."""


Scores = Path | str | SupportMatrix | HasMatrix
"""A support.npz, a folder of parts, or scores."""


class HasCopies(Protocol):
    """Duplicates as the room of dedup finds them."""

    @property
    def conflict_edges(self) -> Sequence[Pair]:
        """List the pairs that must not be taken together."""

    @property
    def dropped(self) -> Sequence[Any]:
        """List the copies that went."""

    @property
    def held(self) -> Sequence[Any]:
        """List the items held over a disputed key."""


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """What may be taken, and how much of it."""

    budget: Budget | Path | str | Sequence[Quota] | None = None
    """Quotas of `share_budget`, which bring strata and domains; or a file; or rows."""
    strata: Path | str | Mapping[str, str] | None = None
    """Item to stratum, or a file or pool that says so."""
    domains: Mapping[str, str] | None = None
    """Item to domain."""
    duplicates: Path | str | HasCopies | None = None
    """Pairs in conflict, and copies to leave out."""
    conflicts: Iterable[Pair] = ()
    """More pairs in conflict."""
    conflict_mode: ConflictMode = "clusters"
    must: Ids = ()
    exclude: Ids = ()
    decisions: Decisions = None
    """Only accepted items are then eligible."""


def select(
    support: Scores,
    k: int | None = None,
    *,
    improve: bool = False,
    allow_shortfall: bool = False,
    seed: int = 0,
    folds: int | None = None,
    rules: SelectionRules = SelectionRules(),
    **constraints: Any,
) -> Selection:
    """Choose the items that cover the anchors best, with a certificate.

    Args:
        support: scores of items and anchors.
        k: items to take; None where the budget gives it.
        improve: search on from the greedy set.
        allow_shortfall: take the fullest set where quotas cannot be met.
        seed: of the search.
        folds: items that count for an anchor; None: 1 until the anchors are full, then what it takes.
        rules: settings.
        constraints: fields of Constraints, as `budget=...` or `must=["q1"]`.

    Raises:
        Infeasible: no set meets the constraints.
        InputError: a file that cannot be read, or names that are not there.
        UsageError: options that contradict each other.
    """
    inputs = gather(support, Constraints(**constraints))
    how: dict[str, Any] = {"allow_shortfall": allow_shortfall, "improve": improve, "seed": seed}
    return by_domain.select(inputs, k, rules, folds=folds, **how)


def top_up(
    selection: Selection | Path | str,
    support: Scores,
    decisions: Decisions,
    *,
    accepted_only: bool = False,
    folds: int | None = None,
    rules: SelectionRules = SelectionRules(),
    **constraints: Any,
) -> Selection:
    """Keep what review let stand, refill the holes, and certify anew.

    Args:
        selection: that was reviewed.
        support: the scores it was made from.
        decisions: the reviewers' decisions.
        accepted_only: refill with accepted items, not with undecided ones.
        folds: as to `select`.
        rules: settings.
        constraints: fields of Constraints, as to `select`.

    Raises:
        Infeasible: no set meets the constraints.
        InputError: a file that cannot be read.
        UsageError: no decisions.
    """
    document = _document(selection)
    decided = _decisions(decisions)
    if decided is None:
        raise UsageError("a selection is topped up by decisions: give them")
    asked = Constraints(**{"conflict_mode": document.conflict_mode} | constraints)
    inputs = gather(support, asked)
    if accepted_only:
        eligible = frozenset(i for i, decision in decided.items() if decision == "accept")
    else:
        eligible = frozenset(i for i in inputs.matrix.item_ids if decided.get(i, "accept") == "accept")
    kept = frozenset(document.item_ids) & eligible
    size = sum(part.k for part in document.domains)
    asked_again = replace(inputs, accepted=eligible, must=inputs.must | kept)
    return by_domain.select(asked_again, size, rules, folds=folds)


def certify(
    selection: Selection | Path | str, support: Scores, *, k: int | None = None, **constraints: Any
) -> Verification:
    """Check a selection against what it was made from; the result is true where all of it holds.

    Args:
        selection: the document.
        support: the scores.
        k: items that you expect, whatever the document says.
        constraints: fields of Constraints, as to `select`.

    Raises:
        InputError: a file that cannot be read.
        UsageError: a kind of input it was made from was not given.
    """
    asked = Constraints(**constraints)
    mode = asked.conflict_mode if "conflict_mode" in constraints else None
    return verify(_document(selection), gather(support, asked), Expected(k, mode))


def share_budget(
    pool: Pool,
    total: int,
    *,
    shares: Shares = "strata",
    by: str = "subfield",
    domain_by: str = "field",
    support: Scores | None = None,
    exclude: Ids = (),
    duplicates: Path | str | HasCopies | None = None,
    decisions: Decisions = None,
    rules: SelectionRules = SelectionRules(),
) -> Budget:
    """Share a total over the domains of a pool, and bound each stratum.

    Args:
        pool: the items, or a pool.jsonl.
        total: items to share.
        shares: what a domain's share follows: its strata, its items, even, or greedy coverage.
        by: field of an item that is its stratum.
        domain_by: field of an item that is its domain.
        support: count only items it scores; needed for coverage.
        exclude: items that do not count.
        duplicates: copies and held items do not count either.
        decisions: only accepted items then count.
        rules: settings.

    Raises:
        InputError: an item without stratum or domain.
        Refusal: fewer eligible items than the total.
        UsageError: shares by coverage without support.
    """
    strata, domains = _labels(pool, "stratum", by), _labels(pool, "domain", domain_by)
    inputs = None if support is None else Inputs(_matrix(support), strata=strata)
    closed = _ids(exclude) | _copies(duplicates)[1] | _refused(strata, _decisions(decisions))
    return share(strata, domains, total, shares=shares, inputs=inputs, exclude=closed, rules=rules)


def sample(
    pool: Pool,
    total: int,
    *,
    by: str = "subfield",
    seed: int = 0,
    exclude: Ids = (),
    decisions: Decisions = None,
) -> Drawn:
    """Draw items at random, each stratum in proportion to its items.

    Args:
        pool: the items, or a pool.jsonl.
        total: items to draw.
        by: field of an item that is its stratum.
        seed: of the draw.
        exclude: items not to draw.
        decisions: only accepted items are then drawn.

    Raises:
        InputError: an item without stratum.
        Refusal: fewer eligible items than the total.
    """
    strata = _labels(pool, "stratum", by)
    closed = _ids(exclude, "--exclude") | _refused(strata, _decisions(decisions))
    return Drawn(draw_sample(strata, total, seed, closed))


def _refused(items: Iterable[str], decided: Mapping[str, str] | None) -> frozenset[str]:
    """Return the items that review did not accept; where nothing was reviewed, none."""
    if decided is None:
        return frozenset()
    return frozenset(item_id for item_id in items if decided.get(item_id) != "accept")


def gather(support: Scores, asked: Constraints) -> Inputs:
    """Put scores and constraints together as what a selection depends on."""
    budget = asked.budget
    if isinstance(budget, Budget):
        quotas, strata, domains = budget.quotas, budget.strata, budget.domains
        several = any(quota.domain for quota in quotas)
        known: tuple[Any, Any] = (strata, domains if several else None)
    else:
        quotas = read_quotas(Path(budget)) if isinstance(budget, Path | str) else tuple(budget or ())
        known = (None, None)
    pairs, copies = _copies(asked.duplicates)
    decided = _decisions(asked.decisions)
    return Inputs(
        matrix=_matrix(support),
        strata=known[0] if asked.strata is None else _strata(asked.strata),
        domains=known[1] if asked.domains is None else asked.domains,
        quotas=tuple(sorted(quotas, key=lambda quota: (quota.domain, quota.stratum))),
        conflicts=sort_pairs([*pairs, *asked.conflicts]),
        conflict_mode=asked.conflict_mode,
        must=_ids(asked.must, "--must"),
        exclude=_ids(asked.exclude) | copies,
        accepted=None
        if decided is None
        else frozenset(i for i, decision in decided.items() if decision == "accept"),
    )


def _document(selection: Selection | Path | str) -> Selection:
    return read_selection(Path(selection)) if isinstance(selection, Path | str) else selection


def _matrix(support: Scores) -> SupportMatrix:
    if isinstance(support, Path | str):
        return load_support(Path(support))
    return support if isinstance(support, SupportMatrix) else support.matrix


def _strata(strata: Path | str | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(strata, Path | str):
        return read_labels(Path(strata), *levels("stratum", "subfield"))
    return strata


def _ids(given: Ids, option: str = "--exclude") -> frozenset[str]:
    return read_ids(Path(given), option) if isinstance(given, Path | str) else frozenset(given)


def _decisions(given: Decisions) -> Mapping[str, str] | None:
    if given is None or isinstance(given, Mapping):
        return given
    if isinstance(given, Path | str):
        return read_decisions(Path(given))
    return {one.item_id: one.decision for one in given}


def _copies(given: Path | str | HasCopies | None) -> tuple[Sequence[Pair], frozenset[str]]:
    if given is None:
        return (), frozenset()
    if isinstance(given, Path | str):
        gone = read_ids(Path(given))
        return read_conflicts(Path(given), gone), gone
    gone = frozenset(one.item_id for one in (*given.dropped, *given.held))
    return tuple(spread_edges(given.conflict_edges, getattr(given, "groups", ()), gone)), gone


def _labels(pool: Pool, column: str, field: str) -> Mapping[str, str]:
    """Return a label of each item: of a field and what is coarser, the first that is filled."""
    names = levels(column, field)
    if isinstance(pool, Path | str):
        return read_labels(Path(pool), *names)
    found = {}
    for item in items_of(pool):
        label = next((text for name in names if (text := str(getattr(item, name, None) or "").strip())), "")
        if not label:
            raise InputError(f"item {item.item_id!r} has no {' or '.join(names[1:])}")
        found[item.item_id] = label
    return found
