"""Build, certify, review, release and score knowledge benchmarks for language models.

    import kina_build as kb

    pool = kb.read_questions("pool.csv")
    copies = kb.find_duplicates(pool)

The names below are the library: they stay through a major version, or are deprecated for a minor one
first. What else the rooms hold (`kina_build.dedup`, ...) may move. Nothing heavy is loaded before a
name is used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "kina_build.items": {
        "read_questions": "read_questions",
        "read_pool": "read_pool",
        "check": "check",
        "triage": "triage_keys",
    },
    "kina_build.dedup": {
        "find_duplicates": "find_duplicates",
        "find_contamination": "find_contamination",
    },
    "kina_build.support": {
        "read_anchors": "read_anchors",
        "score_support": "score_support",
    },
    "kina_build.selection": {
        "share_budget": "share_budget",
        "sample": "sample",
        "select": "select",
        "top_up": "top_up",
        "certify": "certify",
    },
    "kina_build.release": {
        "build_release": "build_release",
        "verify": "verify_release",
    },
    "kina_build.scoring": {
        "ask": "ask",
        "read_responses": "read_responses",
        "score": "score",
    },
    "kina_build.ranking": {"rank": "rank"},
    "kina_build.report": {"write_report": "write_report"},
    "kina_review": {
        "read_reviews": "read_reviews",
        "PayRule": "PayRule",
        "settle": "settle",
        "plan_payments": "plan_payments",
        "reconcile": "reconcile",
        "audit": "audit",
        "calibrate": "calibrate",
    },
}
"""Room, and its names by what the library calls them; `__init__.pyi` says the same to type checkers."""

_PLACES = {name: (room, own) for room, names in _HOMES.items() for name, own in names.items()}

__all__ = sorted(_PLACES)  # noqa: PLE0605  the names are those of the table


def __getattr__(name: str) -> Any:
    """Load a name of the library from its room (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, own = _PLACES[name]
    return getattr(importlib.import_module(room), own)


def __dir__() -> list[str]:
    """List the names of the library."""
    return [*__all__, "__version__"]
