"""The tournament of an item's two reviews: who counts, who wins, what becomes of the item."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
