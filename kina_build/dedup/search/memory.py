"""How much memory vectors may take: what the setting leaves over."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kina_build.config import EngineRules

WORKER_BYTES = 250_000_000
"""What a Ray worker takes before it has read a row (measured)."""


def spare_bytes(rules: EngineRules = EngineRules()) -> int:
    """Return what engine.memory_mb leaves over beside what this process holds already."""
    return rules.memory_mb * 10**6 - resident_bytes()


def part_bytes(rules: EngineRules, workers: int) -> int:
    """Return what one part of the work may take: threads share this process, Ray workers have their own.

    Args:
        rules: memory of a process, and the kind of engine.
        workers: parts that run side by side.
    """
    if rules.kind == "ray":
        return rules.memory_mb * 10**6 - WORKER_BYTES
    return spare_bytes(rules) // workers


def resident_bytes() -> int:
    """Return the memory that this process holds now; where the system does not say, its most so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
