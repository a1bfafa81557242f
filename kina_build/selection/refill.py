"""What a selection that is topped up after review hands on: its files, its objective, what still stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from kina_build.errors import InputError, Refusal, UsageError
from kina_build.progress import Teller
from kina_build.selection.files import Files
from kina_build.selection.inputs import Inputs
from kina_build.selection.recorded import find_files
from kina_build.selection.records import Selection

SHAPES = {"support": "support", "anchors": "support or anchors"}
"""Kinds of input that make the objective: with other ones the set is measured by another number."""

BINDS = {
    "strata": "--strata",
    "domains": "--domain-by",
    "quota": "--quota",
    "conflicts": "--conflicts",
    "exclude": "--exclude",
}
"""Kinds that only bound the set, and the options that bring them."""


def files_to_refill(document: Selection, selection: Path, decisions: Path, accepted_only: bool) -> Files:
    """Return the files of `kina top-up`: those of the reviewed selection, and the decisions.

    Raises:
        InputError: the selection was itself made with decisions.
        UsageError: it names no files.
    """
    if document.eligible != "all":
        hint = "`kina top-up` takes the first selection, which was made before review"
        raise InputError(f"{selection}: was itself made with decisions", hint=hint)
    eligible: Literal["accepted", "not refused"] = "accepted" if accepted_only else "not refused"
    found = find_files(document, selection.parent)
    return replace(found, decisions=decisions, keep=selection, eligible=eligible)


def folds_again(document: Selection, asked: int | None) -> dict[str, int]:
    """Return the items that count for an anchor by domain, as in the selection that is filled up.

    Args:
        document: the selection.
        asked: what the caller states; None: as it was.

    Raises:
        UsageError: the caller states another number than the selection has.
    """
    found = {name: part.folds for part in document.domains for name in part.sizes}
    wrong = [part for part in document.domains if asked and part.folds != max(1, min(asked, part.k))]
    if wrong:
        where = f" in domain {wrong[0].domain!r}" if wrong[0].domain else ""
        raise UsageError(
            f"--folds {asked}: the selection counts {wrong[0].folds} items an anchor{where}",
            hint="leave --folds out to fill it up by its own objective; `kina select` makes it anew",
        )
    return found


def check_again(document: Selection, inputs: Inputs, tell: Teller, *, ruled: bool = False) -> None:
    """Refuse scores or anchors other than the selection was made from, and name constraints that changed.

    Args:
        document: the selection that is filled up.
        inputs: what is read now.
        tell: told of changed constraints, which bind the refilled set as they are now.
        ruled: quotas follow from the eligible items, so that they change with the decisions.

    Raises:
        Refusal: the objective is another.
    """
    now = inputs.digests
    other = [word for kind, word in SHAPES.items() if now[kind] != document.inputs.get(kind)]
    if other:
        raise Refusal(
            f"{other[0]}: not what the selection was made from, so its objective is another",
            hint="`kina select` makes the selection anew; --must keeps items of the old one",
        )
    kinds = [kind for kind in BINDS if not (ruled and kind in {"strata", "quota"})]
    changed = [BINDS[kind] for kind in kinds if now.get(kind) != document.inputs.get(kind)]
    if changed:
        tell.warn(f"{', '.join(changed)}: changed since the selection was made; the new ones bind now")


def count_kept(document: Selection, decided: Mapping[str, str], accepted_only: bool) -> int:
    """Count the items of a reviewed selection that stay when it is topped up."""
    kinds = [decided.get(item_id, "undecided") for item_id in document.item_ids]
    return kinds.count("accept") + (0 if accepted_only else kinds.count("undecided"))
