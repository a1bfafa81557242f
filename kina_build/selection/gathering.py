"""Scores and constraints as a Python user has them, records or paths, put together as one input."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kina_build.dedup.reading import spread_edges
from kina_build.selection.inputs import (
    Inputs,
    Pair,
    read_conflicts,
    read_decisions,
    read_ids,
    read_quotas,
    sort_pairs,
)
from kina_build.selection.labels import levels, read_labels
from kina_build.selection.records import ConflictMode, Quota
from kina_build.selection.sharing.share import Budget
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
    pairs, copies = copies_of(asked.duplicates)
    decided = decisions_of(asked.decisions)
    return Inputs(
        matrix=matrix_of(support),
        strata=known[0] if asked.strata is None else _strata(asked.strata),
        domains=known[1] if asked.domains is None else asked.domains,
        quotas=tuple(sorted(quotas, key=lambda quota: (quota.domain, quota.stratum))),
        conflicts=sort_pairs([*pairs, *asked.conflicts]),
        conflict_mode=asked.conflict_mode,
        must=ids_of(asked.must, "--must"),
        exclude=ids_of(asked.exclude) | copies,
        accepted=None
        if decided is None
        else frozenset(i for i, decision in decided.items() if decision == "accept"),
    )


def matrix_of(support: Scores) -> SupportMatrix:
    """Return the scores, read where they are a file."""
    if isinstance(support, Path | str):
        return load_support(Path(support))
    return support if isinstance(support, SupportMatrix) else support.matrix


def _strata(strata: Path | str | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(strata, Path | str):
        return read_labels(Path(strata), *levels("stratum", "subfield"))
    return strata


def ids_of(given: Ids, option: str = "--exclude") -> frozenset[str]:
    """Return the ids, read where they are a file; the option is for messages."""
    return read_ids(Path(given), option) if isinstance(given, Path | str) else frozenset(given)


def decisions_of(given: Decisions) -> Mapping[str, str] | None:
    """Return item to decision; None where nothing was reviewed."""
    if given is None or isinstance(given, Mapping):
        return given
    if isinstance(given, Path | str):
        return read_decisions(Path(given))
    return {one.item_id: one.decision for one in given}


def copies_of(given: Path | str | HasCopies | None) -> tuple[Sequence[Pair], frozenset[str]]:
    """Return the pairs that must not be taken together, and the copies and held items to leave out."""
    if given is None:
        return (), frozenset()
    if isinstance(given, Path | str):
        gone = read_ids(Path(given))
        return read_conflicts(Path(given), gone), gone
    gone = frozenset(one.item_id for one in (*given.dropped, *given.held))
    return tuple(spread_edges(given.conflict_edges, getattr(given, "groups", ()), gone)), gone
