"""From a plan to a release in memory: rows, version, canary, manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kina_build import __version__
from kina_build.config import ReleaseRules
from kina_build.errors import Refusal
from kina_build.items.model import Item
from kina_build.release.lettering.balance import letter_counts
from kina_build.release.plan import Past, Plan
from kina_build.release.record import FORMAT, Earlier, ReleaseRecord, SplitCount
from kina_build.release.rows import PATH_SEPARATOR, Row, hide_answer, to_row
from kina_build.release.splits import natural
from kina_build.release.versions import (
    FIRST,
    Difference,
    Version,
    compare,
    content_hash,
    make_canary,
    next_version,
    parse_version,
    row_hash,
)
from kina_build.scoring.prompts import PROMPT_VERSION
from kina_build.scoring.replies import EXTRACTOR_VERSION

Rows = Mapping[str, Sequence[Row]]
"""Rows by split."""


@dataclass(frozen=True)
class Release:
    """A release in memory."""

    record: ReleaseRecord
    items: Mapping[str, Sequence[Item]]
    """By split, in natural order of ids, with final letters and all answers."""
    rows: Rows
    """By split, as published: without the answers of private splits."""
    difference: Difference | None
    """From the release before this one."""


def make_release(plan: Plan, rules: ReleaseRules = ReleaseRules()) -> Release:
    """Carry out a plan that no gate stands in the way of.

    Raises:
        Refusal: a gate stands in the way, an id of an earlier version comes back as
            another item, or the version asked for says less than what changed.
    """
    if plan.faults:
        raise Refusal(f"gates stand in the way: {', '.join(fault.rule for fault in plan.faults)}")
    request, past = plan.request, plan.past
    full = {split: [to_row(item) for item in items] for split, items in plan.items.items()}
    public = {s: [hide_answer(r) for r in rows] if s in request.private else rows for s, rows in full.items()}
    difference = compare(past.rows, public) if past else None
    version = choose_version(request.version, past, difference)
    content = content_hash(row for rows in public.values() for row in rows)
    canary = make_canary(request.name, version, content)
    items = [item for kept in plan.items.values() for item in kept]
    record = ReleaseRecord(
        format=FORMAT,
        name=request.name,
        title=" ".join(request.title.split()) or request.name,
        version=str(version),
        published=request.published,
        creators=request.creators,
        url=request.url,
        content_hash=content,
        answers_hash=hash_answers(full, request.private, rules),
        canary=canary,
        prompt_version=PROMPT_VERSION,
        extractor_version=EXTRACTOR_VERSION,
        made_with=f"kina-build {__version__}",
        seed=request.seed,
        counts={split: count_split(kept, split in request.private) for split, kept in plan.items.items()},
        licenses=_count(item.license or "" for item in items),
        languages=_count(item.language or "" for item in items),
        letters=plan.letters,
        provenance=plan.provenance,
        withheld=tuple(plan.withheld),
        exemptions=tuple(plan.exemptions),
        taken_down=dict(sorted(plan.taken_down.items())),
        retired=retire(past, public),
        earlier=_earlier(past, difference),
    )
    stamped = {s: [r.model_copy(update={"canary": canary}) for r in rows] for s, rows in public.items()}
    return Release(record, plan.items, stamped, difference)


def count_split(items: Sequence[Item], private: bool) -> SplitCount:
    """Count what one split holds."""
    sizes = [len(item.options) for item in items]
    return SplitCount(
        items=len(items),
        private=private,
        by_path=_count(PATH_SEPARATOR.join(item.path) for item in items),
        option_counts=_count(map(str, sizes)),
        key_letters={} if private else letter_counts(items),
        chance=sum(1 / item.ways for item in items) / len(items) if items else None,
    )


def hash_answers(full: Rows, private: frozenset[str], rules: ReleaseRules) -> str | None:
    """Hash the rows of private splits with their answers; None where the answers could be guessed from it."""
    hidden = [row for split in sorted(private) for row in full[split]]
    return content_hash(hidden) if len(hidden) >= rules.committed_answers else None


def choose_version(asked: Version | None, past: Past | None, difference: Difference | None) -> Version:
    """Return the version asked for, or the least one that says what changed.

    Raises:
        Refusal: the version asked for says less than what changed.
    """
    if past is None or difference is None:
        return asked or FIRST
    old = parse_version(past.record.version)
    least = next_version(old, difference.bump)
    if asked is not None and asked < least:
        raise Refusal(
            f"version {asked} says too little: against {old} this is a {difference.bump} change",
            hint=f"the least version is {least}; leave --release-version out to get it",
        )
    return asked or least


def retire(past: Past | None, public: Rows) -> dict[str, str]:
    """Return ids of all earlier versions that are not in this one, with their content's hash.

    Raises:
        Refusal: such an id is back with other content.
    """
    if past is None:
        return {}
    present = {row.id: row for rows in public.values() for row in rows}
    retired = past.record.retired
    reused = [i for i, content in retired.items() if i in present and row_hash(present[i]) != content]
    if reused:
        raise Refusal(
            f"ids of earlier versions come back as other items: {', '.join(reused)}",
            hint="an id is never used again: give the new items ids of their own",
        )
    left = {row.id: row_hash(row) for rows in past.rows.values() for row in rows if row.id not in present}
    gone = left | {item_id: content for item_id, content in retired.items() if item_id not in present}
    return {item_id: gone[item_id] for item_id in sorted(gone, key=natural)}


def _earlier(past: Past | None, difference: Difference | None) -> Earlier | None:
    if past is None or difference is None:
        return None
    return Earlier(
        version=past.record.version,
        content_hash=past.record.content_hash,
        difference=difference.model_dump(mode="json"),
    )


def _count(values: Iterable[str]) -> dict[str, int]:
    counts = Counter(values)
    return {value: counts[value] for value in sorted(counts, key=natural)}
