"""Fidelity: what a short form says of its pool, how surely, and how hard items are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
