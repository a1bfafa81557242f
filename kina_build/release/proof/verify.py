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
from kina_build.manifest import digest
from kina_build.release.files.croissant import distribution_faults
from kina_build.release.files.write import data_files, derive_figures, derived_files, digest_texts
from kina_build.release.folder import files, read_release, sum_faults
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
from kina_build.release.proof.evidence import VERIFIER, is_verifier, verifier_digest
from kina_build.release.proof.pool_error import check_estimator
from kina_build.release.record import PROVEN, SEALED
from kina_build.release.rows import Row, to_item
from kina_build.release.splits import CARD, CHANGES, CROISSANT, ESTIMATOR, RECORD, SUMS, natural
from kina_build.release.standalone import EVIDENCE, Unsound, card_faults
from kina_build.release.versions import content_hash
from kina_build.rows.jsonl import canonical, dump_document, read_json, read_records, read_text


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


def check_derived(subject: Subject) -> Iterator[Fault]:
    """Write card, Croissant, harness files and manifest anew, and compare byte for byte."""
    from jinja2 import TemplateError

    record, rows = subject.past.record, {s: kept for s, kept in subject.past.rows.items() if kept}
    if record.format not in PROVEN:
        return
    try:
        expected = derived_files(record, rows, subject.folder)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, TemplateError) as error:
        yield Fault("", f"{RECORD}: what it states is of another shape, no card follows from it ({error!r})")
        return
    if record.derived != (digest_texts(expected) if record.format in SEALED else {}):
        yield Fault("", f"{RECORD}: the digests of card, Croissant or harness files are others")
    expected[RECORD] = dump_document(record)
    if record.format not in SEALED:  # the wording of that version is not ours any more; its figures are
        del expected[CARD]
        yield from _check_card(subject)
    for name, text in expected.items():
        if _bytes(subject.folder / name) != text.encode():
            yield Fault("", f"{name}: not what follows from the manifest and the rows ({record.made_with})")
    wanted = set(data_files(rows)) | ({CHANGES} if record.earlier else set())
    wanted |= {name for name in record.files if name in EVIDENCE}
    wanted |= {ESTIMATOR} if record.pool_error else set()
    for name in sorted(set(record.files) ^ wanted):
        yield Fault("", f"{name}: no file of such a release, or not in the manifest")
    yield from _foreign(subject, {*expected, *record.files, CARD, SUMS})


def _check_card(subject: Subject) -> Iterator[Fault]:
    """Check every number of a card that another version worded, as the stand-alone verifier does."""
    record = subject.past.record
    rows = {s: [row.model_dump(mode="json") for row in kept] for s, kept in subject.past.rows.items()}
    card = read_text(subject.folder / CARD)
    found = card_faults(card, record.figures, record.model_dump(mode="json"), rows)
    yield from (Fault("", fault) for fault in found)


def _foreign(subject: Subject, named: set[str]) -> Iterator[Fault]:
    """Find files that are no part of a release, and those that are others than the manifest names."""
    stated = subject.past.record.files
    for file in files(subject.folder):
        name = file.relative_to(subject.folder).as_posix()
        if name not in named:
            yield Fault("", f"{name}: is no part of a release")
        elif name in stated and digest(file).sha256 != stated[name]:
            yield Fault("", f"{name}: is not the file that the manifest names")
    shipped = _bytes(subject.folder / VERIFIER) or b""
    if VERIFIER in stated and not is_verifier(shipped, subject.past.record.format):
        yield Fault("", f"{VERIFIER}: is not the verifier of this version; `kina verify` did not use it")


def check_figures(subject: Subject) -> Iterator[Fault]:
    """Derive the figures anew from rows and evidence, and from the estimator where one travels."""
    yield from check_estimator(subject)
    record = subject.past.record
    private = {split for split, count in record.counts.items() if count.private}
    try:
        found = derive_figures(subject.folder, subject.past.rows, private)
    except Unsound as error:
        yield Fault("", str(error))
        return
    if record.format in PROVEN and not _is_same(found, record.figures):
        yield Fault(
            "", f"the figures that the evidence shows are {found}, the manifest says {record.figures}"
        )


def check_croissant(subject: Subject) -> Iterator[Fault]:
    """Check the Croissant file's digests and addresses."""
    document = read_json(subject.folder / CROISSANT)
    distribution = document.get("distribution", []) if isinstance(document, dict) else []
    if not isinstance(distribution, list) or not all(isinstance(one, dict) for one in distribution):
        yield Fault("", "the distribution is no list of files")
        return
    # what lies in the folder is what may be opened: no name leads out of it, whatever the manifest lists
    there = {file.relative_to(subject.folder).as_posix() for file in files(subject.folder)}
    known: list[Mapping[str, Any]] = []
    for one in distribution:
        name = str(one.get("contentUrl"))
        if name not in subject.past.record.files:
            yield Fault("", f"{name}: no data file of the release")
        elif name not in there:
            yield Fault("", f"{name}: is not in the release folder, so it was not opened")
        else:
            known.append(one)
    yield from (Fault("", fault) for fault in distribution_faults(known, subject.folder))


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


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _is_same(one: Any, other: Any) -> bool:
    return canonical(one) == canonical(other)


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
