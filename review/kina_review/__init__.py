"""The review side: assignment, tournament, pay and its economics. The door of the package, loaded lazily."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
