"""Ask an OpenAI-compatible endpoint many questions, and be able to stop and go on.

What a call is goes by its key: equal requests are asked once, and a request that the log
already answers is not asked again.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
