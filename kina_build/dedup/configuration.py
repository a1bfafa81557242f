"""What shapes an encoder's vectors beside its weights: length limit, pooling, prompts, tokenizer."""

from __future__ import annotations

import hashlib
import json
from typing import Any

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
