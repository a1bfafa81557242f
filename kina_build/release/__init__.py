"""The room of the release: splits, letters, gates, files that every harness loads, and their proof."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
