"""The evidence of a release: what anyone needs to compute its figures anew.

Ids of items that are not released, and of those in private splits, are hashes under a salt that
the author keeps, in a file that only its owner can read. It is drawn, and not made from the pool:
whoever has all of a pool but a few private keys could try these out.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.errors import InputError, Refusal, UsageError
from kina_build.release import standalone
from kina_build.release.admission import Decision
from kina_build.release.options import Extent
from kina_build.release.proof.instance import write_instance
from kina_build.rows.jsonl import canonical, read_text, write_document, writing
from kina_build.rows.outputs import open_part, sweep
from kina_build.scoring.estimator import Estimator

if TYPE_CHECKING:
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import Selection

FOLDER = "evidence"
VERIFIER = "evidence/verify.py"
FORMER: Mapping[int, str] = {
    2: "8afa42d98b69f7f8fcc62b2753344d922c21efd4c0e7538b7699e533c18c29f4",
    3: "3502349c73b0c2c8caa9ca34f3cec21205da344f5608b75d371dc4154f7bee8d",
}
"""sha256 of the stand-alone verifier as earlier versions of release.json had it beside them."""
SALTED = "salted:"
SALT = "kina.salt"
"""File that the salt is kept in, in the folder that the release lies in."""


@dataclass(frozen=True)
class Chosen:
    """A selection that was checked against its files, and these files."""

    document: Selection
    inputs: Inputs


@dataclass(frozen=True)
class Audited:
    """One item that an audit drew."""

    item_id: str
    flawed: bool


@dataclass(frozen=True)
class Sources:
    """What a release's figures are derived from."""

    chosen: Chosen | None = None
    decisions: Sequence[Decision] | None = None
    audit: Sequence[Audited] | None = None
    estimator: Estimator | None = None
    """What scores on the released questions say of the pool."""
    extent: Extent | None = None
    """None: full, and refused where that is large."""


NOTHING = Sources()
"""Of a release that states no figures."""


class Salt:
    """The secret of an author's hidden ids: read where it lies, or drawn when the first of them is written.

    Releases of one author in one folder share it, so that an item that stays hidden keeps its name
    from version to version, and equal inputs give equal bytes.
    """

    def __init__(self, *places: Path):
        self.places = places
        """Files it may lie in; a new one is written to the first."""
        self.used: Path | None = None
        """The file it was read from; None: no id had to be hidden so far."""

    @cached_property
    def key(self) -> bytes:
        """Return the secret.

        Raises:
            InputError: it cannot be read or written, or is no such file.
        """
        found = next((place for place in self.places if place.exists()), None)
        if found is None:
            found = self.places[0]
            _draw_salt(found)
        sweep(found)  # of a run that was killed between the salt's two names
        text = read_text(found).strip()
        if not re.fullmatch("[0-9a-f]{64}", text):
            raise InputError(f"{found}: no salt of kina: 64 hex digits", hint="name another with --salt")
        self.used = found
        return bytes.fromhex(text)


def place_salt(target: Path, named: Path | None = None, previous: Path | None = None) -> Salt:
    """Find where the salt of a release lies or is put: never in the release itself.

    Args:
        target: the release folder.
        named: the file that the author names.
        previous: folder of the release before this one.

    Raises:
        UsageError: the file would be published.
    """
    folders = [folder.resolve() for folder in (target, previous) if folder]
    salt = Salt(named) if named else Salt(*(folder.parent / SALT for folder in folders))
    for place in salt.places:
        if folders[0] in place.resolve().parents:
            raise UsageError(f"{place}: the salt does not belong in the release folder")
    return salt


def _draw_salt(path: Path) -> None:
    """Write a new salt, unless another process was faster."""
    try:
        handle, part = open_part(path)
        with os.fdopen(handle, "w") as out:
            out.write(f"{secrets.token_hex(32)}\n")
            out.flush()
            os.fsync(handle)
            try:
                os.link(part, path)
            except FileExistsError:
                pass
            except OSError:  # a file system without hard links
                part.rename(path)
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None


@dataclass(frozen=True)
class Naming:
    """Under which name an item stands in the evidence."""

    release: str
    """Name of the release: the ids of another one are hashed to other names."""
    salt: Salt
    split_of: Mapping[str, str]
    """Split of each released item."""
    private: frozenset[str]

    def name(self, item_id: str) -> str:
        """Return the id of an item whose answer is in the release, a hash of any other."""
        split = self.split_of.get(item_id)
        if split is not None and split not in self.private:
            return item_id
        told = canonical([self.release, item_id]).encode()
        return SALTED + hmac.new(self.salt.key, told, hashlib.sha256).hexdigest()[:32]

    def judged(self, item_id: str, what: Any) -> list[Any]:
        """Return a judgement of an item as the evidence has it."""
        return [self.name(item_id), what, self.split_of.get(item_id)]


def check_selection(name: str, document: Selection, read: Callable[[], Inputs]) -> Chosen:
    """Certify a selection by its files, as `kina certify` does.

    Args:
        name: what messages call it.
        document: the selection.
        read: reads the files it was made from.

    Raises:
        Refusal: it does not hold.
    """
    from kina_build.selection.verifier.verify import verify

    joined = next((part.domain for part in document.domains if len(part.sizes) > 1), None)
    if joined is not None:
        raise Refusal(
            f"{name}: conflicts join the domains {joined}, and figures of a release are derived "
            "domain by domain",
            hint="state no figures with --evidence none",
        )
    inputs = read()
    verdict = verify(document, inputs)
    if not verdict.holds:
        raise Refusal(
            f"{name}: does not hold against its files: {verdict.faults[0]}",
            hint="`kina certify` lists all that differs; `kina select` makes it anew",
        )
    return Chosen(document, inputs)


def write_evidence(folder: Path, sources: Sources, naming: Naming) -> None:
    """Write the evidence of a release into its folder, and the stand-alone verifier beside it.

    Raises:
        Refusal: it is large, and nobody said how much of it shall travel.
    """
    if sources.extent == "none" or not (sources.chosen or sources.decisions or sources.audit):
        return
    (folder / FOLDER).mkdir()
    if sources.chosen:
        write_instance(folder, sources.chosen, naming, sources.extent)
    if sources.decisions is not None or sources.audit is not None:
        write_document(folder / standalone.JUDGED, _judgements(sources, naming))
    with writing(folder / VERIFIER) as out:
        out.write(verifier_source())


def verifier_source() -> bytes:
    """Return the stand-alone verifier as this version ships it."""
    return (files("kina_build.release") / "standalone.py").read_bytes()


def is_verifier(content: bytes, version: int) -> bool:
    """Tell whether a file is the stand-alone verifier that was shipped with a version of release.json."""
    return hashlib.sha256(content).hexdigest() == FORMER.get(version, verifier_digest())


def verifier_digest() -> str:
    """Return the sha256 of the stand-alone verifier."""
    return hashlib.sha256(verifier_source()).hexdigest()


def _judgements(sources: Sources, naming: Naming) -> dict[str, Any]:
    decided, drawn = sources.decisions, sources.audit
    kinds = None if decided is None else {one.item_id: one.decision for one in decided}
    found = None if drawn is None else {one.item_id: one.flawed for one in drawn}
    judged = {"decisions": _name_all(kinds, naming), "audit": _name_all(found, naming)}
    held = {one.item_id: _count(one.opinions.values()) for one in decided or () if one.opinions}
    return judged | ({"opinions": _name_all(held, naming)} if held else {})


def _count(opinions: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(opinions).items()))


def _name_all(judged: Mapping[str, Any] | None, naming: Naming) -> list[list[Any]] | None:
    if judged is None:
        return None
    return sorted((naming.judged(item_id, what) for item_id, what in judged.items()), key=_first)


def _first(row: Sequence[Any]) -> str:
    return str(row[0])
