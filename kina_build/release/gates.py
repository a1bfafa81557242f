"""The gates of a release: rules that stop an export, each naming the items at fault."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kina_build.config import ReleaseRules
from kina_build.items.model import LETTERS, Item
from kina_build.release.draw import natural
from kina_build.release.letters import PINNED
from kina_build.release.record import Exemption, Finding
from kina_build.release.splits import TEST, group


@dataclass(frozen=True)
class Draft:
    """What is about to be released: items by split, with their final letters and keys."""

    splits: Mapping[str, Sequence[Item]]
    clusters: Sequence[Sequence[str]] = ()
    """Near-copies that must not straddle splits."""
    licenses: frozenset[str] = frozenset()
    """What the card claims; empty claims what the rows say."""
    forbidden: Mapping[str, str] = field(default_factory=dict)
    """Ids that must not appear, and why."""

    @property
    def items(self) -> list[Item]:
        """Return the items of all splits, in natural order of their ids."""
        return sorted((i for items in self.splits.values() for i in items), key=lambda i: natural(i.item_id))


Gate = Callable[[Draft, ReleaseRules], Iterable[Finding]]


def find_faults(draft: Draft, rules: ReleaseRules = ReleaseRules()) -> list[Finding]:
    """Run every gate; items whose key names no option stop all further gates."""
    unkeyed = list(keys_missing(draft, rules))
    return unkeyed or [finding for gate in GATES.values() for finding in gate(draft, rules)]


def exempt(
    findings: Sequence[Finding], allowed: Mapping[str, str]
) -> tuple[list[Finding], tuple[Exemption, ...]]:
    """Split findings into those that stop the export and those let pass by name, with reasons."""
    stopping = [finding for finding in findings if finding.rule not in allowed or finding.rule in HARD]
    passed = tuple(
        Exemption(rule=finding.rule, reason=allowed[finding.rule], item_ids=finding.item_ids)
        for finding in findings
        if finding not in stopping
    )
    return stopping, passed


def keys_missing(draft: Draft, rules: ReleaseRules) -> Iterable[Finding]:
    """Find items whose key names none of their options."""
    ids = [i.item_id for i in draft.items if i.correct_text is None]
    yield from _finding("key_missing", "the key names none of the options", ids)


def forbidden_items(draft: Draft, rules: ReleaseRules) -> Iterable[Finding]:
    """Find items that were withheld or taken down and are in the release all the same."""
    ids = [item.item_id for item in draft.items if item.item_id in draft.forbidden]
    yield from _finding("withheld", "withheld or taken down", ids)


def provenance_missing(draft: Draft, rules: ReleaseRules) -> Iterable[Finding]:
    """Find items that do not say where they come from or under which licence."""
    for rule, name in (("missing_license", "license"), ("missing_source", "question_source")):
        ids = [item.item_id for item in draft.items if not (getattr(item, name) or "").strip()]
        yield from _finding(rule, f"{name} is empty", ids)


def license_differs(draft: Draft, rules: ReleaseRules) -> Iterable[Finding]:
    """Find items under another licence than the card claims."""
    claimed = {license_id(name) for name in draft.licenses}
    ids = [i.item_id for i in draft.items if claimed and i.license and license_id(i.license) not in claimed]
    yield from _finding("license_mismatch", f"not under {', '.join(sorted(claimed))}, as the card says", ids)


def clusters_straddle(draft: Draft, rules: ReleaseRules) -> Iterable[Finding]:
    """Find near-copies that went to different splits."""
    split_of = {item.item_id: split for split, items in draft.splits.items() for item in items}
    seen: dict[str, set[str]] = defaultdict(set)
    groups = group(split_of, draft.clusters)
    for item_id, name in groups.items():
        seen[name].add(split_of[item_id])
    ids = [item_id for item_id in sorted(split_of, key=natural) if len(seen[groups[item_id]]) > 1]
    yield from _finding("cluster_straddles", "near-copies in different splits", ids)


def key_position(draft: Draft, rules: ReleaseRules) -> Iterable[Finding]:
    """Test the letters of the right options against chance, all splits together and test alone.

    Pearson's chi-square against equal shares, within items of the same number and places
    of free options; statistics and degrees of freedom add up over those groups. Items whose
    key is pinned ("none of the above") cannot be balanced and are left out.
    """
    for name, items in (("all splits", draft.items), (TEST, list(draft.splits.get(TEST, ())))):
        p_value = position_p_value(items)
        if p_value < rules.balance_p:
            counts = letter_counts(items)
            told = ", ".join(f"{letter} {count}" for letter, count in counts.items())
            yield Finding(rule="key_position", message=f"{name}: keys at {told} (p = {p_value:.2g})")
            return


def letter_counts(items: Iterable[Item]) -> dict[str, int]:
    """Count the letters of the right options, from A to the last letter any item offers."""
    kept = list(items)
    counts = Counter(item.correct_answer for item in kept)
    offered = max((len(item.options) for item in kept), default=0)
    return {letter: counts[letter] for letter in LETTERS[:offered]}


def position_p_value(items: Iterable[Item]) -> float:
    """Return the chance of key letters at least as uneven as these, if letters were drawn fairly."""
    from scipy.special import chdtrc

    observed: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for item in items:
        free = tuple(n for n, option in enumerate(item.options) if not PINNED.fullmatch(option.answer))
        place = next(n for n, option in enumerate(item.options) if option.key == item.correct_answer)
        if place in free and len(free) > 1:
            observed[free][place] += 1
    statistic, freedom = 0.0, 0
    for free, counts in observed.items():
        expected = counts.total() / len(free)
        statistic += sum((counts[place] - expected) ** 2 / expected for place in free)
        freedom += len(free) - 1
    return float(chdtrc(freedom, statistic)) if freedom else 1.0


def license_id(name: str) -> str:
    """Write a licence the way the hub does: "CC BY 4.0" -> "cc-by-4.0"."""
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _finding(rule: str, message: str, ids: Sequence[str]) -> Iterable[Finding]:
    if ids:
        yield Finding(rule=rule, message=message, item_ids=tuple(ids))


GATES: dict[str, Gate] = {
    "key_missing": keys_missing,
    "withheld": forbidden_items,
    "provenance": provenance_missing,
    "license_mismatch": license_differs,
    "cluster_straddles": clusters_straddle,
    "key_position": key_position,
}

RULES = (
    "key_missing",
    "withheld",
    "missing_license",
    "missing_source",
    "license_mismatch",
    "cluster_straddles",
    "key_position",
)
"""Every rule that may be named in --allow or a finding."""

HARD = frozenset({"key_missing", "withheld"})
"""Rules that no reason lets pass: such a row cannot be written, or must not be."""
