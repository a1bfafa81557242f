"""Bins of difficulty inside strata: a selection or a draw that is balanced in how hard its items are.

Bins cut each stratum, so that quotas on them are again one partition matroid, and greedy's 1/2 stays.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.rows.tables import hint_at, need_rows
from kina_build.selection.budget import apportion, proportional
from kina_build.selection.inputs import Inputs
from kina_build.selection.records import Quota
from kina_build.support.levels import Indices

RULE = re.compile(r"difficulty:([1-9][0-9]?)")
"""Matches "difficulty:5"; not "difficulty", "difficulty:0" nor "length:5"."""


def read_rule(rule: str) -> int:
    """Return the number of bins that a rule such as "difficulty:5" names.

    Raises:
        UsageError: it is no such rule.
    """
    match = RULE.fullmatch(rule)
    if match is None:
        raise UsageError(f"--balance {rule!r}: not a rule", hint="give difficulty:N, such as difficulty:5")
    return int(match[1])


def read_difficulty(path: Path) -> dict[str, float]:
    """Read rows of item_id and difficulty (larger is harder), or p, the share that is right.

    Raises:
        InputError: missing or empty file.
        RowErrors: a row without an item or with neither number, or an item on two rows.
    """
    found: dict[str, float] = {}
    faults = []
    rows = need_rows(path)
    for row in rows:
        item_id = str(row.values.get("item_id") or "").strip()
        number = _number(row.values.get("difficulty"))
        if number is None and (share := _number(row.values.get("p"))) is not None:
            number = 1 - share
        if not item_id or number is None:
            faults.append(row.fault("needs an item_id and a number difficulty or p"))
        elif item_id in found:
            faults.append(row.fault(f"{item_id!r} stands on an earlier row too"))
        else:
            found[item_id] = number
    if faults:
        raise RowErrors(faults, hint=hint_at(rows, "`kina difficulty` writes them"))
    return found


def cut_bins(difficulty: NDArray[np.floating], stratum: Indices, bins: int) -> Indices:
    """Cut each stratum into bins of equal size, easiest first; of equal items the first come first.

    Args:
        difficulty: shape (items,).
        stratum: number of each item's stratum, shape (items,).
        bins: of each stratum.

    Returns:
        Number of each item's bin, 0 to bins - 1, shape (items,).
    """
    order = np.lexsort((np.arange(len(stratum)), difficulty, stratum))
    counts = np.bincount(stratum, minlength=int(stratum.max(initial=-1)) + 1)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    rank = np.arange(len(order)) - starts
    found = np.empty(len(order), dtype=np.int64)
    found[order] = rank * bins // np.maximum(counts, 1)[stratum[order]]
    return found


def balance(inputs: Inputs, difficulty: Mapping[str, float], bins: int, size: int | None) -> Inputs:
    """Cut every stratum of the eligible items into bins of difficulty, and its quota with it.

    Without quotas each bin gets its share of the eligible items, rounded down or up. A quota's bounds
    are shared over the bins in proportion to their eligible items, so that their sums are its own.

    Args:
        inputs: with strata, or without: then all items are one stratum.
        difficulty: item to difficulty, larger is harder.
        bins: of each stratum.
        size: items to take, where there are no quotas.

    Raises:
        InputError: an eligible item without difficulty.
        UsageError: neither quotas nor a size.
    """
    ids = [item_id for item_id in inputs.matrix.item_ids if item_id not in inputs.closed]
    lacking = [item_id for item_id in ids if item_id not in difficulty]
    if lacking:
        raise InputError(f"item {lacking[0]!r} has no difficulty ({len(lacking)} such items)")
    old = inputs.strata or {}
    domains = inputs.domains or {}
    homes = [(domains.get(item_id, ""), old.get(item_id, "")) for item_id in ids]
    place = {home: at for at, home in enumerate(sorted(set(homes)))}
    codes = np.array([place[home] for home in homes], dtype=np.int64)
    cut = cut_bins(np.array([difficulty[item_id] for item_id in ids]), codes, bins)
    names = {
        item_id: label(home[1], at, bins) for item_id, home, at in zip(ids, homes, cut.tolist(), strict=True)
    }
    supply = Counter((home[0], home[1], names[item_id]) for item_id, home in zip(ids, homes, strict=True))
    if inputs.quotas:
        quotas = [part for quota in inputs.quotas for part in _split(quota, supply, bins)]
    elif size is None:
        raise UsageError("--balance needs -k, or quotas")
    else:
        quotas = list(proportional(size, Counter(names.values())))
    closed = {item_id: label(old.get(item_id, ""), 0, bins) for item_id in inputs.matrix.item_ids}
    return replace(
        inputs,
        strata=closed | names,
        quotas=tuple(sorted(quotas, key=lambda quota: (quota.domain, quota.stratum))),
    )


def label(stratum: str, at: int, bins: int) -> str:
    """Name a bin of a stratum: the easiest is the first."""
    return f"{stratum} difficulty {at + 1}/{bins}".strip()


def _split(quota: Quota, supply: Mapping[tuple[str, str, str], int], bins: int) -> list[Quota]:
    """Share the bounds of a quota over the bins of its stratum."""
    names = [label(quota.stratum, at, bins) for at in range(bins)]
    own = {
        name: sum(n for key, n in supply.items() if _is_of(quota, key) and key[2] == name) for name in names
    }
    least = min(quota.lower, sum(own.values()))
    lower = apportion(least, own, own) if sum(own.values()) else dict.fromkeys(names, 0)
    if quota.upper is None:
        upper: dict[str, int | None] = dict.fromkeys(names)
    else:
        left = {name: own[name] - lower[name] for name in names}
        more = min(quota.upper - least, sum(left.values()))
        extra = apportion(more, left, left) if sum(left.values()) else dict.fromkeys(names, 0)
        upper = {name: lower[name] + extra[name] for name in names}
    return [
        quota.model_copy(update={"stratum": name, "lower": lower[name], "upper": upper[name]})
        for name in names
    ]


def _is_of(quota: Quota, key: tuple[str, str, str]) -> bool:
    return key[1] == quota.stratum and (quota.k is None or key[0] == quota.domain)


def _number(value: object) -> float | None:
    try:
        number = (
            float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
        )
    except ValueError:
        return None
    return number if math.isfinite(number) else None
