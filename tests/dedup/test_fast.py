"""--near fast: what it encodes, what it finds, and what it says of what it misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from kina_build.config import DedupRules
from kina_build.dedup.search.fast import (
    Indices,
    KnownVectors,
    Vectors,
    find_known,
    pass_filter,
    poisson_bound,
)
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from tests.dedup.conftest import WordEncoder

Kina = Callable[..., Result]
Make = Callable[..., Item]

PIECES = [[1, 2, 3], [1, 2, 4], [5, 6, 7], [8, 9, 10], [11, 12, 13], [14, 15, 16]]
"""The first two texts share words; the third and the fourth do not, though their vectors are close."""


def vectors() -> Vectors:
    rows = np.eye(6, dtype=np.float32)
    rows[1] = 0.9 * rows[0] + np.sqrt(1 - 0.81) * rows[1]
    rows[3] = 0.95 * rows[2] + np.sqrt(1 - 0.9025) * rows[3]
    return rows


def known(
    sample: float, wanted: tuple[int, ...] = (), seed: int = 0
) -> tuple[KnownVectors, object, list[int]]:
    asked: list[int] = []

    def full(rows: Indices) -> Vectors:
        asked.extend(rows.tolist())
        return vectors()[rows]

    rules = DedupRules(fast_overlap=0.4, fast_sample=sample, fast_least=0, fast_common=0.5)
    found, told = find_known(PIECES, full, wanted, rules, seed=seed)
    return found, told, asked


def test_only_texts_that_share_words_pass() -> None:
    assert pass_filter(PIECES, DedupRules(fast_overlap=0.4, fast_common=0.5)).tolist() == [0, 1]
    assert pass_filter([[1], []]).tolist() == []


def test_texts_near_in_words_are_encoded_once_and_paired() -> None:
    found, told, asked = known(sample=0.3, wanted=(5,))
    assert len(asked) == len(set(asked)) == told.encoded  # type: ignore[attr-defined]
    pairs = found.pairs(0.8)
    assert (0, 1) in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    assert {0, 1, 5} <= set(asked)
    assert found[[5]].tolist() == vectors()[[5]].tolist()


def test_a_sample_of_all_misses_nothing_and_says_so() -> None:
    found, told, _ = known(sample=1)
    pairs = found.pairs(0.8)
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == [(0, 1), (2, 3)]
    assert told.model_dump() == {  # type: ignore[attr-defined]
        "passed": 2,
        "encoded": 6,
        "sampled": 4,
        "seen": 1,
        "missed": 0.0,
        "missed_most": 0,
        "recall": 1.0,
    }


def test_the_bound_covers_what_is_missed_for_every_sample() -> None:
    for seed in range(20):
        found, told, _ = known(sample=0.5, seed=seed)
        missed = 2 - len(found.pairs(0.8))
        assert missed <= told.missed_most  # type: ignore[attr-defined]


def test_rules_of_a_result_of_before_are_read() -> None:
    assert DedupRules(fast_overlap=0.29, fast_slack=0.03, fast_sample=600) == DedupRules()  # type: ignore[call-arg]


def test_seeing_nothing_bounds_a_mean_by_three() -> None:
    assert poisson_bound(0, 0.05) == pytest.approx(2.9957, abs=1e-4)
    assert poisson_bound(3, 0.05) == pytest.approx(7.7537, abs=1e-4)


def test_the_command_finds_what_exact_finds_and_records_what_was_left_out(
    kina: Kina, make_item: Make, tmp_path: Path
) -> None:
    pool = [
        make_item("a1", "Which gland makes insulin?", ["pancreas", "thymus"]),
        make_item("a2", "Which gland produces insulin in humans?", ["pancreas", "spleen"]),
        make_item("b1", "Why do leaves turn red in autumn?", ["pigments", "frost"]),
    ]
    write_pool(Path("pool.jsonl"), pool)
    cache = ["--cache", str(tmp_path / "v.sqlite")]
    assert kina("dedup", "pool.jsonl", "-o", "exact.json", *cache).exit_code == 0
    done = kina("dedup", "pool.jsonl", "-o", "fast.json", "--near", "fast", *cache)
    assert done.exit_code == 0, done.stderr
    assert "items encoded; about 0 close pairs missed, at most 0 (95 %)" in done.stdout
    exact, fast = (json.loads(Path(name).read_text()) for name in ("exact.json", "fast.json"))
    told = fast.pop("fast")
    assert fast == exact
    assert told["recall"] == 1.0
    assert "fast" not in exact


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--no-near"], "exclude one another"),
        (["--explain", "a"], "need every item's vector"),
    ],
)
def test_what_fast_cannot_do_is_refused(kina: Kina, make_item: Make, more: list[str], said: str) -> None:
    write_pool(Path("pool.jsonl"), [make_item("a", "Which gland makes insulin?", ["pancreas", "thymus"])])
    done = kina("dedup", "pool.jsonl", "--near", "fast", *more)
    assert done.exit_code == 2
    assert said in done.stderr


def test_fast_is_refused_to_an_encoder_whose_word_pieces_are_not_known(
    kina: Kina, make_item: Make, words: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kina_build.encode.loading.load_encoder", lambda *_: words)
    write_pool(Path("pool.jsonl"), [make_item("a", "Which gland makes insulin?", ["pancreas", "thymus"])])
    done = kina("dedup", "pool.jsonl", "--near", "fast")
    assert done.exit_code == 2
    assert "needs the packaged encoder" in done.stderr
