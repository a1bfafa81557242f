"""The economics of a batch: how large the bonus must be, what it can cost, what it would change."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
