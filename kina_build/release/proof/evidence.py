"""The evidence of a release: what anyone needs to compute its figures anew.

Ids of items that are not released, and of those in private splits, are hashes under a salt that
is made from the author's pool, questions and keys included: whoever has the pool makes it again.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.errors import Refusal
from kina_build.items.model import Item
from kina_build.release import standalone
from kina_build.release.admission import Decision
from kina_build.release.options import Extent
from kina_build.release.proof.instance import write_instance
from kina_build.rows.jsonl import canonical, write_document, writing
from kina_build.scoring.estimator import Estimator

if TYPE_CHECKING:
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import Selection

FOLDER = "evidence"
VERIFIER = "evidence/verify.py"
SALTED = "salted:"


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

    salt: bytes = b""
    chosen: Chosen | None = None
    decisions: Sequence[Decision] | None = None
    audit: Sequence[Audited] | None = None
    estimator: Estimator | None = None
    """What scores on the released questions say of the pool."""
    extent: Extent | None = None
    """None: full, and refused where that is large."""


NOTHING = Sources()
"""Of a release that states no figures."""


@dataclass(frozen=True)
class Naming:
    """Under which name an item stands in the evidence."""

    salt: bytes
    split_of: Mapping[str, str]
    """Split of each released item."""
    private: frozenset[str]

    def name(self, item_id: str) -> str:
        """Return the id of an item whose answer is in the release, a hash of any other."""
        split = self.split_of.get(item_id)
        if split is not None and split not in self.private:
            return item_id
        return SALTED + hmac.new(self.salt, item_id.encode(), hashlib.sha256).hexdigest()[:32]

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


def make_salt(pool: Iterable[Item]) -> bytes:
    """Make the salt of a pool: nobody makes it who lacks one of its questions or keys."""
    total = hashlib.sha256(b"kina-build evidence")
    for item in sorted(pool, key=lambda item: item.item_id):
        options = [[option.key, option.answer] for option in item.options]
        told = [item.item_id, item.question, options, item.correct_answer, item.explanation]
        total.update(canonical(told).encode() + b"\n")
    return total.digest()


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
