"""Ask models the questions of a benchmark, and mark what they reply: letters, lists, triples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
