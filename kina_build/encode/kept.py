"""Which kept vectors may be used: those that fit their digests, if the encoder still agrees with a sample."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.encode.encoders import Configured, Encoder, Identified
from kina_build.encode.vectorcache import (
    drop_older,
    drop_vectors,
    encoder_key,
    intact_keys,
    load_vectors,
)

Vectors = NDArray[np.float32]

SAMPLE = 16
"""Kept vectors that are computed again and compared, at each use of a cache."""
SAMPLE_SEED = 0
COSINE_SLACK = 1e-4
"""How far the cosine of a kept vector and the same one computed again may be from 1: the same text in
another batch differs by 6e-7, in bfloat16 by 2e-5 (measured)."""


def key_of(encoder: Encoder) -> bytes:
    """Hash all that shapes the vectors of an encoder."""
    configuration = encoder.configuration if isinstance(encoder, Configured) else ""
    return encoder_key(encoder.name, encoder.revision, configuration, encoder.dimension)


def find_kept(
    wanted: Mapping[bytes, str], encoder: Encoder, cache: Path, reuse: Reuse
) -> dict[bytes, Vectors]:
    """Read the kept vectors of some texts.

    Args:
        wanted: key of the vector to text.
        encoder: where the vectors came from.
        cache: the file.
        reuse: told how many there are, and what was wrong with others.

    Raises:
        InputError: the cache cannot be used.
    """
    if not _may_use(cache, reuse):
        return {}
    kept = load_vectors(cache, list(wanted), encoder.dimension)
    _tell_spoiled(cache, kept.spoiled, reuse)
    if not (_needs_no_model(kept.vectors.keys(), wanted, encoder) or _agrees(kept.vectors, wanted, encoder)):
        _forget(cache, encoder, reuse)
        return {}
    reuse.vectors += len(kept.vectors)
    return kept.vectors


def find_intact(wanted: Mapping[bytes, str], encoder: Encoder, cache: Path, reuse: Reuse) -> set[bytes]:
    """Return which of some texts have a kept vector, as `find_kept` but without holding the vectors.

    Raises:
        InputError: the cache cannot be used.
    """
    if not _may_use(cache, reuse):
        return set()
    intact, spoiled = intact_keys(cache, list(wanted), encoder.dimension)
    _tell_spoiled(cache, spoiled, reuse)
    if _needs_no_model(intact, wanted, encoder):
        reuse.vectors += len(intact)
        return intact
    sample = load_vectors(cache, _sample(intact), encoder.dimension)
    if not _agrees(sample.vectors, wanted, encoder):
        _forget(cache, encoder, reuse)
        return set()
    reuse.vectors += len(intact)
    return intact


def _may_use(cache: Path, reuse: Reuse) -> bool:
    if drop_older(cache):
        reuse.note(f"{cache}: vectors that an older version kept carry no digests; they are made anew")
    return not reuse.forced


def _tell_spoiled(cache: Path, count: int, reuse: Reuse) -> None:
    if count:
        reuse.note(f"{cache}: {count} kept vectors do not fit their digests; they are made anew")


def _forget(cache: Path, encoder: Encoder, reuse: Reuse) -> None:
    drop_vectors(cache, key_of(encoder))
    reuse.note(f"{cache}: kept vectors are not what encoder {encoder.name!r} gives now; all are made anew")


def _needs_no_model(kept: Set[bytes], wanted: Mapping[bytes, str], encoder: Encoder) -> bool:
    """Tell whether a model can stay unloaded: nothing is missing, and the keys say all of its vectors."""
    return len(kept) == len(wanted) and isinstance(encoder, Identified) and encoder.identified


def _sample(keys: set[bytes]) -> list[bytes]:
    ordered = sorted(keys)
    if len(ordered) <= SAMPLE:
        return ordered
    drawn = np.random.default_rng(SAMPLE_SEED).choice(len(ordered), SAMPLE, replace=False)
    return [ordered[at] for at in sorted(drawn.tolist())]


def _agrees(kept: Mapping[bytes, Vectors], wanted: Mapping[bytes, str], encoder: Encoder) -> bool:
    """Tell whether the encoder gives a sample of kept vectors again."""
    keys = _sample(set(kept))
    if not keys:
        return True
    fresh = encoder.encode([wanted[key] for key in keys])
    distances = np.linalg.norm(fresh - np.array([kept[key] for key in keys]), axis=1)
    # of unit vectors, the distance squared is twice what the cosine lacks; NaN fails too
    return bool((distances**2 <= 2 * COSINE_SLACK).all())


@dataclass
class Reuse:
    """Counts of what was taken over after it was checked, and what did not pass."""

    forced: bool = False
    """Take over nothing: make all anew, and keep that instead."""
    vectors: int = 0
    """Vectors from the cache."""
    blocks: int = 0
    """Pairs of blocks that were compared before."""
    indexed: int = 0
    """Items whose close pairs stood in a kept index."""
    parts: int = 0
    """Finished parts of a folder of support."""
    replies: int = 0
    """Replies from the log, which were paid for before."""
    notes: list[str] = field(default_factory=list)
    """What was found changed, damaged or of an older form, and made anew; each line once."""

    def note(self, line: str) -> None:
        """Keep a line for the user, unless it was kept before."""
        if line not in self.notes:
            self.notes.append(line)

    def add(self, other: Reuse) -> None:
        """Add what a worker took over."""
        for kind in ("vectors", "blocks", "indexed", "parts", "replies"):
            setattr(self, kind, getattr(self, kind) + getattr(other, kind))
        for line in other.notes:
            self.note(line)

    def counts(self, *kinds: str) -> dict[str, int]:
        """Return the counts of some kinds, for a report."""
        return {kind: getattr(self, kind) for kind in kinds}
