from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.compare.boilerplate import count_common
from kina_build.dedup.compare.evidence import compare
from kina_build.dedup.compare.lexical import read_item
from kina_build.dedup.compare.verdict import Verdict, judge
from kina_build.items.model import Item
from kina_build.progress import Progress, silent


@dataclass
class WordEncoder:
    """Stand in for a model: a text is the sum of fixed random vectors of its words."""

    name: str = "words"
    revision: str = "1"
    dimension: int = 48
    translations: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def encode(self, texts: Sequence[str], on_progress: Progress = silent) -> NDArray[np.float32]:
        self.asked += texts
        rows = np.zeros((len(texts), self.dimension))
        for row, text in enumerate(texts):
            for word in text.lower().replace("|", " ").split() or [""]:
                meaning = self.translations.get(word, word)
                seed = int.from_bytes(hashlib.sha256(meaning.encode()).digest()[:4], "big")
                rows[row] += np.random.default_rng(seed).normal(size=self.dimension)
        on_progress(len(texts), len(texts))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def words() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def judged() -> Callable[..., Verdict]:
    """Return the verdict on two items whose texts are as close as wanted, by default very."""

    def run(
        left: Item, right: Item, cosine: float | None = 0.98, rules: DedupRules = DedupRules()
    ) -> Verdict:
        readings = [read_item(left), read_item(right)]
        common = count_common(readings, rules.common_limit)
        return judge(compare(*readings, cosine, common, rules), rules)

    return run
