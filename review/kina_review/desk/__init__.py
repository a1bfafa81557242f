"""The review desk: who reviews what, out to Label Studio or worksheets, back, and how far people agree."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
