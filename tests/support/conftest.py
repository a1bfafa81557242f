"""A tiny encoder that knows words, so that stories about cosines need no model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kina_build.items.text import fold_stem
from kina_build.support.anchors import Anchor


class WordEncoder:
    """Encode a text as the unit vector of its words, each word hashed to one of 512 places."""

    name = "words"
    revision = "1"
    dimension = 512

    def encode(self, texts: Sequence[str], on_progress: object = None) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in fold_stem(text).replace("?", " ").split():
                place = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % self.dimension
                vectors[row, place] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def words() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def make_anchor() -> Callable[..., Anchor]:
    def make(
        anchor_id: str = "a1", statement: str = "entropy", kind: str = "concept", **more: object
    ) -> Anchor:
        return Anchor.model_validate({"anchor_id": anchor_id, "statement": statement, "kind": kind, **more})

    return make
