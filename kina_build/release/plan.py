"""From a pool to a plan: what is released, in which split, under which letters, past which gates."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kina_build.config import ItemRules, ReleaseRules
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.progress import Progress, silent
from kina_build.release.admission import Admission, count_reasons
from kina_build.release.gates import GATES, REDUCED, Draft, exempt, find_faults
from kina_build.release.lettering.order import Lettering, keep_letters, letter_items, make_secret
from kina_build.release.lettering.references import find_last_texts
from kina_build.release.options import ExportOptions, parse_date, parse_pairs
from kina_build.release.record import (
    Exemption,
    GateFault,
    Letters,
    Provenance,
    ReleaseRecord,
    Withheld,
)
from kina_build.release.rows import Row
from kina_build.release.splits import SPLITS, TAKEN, assign_splits, natural
from kina_build.release.versions import Version, parse_version


@dataclass(frozen=True)
class Request:
    """What the publisher asks for."""

    name: str = "benchmark"
    """Short name, also of the harness tasks: letters, digits, underscores."""
    title: str = ""
    published: str | None = None
    """Date for card and Croissant, YYYY-MM-DD; none by default: outputs hold no clock."""
    creators: tuple[str, ...] = ()
    """Whom to cite."""
    url: str | None = None
    """Where the release is published."""
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

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or not self.name.isascii():
            raise UsageError(f"--name {self.name!r}: use letters, digits and underscores")
        if keyword.iskeyword(self.name) or self.name in TAKEN:
            raise UsageError(f"--name {self.name}: means something else in the files for harnesses")


@dataclass(frozen=True)
class Past:
    """The release before this one, as read back."""

    record: ReleaseRecord
    rows: Mapping[str, Sequence[Row]]
    folder: Path | None = None
    """Where it was read."""

    @property
    def split_of(self) -> dict[str, str]:
        """Return each item's split."""
        return {row.id: split for split, rows in self.rows.items() for row in rows}


@dataclass(frozen=True)
class Plan:
    """A release before it is made, and the gates that stand in its way."""

    request: Request
    withheld: Sequence[Withheld]
    provenance: Provenance
    taken_down: Mapping[str, str]
    """Ids withdrawn, over all versions, and why."""
    past: Past | None
    items: Mapping[str, Sequence[Item]]
    """By split, in natural order of ids, with final letters."""
    letters: Letters
    faults: Sequence[GateFault]
    """Gates that fired and were not let pass; a plan that has any is not carried out."""
    exemptions: Sequence[Exemption]


def plan_release(
    admission: Admission,
    request: Request,
    *,
    provenance: Provenance,
    clusters: Sequence[Sequence[str]] = (),
    taken_down: Mapping[str, str] | None = None,
    past: Past | None = None,
    rules: ReleaseRules = ReleaseRules(),
    item_rules: ItemRules = ItemRules(),
    on_progress: Progress = silent,
    processes: int = 1,
) -> Plan:
    """Plan a release of admitted items; the order in which they come does not matter.

    Args:
        admission: the items, in natural order of ids, and what was withheld.
        request: what the publisher asks for.
        provenance: how the items were chosen and checked.
        clusters: near-copies, which go to one split together.
        taken_down: ids withdrawn, over all versions.
        past: the release before this one: its splits are kept.
        rules: numbers of the release.
        item_rules: numbers of the gates about questions.
        on_progress: told of items checked.
        processes: that share the gates about single questions.
    """
    splits = assign_splits(
        admission.items,
        clusters,
        seed=request.seed,
        rules=rules,
        earlier=past.split_of if past else None,
    )
    parts = {split: [item for item in admission.items if splits[item.item_id] == split] for split in SPLITS}
    lettered = _letter(parts, request, past, rules, find_last_texts(admission.items, rules))
    items = {split: tuple(one.item for one in kept) for split, kept in lettered.items()}
    forbidden = {one.item_id: one.reason for one in admission.withheld} | dict(taken_down or {})
    draft = Draft(items, clusters, request.licenses, forbidden)
    found = find_faults(draft, item_rules, on_progress, processes)
    faults, exemptions = exempt([*found, *_reduced(admission, provenance, taken_down or {})], request.allowed)
    return Plan(
        request=request,
        withheld=admission.withheld,
        provenance=_keep_private(provenance, items, request.private),
        taken_down=taken_down or {},
        past=past,
        items=items,
        letters=_summarise([one for kept in lettered.values() for one in kept], request.shuffle),
        faults=faults,
        exemptions=tell_less(exemptions) if request.private else exemptions,
    )


def read_request(options: ExportOptions) -> Request:
    """Read what the options ask for.

    Raises:
        UsageError: a name, date, version, split, gate or reason that cannot be.
    """
    _check_named("--private", options.private, SPLITS)
    allowed = parse_pairs(options.allow, "--allow", reason_needed=True)
    _check_named("--allow", allowed, GATES)
    if options.url is not None and not re.fullmatch(r"https?://[!-~]+", options.url):
        raise UsageError(f"--url {options.url!r} is no web address", hint="it begins with https://")
    return Request(
        name=options.name,
        title=options.title,
        published=parse_date(options.published) if options.published else None,
        version=parse_version(options.release_version) if options.release_version else None,
        seed=options.seed,
        shuffle=options.shuffle,
        private=frozenset(options.private),
        licenses=frozenset(options.license),
        allowed=allowed,
        creators=_creators(options.creator),
        url=options.url,
    )


def _creators(given: Sequence[str]) -> tuple[str, ...]:
    creators = tuple(" ".join(one.split()) for one in given)
    if not all(creators):
        raise UsageError("--creator is blank", hint="give a name, or leave the option out")
    return creators


def _letter(
    parts: Mapping[str, Sequence[Item]],
    request: Request,
    past: Past | None,
    rules: ReleaseRules,
    last: frozenset[str],
) -> dict[str, list[Lettering]]:
    """Letter the options of each split's items."""
    if not request.shuffle:
        return {split: [keep_letters(item) for item in items] for split, items in parts.items()}
    # keys that are too few to be a secret stay out of it: what it draws would let anyone try them out
    balanced = {
        split: split not in request.private or len(items) >= rules.committed_answers
        for split, items in parts.items()
    }
    secret = make_secret(item for split, items in parts.items() if balanced[split] for item in items)
    return {
        split: letter_items(
            items,
            seed=request.seed,
            secret=secret,
            balanced=balanced[split],
            earlier={row.id: row.choices for row in (past.rows.get(split, ()) if past else ())},
            last=last,
        )
        for split, items in parts.items()
    }


def _keep_private(
    known: Provenance, items: Mapping[str, Sequence[Item]], private: frozenset[str]
) -> Provenance:
    """Only count the private keys that were corrected: old and new letter would tell them."""
    hidden = {item.item_id for split in private for item in items[split]} & known.corrected_keys.keys()
    kept = {item_id: keys for item_id, keys in known.corrected_keys.items() if item_id not in hidden}
    return known.model_copy(update={"corrected_keys": kept, "corrected_private": len(hidden)})


def _reduced(admission: Admission, provenance: Provenance, named: Mapping[str, str]) -> Sequence[GateFault]:
    """Tell that items of the selection are not released, but for those taken down by name."""
    if provenance.selection is None:
        return ()
    items = {one.item_id: one.reason for one in admission.withheld if one.item_id not in named}
    lost = f"{len(items)} of the {provenance.selection['items']} selected items"
    count = f"{lost} are not released: {count_reasons(items.values())}"
    return [GateFault(rule=REDUCED, message=count, items=items, evidence={})] if items else ()


def _summarise(letterings: Sequence[Lettering], shuffled: bool) -> Letters:
    return Letters(
        shuffled=shuffled,
        kept={one.item.item_id: one.kept for one in letterings if one.kept and shuffled},
        rewritten=tuple(sorted((one.item.item_id for one in letterings if one.rewritten), key=natural)),
    )


def _check_named(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    choices = list(known)
    for name in names:
        if name not in choices:
            near = difflib.get_close_matches(name, choices, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(choices)}"
            raise UsageError(f"{option} {name}: no such name", hint=hint)


def tell_less(exemptions: Sequence[Exemption]) -> tuple[Exemption, ...]:
    """Take the figures out of what is said of a release as a whole: they count private keys, too."""
    return tuple(
        one if one.item_ids else one.model_copy(update={"message": GATES[one.rule]}) for one in exemptions
    )
