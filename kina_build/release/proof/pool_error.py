"""What a release says of scores on the whole pool: its estimator.json, and the manifest's figures of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from kina_build.errors import Refusal
from kina_build.release.build import Release
from kina_build.release.proof.contents import Fault, Subject
from kina_build.release.record import PoolError
from kina_build.release.splits import ESTIMATOR, RECORD
from kina_build.scoring.estimator import Estimator, digest_items, read_estimator


def state_error(made: Release, estimator: Estimator | None) -> Release:
    """Put into a release what an estimator says of it.

    Raises:
        Refusal: it is of other items than those of a split, or of all splits together.
    """
    if estimator is None:
        return made
    found = measure(estimator, {split: [row.id for row in rows] for split, rows in made.rows.items()})
    if found is None:
        raise Refusal(
            f"the estimator is of {estimator.items} other items than those of the release, or of one split",
            hint="export without it, then `kina shrink SCORES --given release/test.jsonl "
            "--write-estimator estimator.json` makes that of the test split",
        )
    return replace(made, record=made.record.model_copy(update={"pool_error": found}))


def measure(estimator: Estimator, ids: Mapping[str, Collection[str]]) -> PoolError | None:
    """Return what an estimator says of the splits whose items it is of; None: of none.

    Args:
        estimator: of a form.
        ids: the items of each split.
    """
    held = {split: kept for split, kept in ids.items() if kept}
    sets = [tuple(held), *((split,) for split in held)]
    splits = next((names for names in sets if _is_of(estimator, [i for n in names for i in held[n]])), None)
    if splits is None:
        return None
    singly = estimator.left_out[0]
    return PoolError(
        splits=splits,
        items=estimator.items,
        pool_items=estimator.pool_items,
        estimator=estimator.estimator,
        models=singly.models,
        level=estimator.level,
        error=singly.error,
        low=singly.low,
        high=singly.high,
        raw_bias=estimator.raw_bias,
        raw_most=estimator.raw_most,
    )


def check_estimator(subject: Subject) -> Iterator[Fault]:
    """Compare what the manifest says of the pool's scores with estimator.json and the rows."""
    stated, path = subject.past.record.pool_error, subject.folder / ESTIMATOR
    if stated is None and not path.exists():
        return
    found = measure(
        read_estimator(path), {s: [row.id for row in rows] for s, rows in subject.past.rows.items()}
    )
    if found is None:
        yield Fault("", f"{ESTIMATOR}: of other items than those of the release")
    elif found != stated:
        yield Fault("", f"{ESTIMATOR} says {found.model_dump()}, {RECORD} says something else")


def _is_of(estimator: Estimator, ids: Collection[str]) -> bool:
    return len(ids) == estimator.items and digest_items(ids) == estimator.items_sha256
