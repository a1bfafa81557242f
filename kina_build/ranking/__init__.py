"""Leaderboards from per-item scores: ranks that say what is known, and how stable they are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
