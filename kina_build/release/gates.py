"""The gates of a release: rules that stop an export, each naming the items at fault.

Rules about questions are those of `kina check`, applied to the items as they will be
written, with their final letters; the others are about the release itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from kina_build.config import ItemRules
from kina_build.items.batches import BATCH, map_batches
from kina_build.items.checking.lint import check_repeats
from kina_build.items.checking.rule import POOL, Fault, Finding
from kina_build.items.checking.rulebook import RULES
from kina_build.items.checking.statements import check_statements
from kina_build.items.checking.structure import check_structure
from kina_build.items.cues import Balance, Tally, add_tallies, check_cues, measure_cues, tally
from kina_build.items.findings import ROW, Findings, place
from kina_build.items.model import Item
from kina_build.items.text import fold_stem
from kina_build.progress import Progress, silent
from kina_build.release.lettering.balance import Located, position_faults
from kina_build.release.record import Exemption, GateFault, license_id
from kina_build.release.splits import group, natural

FROM_CHECK = (
    "key_not_in_options",
    "several_keys",
    "empty_stem",
    "too_few_options",
    "empty_option",
    "option_keys_repeated",
    "unlabelled_extra_options",
    "keyed_option_duplicated",
    "duplicate_distractor",
    "too_few_statements",
    "statement_subset",
    "statement_sets_equal",
    "item_repeated",
    "keys_conflict",
    "surface_cue",
    "length_cue",
)
"""Rules of `kina check` that stop a release, whatever their severity there, unless turned off."""

REDUCED = "selection_reduced"
"""The gate that an item of the selection fell: what was certified is not what is released."""

GATES: Mapping[str, str] = {rule: RULES[rule].meaning for rule in FROM_CHECK} | {
    "key_position": "the letters of the right options are out of balance",
    "missing_license": "an item without licence",
    "missing_source": "an item without source",
    "license_mismatch": "an item under another licence than the card claims",
    "cluster_straddles": "near-copies in different splits",
    "ids_alike": "ids that differ by case, blanks or Unicode form alone",
    "withheld": "an item that was withheld or taken down",
    REDUCED: "an item of the selection is not released",
}
"""Every gate and what it means."""

HARD = frozenset({"key_not_in_options", "too_few_options", "option_keys_repeated", "withheld"})
"""Gates that no reason lets pass: such a row cannot be written, or must not be."""

BY_NAME_ONLY = frozenset({"several_keys"})
"""Gates that --allow lets pass and kina.toml does not: files for harnesses say what they cannot do."""

NOTHING_TESTED = Balance({}, 0.0, 0, 1.0)
"""Letters are tested here by position_faults, which knows of pinned options and of splits."""


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

    @cached_property
    def items(self) -> list[Item]:
        """Return the items of all splits, in natural order of their ids."""
        return sorted((i for items in self.splits.values() for i in items), key=lambda i: natural(i.item_id))


@dataclass(frozen=True)
class Questions:
    """What the gates about single questions find in a part of a release, and what its cues name."""

    faults: tuple[tuple[str, Fault], ...]
    tally: Tally


def find_faults(
    draft: Draft, rules: ItemRules = ItemRules(), on_progress: Progress = silent, processes: int = 1
) -> list[GateFault]:
    """Run every gate that is not turned off in kina.toml.

    Args:
        draft: the items as they will be written.
        rules: numbers of the rules of `kina check`; a severity "off" turns a gate off.
        on_progress: told of items done.
        processes: that share the gates about single questions; see items.pool.

    Returns:
        One fault a gate that fired, in the order of GATES.

    Raises:
        KinaError: one of those processes was killed.
    """
    off = {rule for rule, severity in rules.severity.items() if severity == "off"} - HARD - BY_NAME_ONLY
    found: dict[str, list[tuple[str, Fault]]] = defaultdict(list)
    for item_id, fault in _all_faults(draft, rules, on_progress, processes):
        if fault.rule in GATES and fault.rule not in off:
            found[fault.rule].append((item_id, fault))
    return [_gather(rule, found[rule]) for rule in GATES if rule in found]


def exempt(
    faults: Sequence[GateFault], allowed: Mapping[str, str]
) -> tuple[list[GateFault], tuple[Exemption, ...]]:
    """Part faults into those that stop the export and those let pass by name, with reasons."""
    stopping = [fault for fault in faults if fault.rule not in allowed or fault.rule in HARD]
    passed = tuple(
        Exemption(rule=fault.rule, reason=allowed[fault.rule], message=fault.message, item_ids=fault.item_ids)
        for fault in faults
        if fault not in stopping
    )
    return stopping, passed


def check_questions(items: Sequence[Item], rules: ItemRules) -> Questions:
    """Run the gates about single questions over a part of a release."""
    found = (
        (item.item_id, fault)
        for item in items
        for fault in (*check_structure(item), *check_statements(item, rules))
        if fault.rule in GATES
    )
    return Questions(tuple(found), tally(items))


def _all_faults(draft: Draft, rules: ItemRules, on_progress: Progress, processes: int) -> Located:
    items = draft.items
    tallies: list[Tally] = []
    for part in map_batches(partial(check_questions, rules=rules), items, processes):
        yield from part.faults
        tallies.append(part.tally)
        on_progress(min(len(tallies) * BATCH, len(items)), len(items))
    yield from check_repeats(items)
    probes = measure_cues(add_tallies(tallies))
    yield from (("", fault) for fault in check_cues(probes, NOTHING_TESTED, rules))
    yield from position_faults(draft.splits, rules)
    for gate in RELEASE_GATES:
        yield from gate(draft)


def _unlicensed(draft: Draft) -> Located:
    for item in draft.items:
        if not (item.license or "").strip():
            yield item.item_id, Fault("missing_license", "license", "no licence")


def _unsourced(draft: Draft) -> Located:
    for item in draft.items:
        if not (item.question_source or "").strip():
            yield item.item_id, Fault("missing_source", "question_source", "no source")


def _other_license(draft: Draft) -> Located:
    claimed = {license_id(name) for name in draft.licenses}
    for item in draft.items:
        if claimed and item.license and license_id(item.license) not in claimed:
            message = f"is under {item.license}, the card claims {', '.join(sorted(claimed))}"
            yield item.item_id, Fault("license_mismatch", "license", message)


def _straddling(draft: Draft) -> Located:
    if not draft.clusters:
        return
    split_of = {item.item_id: split for split, items in draft.splits.items() for item in items}
    groups = group(split_of, draft.clusters)
    seen: dict[str, set[str]] = defaultdict(set)
    for item_id, name in groups.items():
        seen[name].add(split_of[item_id])
    for item_id in sorted(split_of, key=natural):
        if len(seen[groups[item_id]]) > 1:
            message = f"in {split_of[item_id]}, its near-copies also elsewhere"
            yield item_id, Fault("cluster_straddles", "split", message)


def _alike(draft: Draft) -> Located:
    seen: dict[str, str] = {}
    for item in draft.items:
        other = seen.setdefault(fold_stem(item.item_id), item.item_id)
        if other != item.item_id:
            for item_id, twin in ((other, item.item_id), (item.item_id, other)):
                yield item_id, Fault("ids_alike", "item_id", f"where case does not count this is {twin!r}")


def _withheld(draft: Draft) -> Located:
    for item in draft.items:
        if item.item_id in draft.forbidden:
            yield item.item_id, Fault("withheld", "item_id", draft.forbidden[item.item_id])


RELEASE_GATES: Sequence[Callable[[Draft], Located]] = (
    _unlicensed,
    _unsourced,
    _other_license,
    _straddling,
    _alike,
    _withheld,
)
"""Gates about the release itself."""


def _gather(rule: str, found: Sequence[tuple[str, Fault]]) -> GateFault:
    """Make one fault of a gate from what it found item by item."""
    items: dict[str, str] = {}
    for item_id, fault in found:
        if item_id:
            items.setdefault(item_id, fault.message)
    whole = [fault for item_id, fault in found if not item_id]
    return GateFault(
        rule=rule,
        message="; ".join(fault.message for fault in whole) or GATES[rule],
        items=items,
        evidence=dict(whole[0].evidence) if whole else {},
    )


def add_gates(found: Findings, rules: ItemRules = ItemRules()) -> Findings:
    """Add what the gates of an export find in a pool; they take the place of findings by the same rules.

    The letters of the keys are not looked at, since an export draws them anew.
    """
    faults = [
        fault for fault in find_faults(Draft({"pool": found.items}), rules) if fault.rule != "key_position"
    ]
    stopping = {fault.rule for fault in faults} | {"key_position"}
    gates = [
        Finding(item_id=item_id, rule=fault.rule, severity="error", field="release", message=message)
        for fault in faults
        for item_id, message in (fault.items or {POOL: fault.message}).items()
    ]
    rejects = [one for one in found if one.field == ROW]
    left = [one for one in found if one.field != ROW and one.rule not in stopping]
    return replace(found, findings=(*rejects, *sorted([*left, *gates], key=place)))
