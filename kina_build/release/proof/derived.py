"""What a release derives from its record: harness files, card, figures and Croissant page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kina_build.manifest import digest
from kina_build.release.files.croissant import distribution_faults
from kina_build.release.files.write import data_files, derive_figures, derived_files, digest_texts
from kina_build.release.folder import files
from kina_build.release.proof.contents import Fault, Subject
from kina_build.release.proof.evidence import VERIFIER, is_verifier
from kina_build.release.proof.pool_error import check_estimator
from kina_build.release.record import PROVEN, SEALED
from kina_build.release.splits import CARD, CHANGES, CROISSANT, ESTIMATOR, RECORD, SUMS
from kina_build.release.standalone import EVIDENCE, Unsound, card_faults
from kina_build.rows.jsonl import canonical, dump_document, read_json, read_text


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


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _is_same(one: Any, other: Any) -> bool:
    return canonical(one) == canonical(other)
