"""Selection from Python: what the commands do, with records or paths in the place of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kina_build.config import SelectionRules
from kina_build.errors import InputError, UsageError
from kina_build.progress import NOBODY
from kina_build.selection import domains as by_domain
from kina_build.selection.gathering import (
    Constraints,
    Decisions,
    HasCopies,
    Ids,
    Scores,
    copies_of,
    decisions_of,
    gather,
    ids_of,
    matrix_of,
)
from kina_build.selection.inputs import (
    Inputs,
)
from kina_build.selection.labels import levels, read_labels
from kina_build.selection.options import Shares
from kina_build.selection.reading import read_selection
from kina_build.selection.records import Selection
from kina_build.selection.refill import check_again, folds_again
from kina_build.selection.sharing.draw import draw_sample
from kina_build.selection.sharing.share import Budget, Drawn, share
from kina_build.selection.verifier.verify import Expected, Verification, verify
from kina_build.support.library import Pool, items_of


def select(
    support: Scores,
    k: int | None = None,
    *,
    improve: bool = False,
    exact: bool = False,
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
        exact: search on, and take the set that HiGHS finds where it is better.
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
    how: dict[str, Any] = {"allow_shortfall": allow_shortfall, "improve": improve, "exact": exact}
    how["seed"] = seed
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
        folds: only to state what the selection has: it is filled up by its own objective.
        rules: settings.
        constraints: fields of Constraints, as to `select`.

    Raises:
        Infeasible: no set meets the constraints.
        InputError: a file that cannot be read.
        Refusal: the scores are others than the selection was made from.
        UsageError: no decisions, or other folds than the selection has.
    """
    document = _document(selection)
    decided = decisions_of(decisions)
    if decided is None:
        raise UsageError("a selection is topped up by decisions: give them")
    asked = Constraints(**{"conflict_mode": document.conflict_mode} | constraints)
    again, inputs = folds_again(document, folds), gather(support, asked)
    check_again(document, inputs, NOBODY)
    if accepted_only:
        eligible = frozenset(i for i, decision in decided.items() if decision == "accept")
    else:
        eligible = frozenset(i for i in inputs.matrix.item_ids if decided.get(i, "accept") == "accept")
    kept = frozenset(document.item_ids) & eligible
    size = sum(part.k for part in document.domains)
    asked_again = replace(inputs, accepted=eligible, must=inputs.must | kept)
    return by_domain.select(asked_again, size, rules, folds=again)


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
    inputs = None if support is None else Inputs(matrix_of(support), strata=strata)
    closed = ids_of(exclude) | copies_of(duplicates)[1] | _refused(strata, decisions_of(decisions))
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
    closed = ids_of(exclude, "--exclude") | _refused(strata, decisions_of(decisions))
    return Drawn(draw_sample(strata, total, seed, closed))


def _refused(items: Iterable[str], decided: Mapping[str, str] | None) -> frozenset[str]:
    """Return the items that review did not accept; where nothing was reviewed, none."""
    if decided is None:
        return frozenset()
    return frozenset(item_id for item_id in items if decided.get(item_id) != "accept")


def _document(selection: Selection | Path | str) -> Selection:
    return read_selection(Path(selection)) if isinstance(selection, Path | str) else selection


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
