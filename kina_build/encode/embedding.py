"""Texts to unit vectors, each different text once, and none whose vector is kept already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.encode.encoders import Encoder, Tokenising
from kina_build.encode.kept import Reuse, find_intact, find_kept, key_of
from kina_build.encode.vectorcache import load_vectors, store_vectors, vector_key
from kina_build.encode.vectorfiles import VectorFiles, open_vectors, write_vectors
from kina_build.errors import InputError, Refusal
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), rows of length 1."""

SAVED_AT_ONCE = 1024
"""Texts between two saves of the cache: what an interruption can cost."""
ROWS_A_FILE = 16_384
"""Vectors of one file where they are kept in files: 25 MB at 384 dimensions."""
UNIT_SLACK = 1e-3
"""How far a vector's length may be from 1."""


def embed(
    texts: Sequence[str],
    encoder: Encoder,
    cache: Path | None = None,
    on_progress: Progress = silent,
    *,
    reuse: Reuse | None = None,
) -> Vectors:
    """Encode texts, each different text once, and none whose vector is kept already.

    Args:
        texts: any texts, repeats allowed.
        encoder: where vectors come from.
        cache: file of kept vectors (made when absent); None keeps nothing.
        on_progress: told (texts encoded, texts to encode).
        reuse: whether kept vectors may be used, and the count of those that were.

    Returns:
        Shape (len(texts), encoder.dimension), rows of length 1.

    Raises:
        InputError: the cache cannot be used, or the encoder gave something that is no unit vector.
    """
    source = key_of(encoder)
    keys = [vector_key(source, text) for text in texts]
    wanted = dict(zip(keys, texts, strict=True))
    known = find_kept(wanted, encoder, cache, reuse or Reuse()) if cache else {}
    missing = {key: text for key, text in wanted.items() if key not in known}
    for fresh in _encoded(missing, encoder, on_progress):
        known.update(fresh)
        if cache:
            store_vectors(cache, fresh, source)
    return _rows(known, keys, encoder.dimension)


def embed_to_files(
    texts: Sequence[str],
    encoder: Encoder,
    folder: Path,
    cache: Path | None = None,
    on_progress: Progress = silent,
    *,
    reuse: Reuse | None = None,
) -> VectorFiles:
    """Encode texts as `embed` does, to the same vectors, without holding them in memory.

    Args:
        texts: any texts, repeats allowed.
        encoder: where vectors come from.
        folder: where the vectors are laid down, from the cache, which is what a later run goes on from.
        cache: file of kept vectors; None keeps them in the folder.
        on_progress: told (texts encoded, texts to encode).
        reuse: as `embed`.

    Raises:
        InputError: as `embed`, or the folder cannot be written.
    """
    cache = cache or folder / "vectors.sqlite"
    source = key_of(encoder)
    keys = [vector_key(source, text) for text in texts]
    wanted = dict(zip(keys, texts, strict=True))
    intact = find_intact(wanted, encoder, cache, reuse or Reuse())
    missing = {key: text for key, text in wanted.items() if key not in intact}
    for fresh in _encoded(missing, encoder, on_progress):
        store_vectors(cache, fresh, source)
    place = folder / f"vectors-{hashlib.sha256(b''.join(keys)).hexdigest()[:16]}"
    paths = []
    for start in range(0, len(keys), ROWS_A_FILE):
        part = keys[start : start + ROWS_A_FILE]
        paths.append(place / f"{start}.npy")
        write_vectors(paths[-1], _stored_rows(cache, part, encoder.dimension))
    return open_vectors(paths)


def _stored_rows(cache: Path, keys: Sequence[bytes], dimension: int) -> Vectors:
    known = load_vectors(cache, sorted(set(keys)), dimension).vectors
    if len(known) < len(set(keys)):
        raise InputError(f"{cache}: vectors were changed while they were used", hint="run the command again")
    return _rows(known, keys, dimension)


def _encoded(
    wanted: Mapping[bytes, str], encoder: Encoder, on_progress: Progress
) -> Iterator[dict[bytes, Vectors]]:
    """Encode texts, longest first, and hand out as many as are saved at once."""
    order = sorted(wanted, key=lambda key: (-len(wanted[key]), key))
    for start in range(0, len(order), SAVED_AT_ONCE):
        part = order[start : start + SAVED_AT_ONCE]
        fresh = encoder.encode([wanted[key] for key in part], _shifted(on_progress, start, len(order)))
        _check_vectors(fresh, (len(part), encoder.dimension), encoder.name)
        yield dict(zip(part, fresh, strict=True))


def _rows(known: Mapping[bytes, Vectors], keys: Sequence[bytes], dimension: int) -> Vectors:
    vectors = np.empty((len(keys), dimension), dtype=np.float32)
    for row, key in enumerate(keys):
        vectors[row] = known[key]
    return vectors


def unknown_rate(texts: Sequence[str], encoder: Encoder, sample: int) -> float:
    """Measure the share of tokens the encoder does not know, 0 where it cannot tell.

    Args:
        texts: the texts to be encoded.
        encoder: the encoder.
        sample: texts looked at, evenly spaced over the sorted ones.
    """
    if not isinstance(encoder, Tokenising):
        return 0.0
    ordered = sorted(set(texts))
    step = max(1, len(ordered) // sample)
    unknown, total = encoder.count_unknown(ordered[::step])
    return unknown / total if total else 0.0


def _shifted(on_progress: Progress, start: int, total: int) -> Progress:
    return lambda done, _: on_progress(start + done, total)


def _check_vectors(vectors: Vectors, shape: tuple[int, int], name: str) -> None:
    if vectors.shape != shape:
        raise InputError(f"encoder {name!r} gave vectors of shape {vectors.shape}, not {shape}")
    # NaN fails this comparison too
    if not (np.abs(np.linalg.norm(vectors, axis=1) - 1) <= UNIT_SLACK).all():
        raise InputError(
            f"encoder {name!r} gave a vector that is not of length 1",
            hint="is there an item without any text? `kina check` names it",
        )


def check_known(texts: Sequence[str], encoder: Encoder, rules: DedupRules) -> float:
    """Measure the share of tokens an encoder does not know.

    Raises:
        Refusal: it is above rules.unknown_limit; different texts would become one vector.
    """
    rate = unknown_rate(texts, encoder, rules.unknown_sample)
    if rate > rules.unknown_limit:
        raise Refusal(
            f"encoder {encoder.name!r} does not know {rate:.1%} of the tokens"
            f" (limit {rules.unknown_limit:.1%})",
            hint="take a multilingual one, such as --encoder use-multilingual-v3, or compare letters only "
            "with --no-near; --unknown-limit 1 goes on regardless",
        )
    return rate
