"""Project: one file that says what a benchmark is made of, and the graph of commands that makes it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
