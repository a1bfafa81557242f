"""The packaged encoder by ONNX Runtime against the reference, and what it does not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kina_build.config import DedupRules
from kina_build.dedup import find_duplicates
from kina_build.encode.embedding import embed
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import Reuse
from kina_build.encode.loading import PACKAGED, load_encoder
from kina_build.encode.onnx import TOKENS_AT_ONCE, OnnxEncoder, batches
from kina_build.errors import ConfigError
from kina_build.items.model import Item, Option
from kina_build.items.pool import write_pool

TEXTS = [
    "Which gland makes insulin?\npancreas",
    "Which gland produces insulin?\nthe pancreas",
    "A lamp draws 2 A at 12 V. What power is that?\n24 W",
    "",
    "胰岛素 is made by the pancreas ∑ naïve",
    " ".join(f"word{n} of a passage that is longer than what is read" for n in range(90)),
]


def items() -> list[Item]:
    """Return copies, siblings and strangers."""
    asked = [
        ("a1", "Which gland makes insulin?", "pancreas"),
        ("a2", "Which gland produces insulin in humans?", "pancreas"),
        ("b1", "A lamp draws 2 A at 12 V. What power is that?", "24 W"),
        ("b2", "A lamp draws 3 A at 12 V. What power is that?", "36 W"),
        ("c1", "Why do leaves turn red in autumn?", "pigments"),
    ]
    return [
        Item(
            item_id=name,
            question=question,
            options=(Option(key="A", answer=right), Option(key="B", answer="none of these")),
            correct_answer="A",
        )
        for name, question, right in asked
    ]


@pytest.fixture(scope="module")
def both() -> tuple[Encoder, Encoder]:
    return load_encoder(PACKAGED), load_encoder(PACKAGED, engine="sentence-transformers")


def test_the_packaged_encoder_runs_on_onnx_and_gives_the_same_vectors(both: tuple[Encoder, Encoder]) -> None:
    fast, reference = both
    assert isinstance(fast, OnnxEncoder)
    assert not isinstance(reference, OnnxEncoder)
    assert (fast.name, fast.revision, fast.dimension) == (
        reference.name,
        reference.revision,
        reference.dimension,
    )
    one, other = fast.encode(TEXTS), reference.encode(TEXTS)
    assert np.abs(one - other).max() < 2e-6
    assert np.abs(one @ one.T - other @ other.T).max() < 2e-6


def test_both_count_the_same_unknown_pieces(both: tuple[Encoder, Encoder]) -> None:
    counts = [encoder.count_unknown(TEXTS) for encoder in both]  # type: ignore[attr-defined]
    assert counts[0] == counts[1]
    assert counts[0][0] > 0


def test_both_come_to_the_same_decisions(both: tuple[Encoder, Encoder]) -> None:
    one, other = (find_duplicates(items(), encoder=encoder) for encoder in both)
    assert one == other
    assert one.counts == {"review": 1, "template_sibling": 1}


def test_a_text_alone_and_among_others_is_one_vector(both: tuple[Encoder, Encoder]) -> None:
    fast = both[0]
    together = fast.encode(TEXTS)
    alone = np.concatenate([fast.encode([text]) for text in TEXTS])
    assert np.abs((together * alone).sum(axis=1) - 1).max() < 2e-6


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [3, 256, 40, 40, 7, 256, 1]
    found = list(batches(lengths))
    assert sorted(place for part in found for place in part) == list(range(7))
    assert all(
        max(lengths[place] for place in part) * len(part) <= TOKENS_AT_ONCE or len(part) == 1
        for part in found
    )
    assert list(batches([TOKENS_AT_ONCE * 2])) == [[0]]
    assert list(batches([])) == []


def test_nothing_is_loaded_where_every_vector_is_kept(tmp_path: Path) -> None:
    cache = tmp_path / "v.sqlite"
    first = embed(TEXTS, load_encoder(PACKAGED), cache)
    again = load_encoder(PACKAGED)
    reuse = Reuse()
    assert np.array_equal(embed(TEXTS, again, cache, reuse=reuse), first)
    assert reuse.vectors == len(TEXTS)
    assert "_session" not in vars(again)
    embed([*TEXTS, "one more"], again, cache)
    assert "_session" in vars(again)


def test_an_engine_that_cannot_run_an_encoder_is_refused() -> None:
    with pytest.raises(ConfigError, match="runs all-MiniLM-L6-v2 only"):
        load_encoder("use-multilingual-v3", engine="onnx")
    with pytest.raises(ConfigError, match="in float32 only"):
        load_encoder(PACKAGED, DedupRules(precision="bfloat16"), "onnx")


def test_dedup_loads_no_torch_and_names_what_ran(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl", items())
    script = (
        "import sys; from kina_build.cli.main import app\n"
        "try: app(['dedup', 'pool.jsonl', '--cache', 'v.sqlite', '-q'])\n"
        "except SystemExit as done: assert not done.code\n"
        "print(*{'torch', 'transformers', 'sentence_transformers'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stderr.strip() == ""
    manifest = json.loads((tmp_path / "duplicates.json.manifest.json").read_text())
    assert set(manifest["versions"]) == {"python", "numpy", "faiss-cpu", "onnxruntime", "tokenizers"}
