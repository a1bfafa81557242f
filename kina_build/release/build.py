"""From admitted items to a release in memory: splits, letters, rows, version, manifest, gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kina_build import __version__
from kina_build.config import ReleaseRules
from kina_build.errors import Refusal
from kina_build.items.model import Item
from kina_build.release.admission import Admission
from kina_build.release.draw import natural
from kina_build.release.gates import Draft, exempt, find_faults, letter_counts
from kina_build.release.letters import Lettering, assign_letters
from kina_build.release.record import (
    Earlier,
    Finding,
    Letters,
    Provenance,
    ReleaseRecord,
    SplitCount,
)
from kina_build.release.rows import Row, hide_answer, to_row
from kina_build.release.splits import SPLITS, assign_splits
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

PROMPT_VERSION = "kina-1"
EXTRACTOR_VERSION = "1"


@dataclass(frozen=True)
class Request:
    """What the publisher asks for."""

    name: str = "benchmark"
    """Short name, also of the harness tasks: letters, digits, underscores."""
    title: str = ""
    version: Version | None = None
    """None takes the least version that says what changed."""
    seed: int = 0
    shuffle: bool = True
    private: frozenset[str] = frozenset()
    """Splits whose answers are kept apart."""
    licenses: frozenset[str] = frozenset()
    """Licences the card claims; empty claims those of the rows."""
    allowed: Mapping[str, str] = field(default_factory=dict)
    """Gates let pass by name, with the reason."""


@dataclass(frozen=True)
class Past:
    """The release before this one, as read back."""

    record: ReleaseRecord
    rows: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Release:
    """A release in memory."""

    record: ReleaseRecord
    items: Mapping[str, Sequence[Item]]
    """By split, in natural order of ids, with final letters and all answers."""
    rows: Mapping[str, Sequence[Row]]
    """By split, as published: without the answers of private splits."""
    findings: tuple[Finding, ...]
    """Gates that fired and were not let pass; a release that has any is not written."""
    difference: Difference | None = None


def build_release(
    admission: Admission,
    request: Request,
    *,
    clusters: Sequence[Sequence[str]] = (),
    provenance: Provenance,
    taken_down: Mapping[str, str] | None = None,
    past: Past | None = None,
    rules: ReleaseRules = ReleaseRules(),
) -> Release:
    """Make a release of admitted items; the order in which they come does not matter.

    Args:
        admission: the items, and what was withheld.
        request: what the publisher asks for.
        clusters: near-copies, which go to one split together.
        provenance: how the items were chosen and checked.
        taken_down: ids withdrawn, over all versions.
        past: the release before this one: its splits and retired ids are kept.
        rules: numbers of the release.

    Raises:
        Refusal: an id of an earlier version comes back as another item, or the version
            asked for says less than what changed.
    """
    split_of = assign_splits(
        admission.items, clusters, seed=request.seed, rules=rules, earlier=_earlier_splits(past)
    )
    lettered = [
        assign_letters(item, seed=request.seed, shuffle=request.shuffle)
        for item in sorted(admission.items, key=lambda item: natural(item.item_id))
    ]
    items = {
        split: tuple(one.item for one in lettered if split_of[one.item.item_id] == split) for split in SPLITS
    }
    withheld = {one.item_id: one.reason for one in admission.withheld} | dict(taken_down or {})
    draft = Draft(items, clusters, request.licenses, withheld)
    stopping, exemptions = exempt(find_faults(draft, rules), request.allowed)
    if any(finding.rule == "key_missing" for finding in stopping):
        items = {split: tuple(i for i in kept if i.correct_text is not None) for split, kept in items.items()}
    full = {split: [to_row(item) for item in kept] for split, kept in items.items()}
    bare = {s: [hide_answer(r) for r in rows] if s in request.private else rows for s, rows in full.items()}
    difference = None if past is None else compare(past.rows, bare)
    version = _version(request.version, past, difference)
    content = content_hash(row for rows in bare.values() for row in rows)
    canary = make_canary(request.name, version, content)
    record = ReleaseRecord(
        name=request.name,
        title=request.title or request.name,
        version=str(version),
        content_hash=content,
        answers_hash=_answers_hash(full, request.private, rules),
        canary=canary,
        prompt_version=PROMPT_VERSION,
        extractor_version=EXTRACTOR_VERSION,
        made_with=f"kina-build {__version__}",
        seed=request.seed,
        counts={split: count_split(kept, split in request.private) for split, kept in items.items()},
        licenses=_count(item.license or "" for item in admission.items),
        languages=_count(item.language or "" for item in admission.items),
        letters=_letters(lettered, request.shuffle),
        provenance=provenance,
        withheld=admission.withheld,
        exemptions=exemptions,
        taken_down=dict(sorted((taken_down or {}).items())),
        retired=_retired(past, bare),
        earlier=_earlier(past, difference),
    )
    stamped = {s: tuple(r.model_copy(update={"canary": canary}) for r in rows) for s, rows in bare.items()}
    return Release(record, items, stamped, tuple(stopping), difference)


def count_split(items: Sequence[Item], private: bool) -> SplitCount:
    """Count what one split holds."""
    sizes = [len(item.options) for item in items]
    return SplitCount(
        items=len(items),
        private=private,
        by_path=_count("/".join(item.path) for item in items),
        option_counts=_count(map(str, sizes), by_number=True),
        key_letters={} if private else letter_counts(items),
        chance=sum(1 / size for size in sizes) / len(sizes) if sizes else None,
    )


def _count(values: Iterable[str], *, by_number: bool = False) -> dict[str, int]:
    counts = Counter(values)
    return {value: counts[value] for value in sorted(counts, key=natural if by_number else str)}


def _letters(lettered: Sequence[Lettering], shuffle: bool) -> Letters:
    return Letters(
        shuffled=shuffle,
        kept={one.item.item_id: one.kept for one in lettered if one.kept and shuffle},
        rewritten=tuple(one.item.item_id for one in lettered if one.rewritten),
    )


def _answers_hash(
    full: Mapping[str, Sequence[Row]], private: frozenset[str], rules: ReleaseRules
) -> str | None:
    hidden = [row for split in sorted(private) for row in full[split]]
    # with few items the answers could be found by trying all of them
    return content_hash(hidden) if len(hidden) >= rules.committed_answers else None


def _version(asked: Version | None, past: Past | None, difference: Difference | None) -> Version:
    if past is None or difference is None:
        return asked or FIRST
    old = parse_version(past.record.version)
    needed = next_version(old, difference.bump)
    if asked is not None and asked < needed:
        raise Refusal(
            f"version {asked} says too little: against {old} this is a {difference.bump} change",
            hint=f"the least version is {needed}; leave the version out to get it",
        )
    return asked or needed


def _earlier_splits(past: Past | None) -> dict[str, str]:
    return {row.id: split for split, rows in past.rows.items() for row in rows} if past else {}


def _earlier(past: Past | None, difference: Difference | None) -> Earlier | None:
    if past is None or difference is None:
        return None
    return Earlier(
        version=past.record.version,
        content_hash=past.record.content_hash,
        difference=difference.model_dump(mode="json"),
    )


def _retired(past: Past | None, new: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Return ids of all earlier versions that are not in this one, with their content's hash.

    Raises:
        Refusal: such an id is back with other content.
    """
    if past is None:
        return {}
    present = {row.id: row_hash(row) for rows in new.values() for row in rows}
    reused = [i for i, content in past.record.retired.items() if present.get(i, content) != content]
    if reused:
        raise Refusal(
            f"ids of earlier versions come back as other items: {', '.join(reused)}",
            hint="an id is never used again: give the new items ids of their own",
        )
    gone = {row.id: row_hash(row) for rows in past.rows.values() for row in rows} | past.record.retired
    return {item_id: gone[item_id] for item_id in sorted(gone, key=natural) if item_id not in present}
