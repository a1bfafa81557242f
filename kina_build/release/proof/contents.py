"""What a release holds, against its own manifest: rows, counts, hashes, and the copies of the rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kina_build.config import ItemRules
from kina_build.items.model import LETTERS, Item, named_keys
from kina_build.release.build import count_split
from kina_build.release.files.parquet import holds_rows, read_parquet
from kina_build.release.files.write import kina_bytes
from kina_build.release.plan import Past
from kina_build.release.rows import Row, columns, to_item, to_kina
from kina_build.release.splits import kina_file, natural, parquet_file
from kina_build.release.standalone import said_in_kina, stated_faults
from kina_build.release.versions import content_hash, make_canary, parse_version
from kina_build.rows.jsonl import canonical, read_json


@dataclass(frozen=True)
class Fault:
    """One thing about a release that is not as it says."""

    check: str
    message: str
    item_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A release folder under test."""

    folder: Path
    past: Past
    answers: Sequence[Row] | None
    """Rows of the private splits with their answers, where the file was given."""
    rules: ItemRules

    @cached_property
    def items(self) -> Mapping[str, Sequence[Item]]:
        """Return the items that the rows are, by split; made once, for they are many."""
        return {split: [to_item(row) for row in rows] for split, rows in self.past.rows.items()}


def check_rows(subject: Subject) -> Iterator[Fault]:
    """Check each row: key among its options, letter and index agree, no answer where it is private."""
    for split, rows in subject.past.rows.items():
        private = subject.past.record.counts[split].private
        wrong = [row.id for row in rows if not _answer_fits(row, private)]
        if wrong:
            told = "an answer stands in the rows" if private else "letter, index and options disagree"
            yield Fault("", f"{split}: {told}", tuple(wrong))
    ids = Counter(row.id for rows in subject.past.rows.values() for row in rows)
    repeated = tuple(sorted((item_id for item_id, count in ids.items() if count > 1), key=natural))
    if repeated:
        yield Fault("", "ids stand on more than one row", repeated)


def check_identity(subject: Subject) -> Iterator[Fault]:
    """Recompute content hash and canary from the rows."""
    record = subject.past.record
    content = content_hash(row for rows in subject.past.rows.values() for row in rows)
    if content != record.content_hash:
        yield Fault("", f"the rows' content hash is {content}, the manifest says {record.content_hash}")
    canary = make_canary(record.name, parse_version(record.version), record.content_hash)
    if canary != record.canary:
        yield Fault("", f"the canary of this name, version and content is {canary}, not {record.canary}")
    strange = tuple(r.id for rows in subject.past.rows.values() for r in rows if r.canary != record.canary)
    if strange:
        yield Fault("", "rows without this version's canary", strange)


def check_counts(subject: Subject) -> Iterator[Fault]:
    """Recount splits, paths, options and letters."""
    for split, stated in subject.past.record.counts.items():
        counted = count_split(subject.items[split], stated.private)
        for name, value in counted.model_dump().items():
            if value != getattr(stated, name):
                yield Fault("", f"{split}: {name} is {value}, the manifest says {getattr(stated, name)}")


def check_stated(subject: Subject) -> Iterator[Fault]:
    """Hold what the manifest states of licences, selection, review and changes to rows and evidence."""
    record = subject.past.record.model_dump(mode="json")
    rows = {
        split: [{"id": row.id, "license": row.license, "language": row.language} for row in kept]
        for split, kept in subject.past.rows.items()
    }
    try:
        found = stated_faults(subject.folder, record, rows)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        found = [f"what the manifest states is of another shape ({error!r})"]
    yield from (Fault("", fault) for fault in found)


def check_copies(subject: Subject) -> Iterator[Fault]:
    """Compare the parquet files and KINA.json with the JSON Lines."""
    names = columns([row for kept in subject.past.rows.values() for row in kept])
    for split, rows in subject.past.rows.items():
        if not rows:
            continue
        parquet, kina = subject.folder / parquet_file(split), subject.folder / kina_file(split)
        same = {
            parquet_file(split): holds_rows(parquet, rows, names)
            or content_hash(read_parquet(parquet)) == content_hash(rows),
            kina_file(split): _is_kina(kina, subject.items[split]),
        }
        yield from (
            Fault("", f"{name} says something else than {split}.jsonl") for name in same if not same[name]
        )


def _is_kina(path: Path, items: Sequence[Item]) -> bool:
    """Tell whether KINA.json says what items say; the sources of single options aside."""
    if (
        path.is_file() and b"".join(kina_bytes(items)) == path.read_bytes()
    ):  # reading it takes longer than writing it anew
        return True
    return _kina_digest(read_json(path)) == _kina_digest([to_kina(item) for item in items])


def _answer_fits(row: Row, private: bool) -> bool:
    if private:
        return row.answer is None and row.answer_index is None and not row.explanation
    index = row.answer_index
    if row.several:
        right = named_keys(row.answer or "", LETTERS[: len(row.choices)])
        return index is None and len(right) > 1 and "".join(right) == row.answer
    return index is not None and 0 <= index < len(row.choices) and row.answer == LETTERS[index]


def _kina_digest(entries: Any) -> str:
    """Digest what KINA.json says that the rows say too: all but the sources of single options."""
    try:
        said = sorted(canonical(said_in_kina(entry)) for entry in entries)
    except (AttributeError, KeyError, TypeError):  # not the lists and objects that KINA.json is made of
        return ""
    return hashlib.sha256("\n".join(said).encode()).hexdigest()
