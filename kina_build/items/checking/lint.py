"""Check a pool: every rule over every item, then the rules about the pool as a whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kina_build.config import ItemRules
from kina_build.errors import ConfigError
from kina_build.items.batches import BATCH, map_batches
from kina_build.items.checking.asking import check_asking
from kina_build.items.checking.explaining import check_completeness, check_explaining
from kina_build.items.checking.leftovers import check_leftovers
from kina_build.items.checking.mathmarkup import check_math
from kina_build.items.checking.rule import POOL, Fault, Finding, ProfileName, Severity
from kina_build.items.checking.rulebook import RULES, need_rules
from kina_build.items.checking.statements import check_statements
from kina_build.items.checking.stems import check_stem
from kina_build.items.checking.structure import check_scripts, check_structure
from kina_build.items.cues import Tally, add_tallies, check_cues, measure_balance, measure_cues, tally
from kina_build.items.findings import Findings, check_rejects, place
from kina_build.items.languages import check_parallel
from kina_build.items.model import Item
from kina_build.items.options import Profile
from kina_build.items.pool import Pool
from kina_build.items.text import fold_option, fold_stem
from kina_build.progress import Progress, collector_paused, silent


@dataclass(frozen=True)
class Part:
    """What the items of a part of the pool give, each by itself."""

    findings: tuple[Finding, ...]
    tally: Tally


def check(
    items: Sequence[Item],
    profile: Profile = "generic",
    rules: ItemRules = ItemRules(),
    on_progress: Progress = silent,
    processes: int = 1,
) -> Findings:
    """Check items by the rules of a profile.

    Args:
        items: a pool, in any order: the result does not depend on it. What import refused of a Pool
            stands among the findings.
        profile: which rules count, and how much: see rulebook.RULES; the gates of a release are added
            by `only` of `kina check --profile release`, or see release.gates.
        rules: numbers, and severities that differ from the profile's.
        on_progress: told of items done.
        processes: that share the rules about single items; see workers.

    Raises:
        ConfigError: kina.toml names a rule that does not exist.
        KinaError: one of the processes that share a large pool was killed.
    """
    severities = severities_of("generic" if profile == "release" else profile, rules)
    work = partial(check_part, rules=rules, severities=severities)
    parts: list[Part] = []
    with collector_paused():
        for part in map_batches(work, items, processes):
            parts.append(part)
            on_progress(min(len(parts) * BATCH, len(items)), len(items))
    found = [finding for part in parts for finding in part.findings]
    for item_id, fault in one_each(check_repeats(items)):
        found += _grade(item_id, [fault], severities)
    for item_id, fault in check_parallel(items):
        found += _grade(item_id, [fault], severities)
    counts = add_tallies(part.tally for part in parts)
    probes, balance = measure_cues(counts), measure_balance(counts)
    found += _grade(POOL, check_cues(probes, balance, rules), severities)
    rejects = check_rejects(items.rejects) if isinstance(items, Pool) else []
    return Findings((*rejects, *sorted(found, key=place)), items, tuple(probes), balance, profile)


def check_part(items: Sequence[Item], rules: ItemRules, severities: Mapping[str, Severity]) -> Part:
    """Apply the rules about single items to a part of a pool, and count what the cues name in it."""
    found: list[Finding] = []
    for item in items:
        found += _grade(item.item_id, check_item(item, rules), severities)
    return Part(tuple(found), tally(items))


def check_item(item: Item, rules: ItemRules = ItemRules()) -> Iterator[Fault]:
    """Apply every rule that looks at one item alone, whatever the profile."""
    yield from check_structure(item)
    yield from check_stem(item, rules)
    yield from check_math(item)
    yield from check_statements(item, rules)
    yield from check_leftovers(item)
    yield from check_asking(item)
    yield from check_scripts(item)
    yield from check_explaining(item)
    yield from check_completeness(item, rules)


def check_repeats(items: Sequence[Item]) -> Iterator[tuple[str, Fault]]:
    """Find ids used twice, items that stand twice, and equal items with different keys."""
    ids = Counter(item.item_id for item in items)
    for item_id in (item_id for item_id, count in ids.items() if count > 1):
        yield item_id, Fault("id_repeated", "item_id", f"stands on {ids[item_id]} items")
    stems = [fold_stem(item.question) for item in items]
    uses = Counter(stems)
    groups: defaultdict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item, stem in zip(items, stems, strict=True):
        if uses[stem] > 1:  # most stems stand alone: their options need no folding
            texts = sorted(fold_option(option.answer) for option in item.options)
            groups[stem, fold_stem(item.question_material or ""), *texts].append(item)
    for group in groups.values():
        if len(group) > 1:
            yield from _compare(sorted(group, key=lambda item: item.item_id))


def one_each(repeats: Iterable[tuple[str, Fault]]) -> Iterator[tuple[str, Fault]]:
    """Keep one fault a group of equal items, that of its first, whose evidence names the others.

    Where keys are at odds each item keeps its own: any of them may be the wrong one.
    """
    told: set[str] = set()
    for item_id, fault in repeats:
        if fault.rule == "item_repeated" and item_id in told:
            continue
        told.update(fault.evidence.get("others", ()))
        yield item_id, fault


def _compare(group: Sequence[Item]) -> Iterator[tuple[str, Fault]]:
    """Compare items that ask the same with the same options: is the right answer the same too?"""
    answers = {item.item_id: fold_option(item.correct_text or "") for item in group}
    rule = "item_repeated" if len(set(answers.values())) == 1 else "keys_conflict"
    for item in group:
        others = [one.item_id for one in group if one is not item]
        message = f"the same item as {', '.join(others[:3])}"
        if rule == "keys_conflict":
            message += ", with another right answer"
        yield (
            item.item_id,
            Fault(
                rule, "correct_answer" if rule == "keys_conflict" else "question", message, {"others": others}
            ),
        )


def severities_of(profile: ProfileName, rules: ItemRules = ItemRules()) -> dict[str, Severity]:
    """Return the rules that count in a profile, with their severities; kina.toml has the last word.

    Raises:
        ConfigError: kina.toml names a rule that does not exist.
    """
    need_rules(rules.severity, "items.severity", ConfigError)
    graded = {name: getattr(rule, profile) for name, rule in RULES.items()} | dict(rules.severity)
    return {name: severity for name, severity in graded.items() if severity not in (None, "off")}


def _grade(item_id: str, faults: Any, severities: Mapping[str, Severity]) -> Iterator[Finding]:
    for fault in faults:
        severity = severities.get(fault.rule)
        if severity:
            yield Finding(
                item_id=item_id,
                rule=fault.rule,
                severity=severity,
                field=fault.field,
                message=fault.message,
                evidence=dict(fault.evidence),
            )
