"""Check a release folder against its own manifest, checksums, copies and gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.config import ItemRules
from kina_build.errors import InputError
from kina_build.items.batches import count_processes
from kina_build.items.model import Item
from kina_build.release.folder import read_release, sum_faults
from kina_build.release.gates import Draft, find_faults
from kina_build.release.plan import Past
from kina_build.release.proof.contents import (
    Fault,
    Subject,
    check_copies,
    check_counts,
    check_identity,
    check_rows,
    check_stated,
)
from kina_build.release.proof.derived import check_croissant, check_derived, check_figures
from kina_build.release.proof.evidence import verifier_digest
from kina_build.release.record import PROVEN
from kina_build.release.rows import Row, to_item
from kina_build.release.splits import RECORD, natural
from kina_build.release.versions import content_hash
from kina_build.rows.jsonl import read_records


@dataclass(frozen=True)
class Verification:
    """What was checked, and what was found wanting."""

    checks: tuple[str, ...]
    """Names of the checks that were made."""
    faults: tuple[Fault, ...]
    past: Past
    """The release as read."""

    def __bool__(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        record = self.past.record
        state = f"{len(self.faults)} faults" if self.faults else "as it says"
        told = (f"{fault.check}: {fault.message}" for fault in self.faults)
        return "\n".join([f"{record.name}, version {record.version}: {state}", *told])

    @property
    def report(self) -> dict[str, Any]:
        """Return what was found, as plain values."""
        record = self.past.record
        return {
            "version": record.version,
            "content_hash": record.content_hash,
            "figures": record.figures,
            "verifier": verifier_digest(),
            "items": sum(count.items for count in record.counts.values()),
            "ok": not self.faults,
            "checks": list(self.checks),
            "faults": [
                {"check": f.check, "message": f.message, "item_ids": list(f.item_ids)} for f in self.faults
            ],
            "exemptions": [one.model_dump(mode="json") for one in record.exemptions],
        }


def verify_release(
    folder: Path | str, answers: Path | str | None = None, rules: ItemRules = ItemRules()
) -> Verification:
    """Check a release folder; nothing in it is trusted.

    Args:
        folder: the release.
        answers: the file of private answers, if the caller has it.
        rules: numbers of the gates about questions.

    Raises:
        InputError: no manifest, or rows that cannot be read at all.
    """
    folder = Path(folder)
    past = read_release(folder, strangers=True)
    subject = Subject(folder, past, _join(past, Path(answers)) if answers else None, rules)
    faults: list[Fault] = []
    for name, check in CHECKS.items():
        try:
            faults += [Fault(name, fault.message, fault.item_ids) for fault in check(subject)]
        except InputError as error:
            faults.append(Fault(name, error.message))
    return Verification(tuple(CHECKS), tuple(faults), past)


def check_files(subject: Subject) -> Iterator[Fault]:
    """Compare every file with SHA256SUMS."""
    yield from (Fault("", line) for line in sum_faults(subject.folder))


def check_format(subject: Subject) -> Iterator[Fault]:
    """Check that the manifest is of a format that proves itself, and not damaged."""
    record = subject.past.record
    if record.format not in PROVEN:
        made = f"made with {record.made_with}, format {record.format}"
        yield Fault("", f"{made}: its figures cannot be derived from it; export it anew")
    elif record.seal != record.seal_of():
        yield Fault("", f"{RECORD} was changed after it was sealed")


def check_answers(subject: Subject) -> Iterator[Fault]:
    """Compare private answers, where given, with the hash that was published of them."""
    stated = subject.past.record.answers_hash
    if subject.answers is not None and stated and content_hash(subject.answers) != stated:
        yield Fault("", "the answers are not those whose hash was published")


def check_gates(subject: Subject) -> Iterator[Fault]:
    """Run the gates on the rows; those let pass by name at export are not repeated."""
    record = subject.past.record
    keyed = {row.id: row for row in subject.answers or ()}
    splits: dict[str, list[Item]] = {}
    for split, rows in subject.past.rows.items():
        full = zip(rows, subject.items[split], strict=True)
        own = [to_item(keyed[row.id]) if row.id in keyed else item for row, item in full]
        splits[split] = [item for item in own if item.correct_answer]
    forbidden = {one.item_id: one.reason for one in record.withheld} | record.taken_down
    passed = {one.rule: set(one.item_ids) for one in record.exemptions}
    processes = count_processes(sum(map(len, splits.values())), subject.rules)
    for fault in find_faults(Draft(splits, (), frozenset(), forbidden), subject.rules, processes=processes):
        fresh = set(fault.item_ids) - passed.get(fault.rule, set())
        if fault.rule not in passed or (fault.item_ids and fresh):
            ids = tuple(sorted(fresh, key=natural)) or fault.item_ids
            yield Fault("", f"{fault.rule}: {fault.message}", ids)


CHECKS: Mapping[str, Callable[[Subject], Iterator[Fault]]] = {
    "files": check_files,
    "rows": check_rows,
    "identity": check_identity,
    "counts": check_counts,
    "stated": check_stated,
    "copies": check_copies,
    "figures": check_figures,
    "format": check_format,
    "derived": check_derived,
    "croissant": check_croissant,
    "answers": check_answers,
    "gates": check_gates,
}


def _join(past: Past, answers: Path) -> list[Row]:
    """Put private answers back into their rows.

    Raises:
        InputError: an answer for no row, or a row without its answer.
    """
    from kina_build.release.rows import Answer, put_back

    given = {one.id: one for one in read_records(answers, Answer)}
    hidden = [row for split, rows in past.rows.items() if past.record.counts[split].private for row in rows]
    unknown = sorted(given.keys() - {row.id for row in hidden}, key=natural)
    missing = [row.id for row in hidden if row.id not in given]
    if unknown or missing:
        which = f"no row {unknown[0]!r} in the release" if unknown else f"no answer for {missing[0]!r}"
        raise InputError(f"{answers}: {which}", hint="give the answers that were written with this release")
    return [put_back(row, given[row.id]) for row in hidden]
