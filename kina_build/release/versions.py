"""What makes two releases the same: content hash, canary, version numbers, the diff between two."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from kina_build.errors import UsageError
from kina_build.release.rows import Row
from kina_build.release.splits import natural
from kina_build.rows.jsonl import canonical

if TYPE_CHECKING:
    from kina_build.release.plan import Past

CANARY_NAMESPACE = uuid.UUID("5b0b0c39-7bd5-5a0e-9c55-4f0d1a3c0a10")
"""Of the UUIDv5 canaries, so that equal releases carry equal canaries."""

Bump = Literal["none", "patch", "minor", "major"]


class Version(NamedTuple):
    """A version number: major.minor.patch."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


FIRST = Version(1, 0, 0)


class Difference(BaseModel):
    """What changed between two releases, by item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed_key: tuple[str, ...]
    """The right option is another text, or another letter over the same options."""
    changed_text: tuple[str, ...]
    """The stem or its material differs."""
    changed_options: tuple[str, ...]
    """The option texts, or their order, differ."""
    changed_details: tuple[str, ...]
    """Taxonomy, source, licence, language or explanations differ, or the answer is published or no more."""
    moved: dict[str, tuple[str, str]]
    """Items that changed split: old, new."""
    bump: Bump
    """Least step of the version: changed or removed items are major, added ones minor."""
    scores_comparable: bool
    """Whether a score on the old test split means the same on the new one."""


def parse_version(text: str) -> Version:
    """Read "1.2.3".

    Raises:
        UsageError: anything else.
    """
    if not re.fullmatch(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}", text, re.ASCII):
        raise UsageError(f"{text!r} is not a version", hint="write it as major.minor.patch, e.g. 1.2.0")
    return Version(*map(int, text.split(".")))


def next_version(old: Version, bump: Bump) -> Version:
    """Return the least version that says what changed."""
    if bump == "major":
        return Version(old.major + 1, 0, 0)
    if bump == "minor":
        return Version(old.major, old.minor + 1, 0)
    return Version(old.major, old.minor, old.patch + 1) if bump == "patch" else old


def content_hash(rows: Iterable[Row]) -> str:
    """Hash what the rows say, whatever their order, file format or Unicode composition.

    The canary is left out, because it is made from this hash. Empty and absent fields
    are the same.

    Returns:
        64 hex digits.
    """
    total = hashlib.sha256()
    for row in sorted(rows, key=lambda row: row.id):
        total.update(canonical(composed(row)).encode() + b"\n")
    return total.hexdigest()


def composed(row: Row) -> dict[str, Any]:
    """Return a row's content in Unicode form NFC, without empty fields and canary."""
    content = row.model_dump(mode="json", exclude={"canary"})
    said = {k: v for k, v in content.items() if v not in (None, "", []) and v is not False}
    return {name: _nfc(value) for name, value in said.items()}


def row_hash(row: Row) -> str:
    """Hash what an item asks, whatever its letters: an id that comes back is recognised by it."""
    asked = [_nfc(row.question), _nfc(row.material), sorted(map(_nfc, row.choices))]
    return hashlib.sha256(canonical(asked).encode()).hexdigest()


def make_canary(name: str, version: Version, content: str) -> str:
    """Make the UUID that every row and file of one version carries."""
    return str(uuid.uuid5(CANARY_NAMESPACE, f"{name} {version} {content}"))


def compare(
    old: Mapping[str, Sequence[Row]], new: Mapping[str, Sequence[Row]], *, scored: str = "test"
) -> Difference:
    """Compare two releases item by item.

    Args:
        old: rows by split.
        new: rows by split.
        scored: the split on which models are compared.
    """
    before = {row.id: (split, row) for split, rows in old.items() for row in rows}
    after = {row.id: (split, row) for split, rows in new.items() for row in rows}
    common = _ordered(before.keys() & after.keys())
    pairs = [(before[item_id][1], after[item_id][1]) for item_id in common]
    moved = {i: (before[i][0], after[i][0]) for i in common if before[i][0] != after[i][0]}
    added, removed = _ordered(after.keys() - before.keys()), _ordered(before.keys() - after.keys())
    key = tuple(a.id for a, b in pairs if _key_differs(a, b))
    text = tuple(a.id for a, b in pairs if (a.question, a.material) != (b.question, b.material))
    options = tuple(a.id for a, b in pairs if a.choices != b.choices)
    details = tuple(a.id for a, b in pairs if _details(a) != _details(b))
    major = bool(removed or key or text or options or moved)
    changed = {*added, *removed, *key, *text, *options, *moved}
    touched = {before[i][0] for i in changed & before.keys()} | {after[i][0] for i in changed & after.keys()}
    return Difference(
        added=added,
        removed=removed,
        changed_key=key,
        changed_text=text,
        changed_options=options,
        changed_details=details,
        moved=moved,
        bump="major" if major else "minor" if added else "patch" if details else "none",
        scores_comparable=scored not in touched,
    )


def diff_releases(before: Past, after: Past) -> dict[str, Any]:
    """Tell what changed between two releases, and whether the version of the later one says so."""
    found = compare(before.rows, after.rows)
    least = next_version(parse_version(before.record.version), found.bump)
    old, new = before.record, after.record
    return {
        "old": {"version": old.version, "content_hash": old.content_hash},
        "new": {"version": new.version, "content_hash": new.content_hash},
        **found.model_dump(mode="json"),
        "least_version": str(least),
        "version_says_enough": parse_version(new.version) >= least,
    }


def row_map(old: Sequence[Row], new: Sequence[Row]) -> list[dict[str, Any]]:
    """Map the row numbers (0-based) of an old split to the new ones, through the ids.

    Results that were filed by row number find their item again; null means: gone.
    """
    place = {row.id: number for number, row in enumerate(new)}
    return [{"id": row.id, "old_row": number, "new_row": place.get(row.id)} for number, row in enumerate(old)]


def _key_differs(old: Row, new: Row) -> bool:
    if old.answer is None or new.answer is None:  # private: nothing to compare
        return False
    if old.choices == new.choices:
        return old.answer != new.answer
    # an edit of the keyed option's wording alone is a change of options, not of the key
    rekeyed = old.answer != new.answer or old.correct_text in new.choices
    return rekeyed and old.correct_text != new.correct_text


def _details(row: Row) -> dict[str, Any]:
    judged = {"id", "question", "material", "choices", "answer", "answer_index", "canary", "several"}
    told = {name: value for name, value in composed(row).items() if name not in judged}
    return told | {"private": row.answer is None}


def _ordered(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=natural))


def _nfc(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    return [_nfc(one) for one in value] if isinstance(value, list) else value
