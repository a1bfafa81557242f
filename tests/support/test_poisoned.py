"""Whatever happens to what earlier runs kept: the same result, or a refusal in one line."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kina_build.chat import ChatReply, ReplyLog
from kina_build.config import DedupRules
from kina_build.dedup.search.blocks import pairs_in_files
from kina_build.encode.embedding import embed, embed_to_files
from kina_build.encode.kept import Reuse
from kina_build.encode.vectorcache import TABLE
from kina_build.encode.vectorfiles import open_vectors, write_vectors
from kina_build.errors import KinaError
from kina_build.support.matrix import build_matrix
from kina_build.support.partition.files import digest_partition, make_partitions, work_folder, write_partition
from tests.support.conftest import WordEncoder

TEXTS = [f"text {n} of {n % 5}" for n in range(40)]
BLOCKS = DedupRules(scan_columns=4, scan_rows=16, block_rows=20)
FLIPS = 40
"""Bytes flipped in each kind, one at a time."""

Result = list[bytes]


def vectors(folder: Path, reuse: Reuse) -> Result:
    return [embed(TEXTS, WordEncoder(), folder / "v.sqlite", reuse=reuse).tobytes()]


def files(folder: Path, reuse: Reuse) -> Result:
    return [embed_to_files(TEXTS, WordEncoder(), folder, reuse=reuse)[:].tobytes()]


def blocks(folder: Path, reuse: Reuse) -> Result:
    source = folder.parent / "rows.npy"
    write_vectors(source, WordEncoder().encode(TEXTS))
    found = pairs_in_files(open_vectors([source]), 0.6, BLOCKS, folder=folder, reuse=reuse)
    return [found.left.tobytes(), found.right.tobytes(), found.cosines.tobytes()]


class Job:
    def __init__(self, number: int, folder: Path) -> None:
        self.number, self.path = number, work_folder(folder) / f"part-{number:05}.npz"
        self.digest = digest_partition("shape", [number])


def make(job: Job) -> None:
    scores = np.array([[job.number, 1, 2], [3, 4, 5]]) / 10
    matrix = build_matrix([f"q{job.number}a", f"q{job.number}b"], ["u", "v", "w"], scores, np.ones(3))
    write_partition(job.path, matrix, job.digest)


def parts(folder: Path, reuse: Reuse) -> Result:
    work_folder(folder).mkdir(exist_ok=True)
    make_partitions((Job(number, folder) for number in range(3)), make, folder, reuse=reuse)
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def replies(folder: Path, reuse: Reuse) -> Result:
    """Serve what the log answers, and ask for the rest: a model that always says the same."""
    log = ReplyLog(folder / "log.jsonl")
    if reuse.forced:
        log.set_aside()
    asked = [ChatReply(key=f"k{n}", status="ok", text=f"reply {n}", prompt_tokens=n) for n in range(8)]
    reuse.replies += sum(log.find(reply.key) is not None for reply in asked)
    log.append(*(reply for reply in asked if log.find(reply.key) is None))
    found = [log.find(reply.key) for reply in asked]
    return [reply.model_dump_json().encode() for reply in found if reply]


Kind = Callable[[Path, Reuse], Result]
KINDS: list[Kind] = [vectors, files, blocks, parts, replies]
KEPT = {
    vectors: ("vectors", 40),
    files: ("vectors", 40),
    blocks: ("blocks", 3),
    parts: ("parts", 3),
    replies: ("replies", 8),
}
"""What each kind counts, and how many of it there are."""


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def cached(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Kind, Path, Result]:
    """Make a result, with a cache that was written along the way."""
    folder = tmp_path / "cache"
    return request.param, folder, request.param(folder, Reuse())


def same_or_refused(kind: Kind, folder: Path, wanted: Result) -> None:
    try:
        found = kind(folder, Reuse())
    except KinaError as error:
        refusal = error
    else:
        assert found == wanted
        return
    assert "\n" not in refusal.message
    assert refusal.hint


def kept_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_whole_is_reused_and_counted_and_force_reuses_nothing(
    cached: tuple[Kind, Path, Result],
) -> None:
    kind, folder, wanted = cached
    name, count = KEPT[kind]
    reuse = Reuse()
    assert kind(folder, reuse) == wanted
    assert (reuse.counts(name), reuse.notes) == ({name: count}, [])
    if kind is not blocks:  # whose folder the command clears: tests/dedup/test_cli.py
        forced = Reuse(forced=True)
        assert kind(folder, forced) == wanted
        assert forced == Reuse(forced=True)


def test_a_flipped_byte(cached: tuple[Kind, Path, Result], tmp_path: Path) -> None:
    kind, folder, wanted = cached
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    rng = random.Random(5)
    for _ in range(FLIPS):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        path = rng.choice(kept_files(folder))
        raw = bytearray(path.read_bytes())
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        path.write_bytes(raw)
        same_or_refused(kind, folder, wanted)


@pytest.mark.parametrize("share", [0, 0.3, 0.7, 0.99])
def test_a_file_cut_short(cached: tuple[Kind, Path, Result], share: float) -> None:
    kind, folder, wanted = cached
    for path in kept_files(folder):
        raw = path.read_bytes()
        path.write_bytes(raw[: int(share * len(raw))])
        same_or_refused(kind, folder, wanted)


def test_two_records_swapped(cached: tuple[Kind, Path, Result]) -> None:
    kind, folder, wanted = cached
    if kind in (vectors, files):
        cache = next(folder.rglob("*.sqlite"))
        with sqlite3.connect(cache) as base:
            rows = base.execute(f"SELECT rowid, vector FROM {TABLE} ORDER BY rowid").fetchall()
            for (row, _), (_, other) in zip(rows, rows[1:] + rows[:1], strict=True):
                base.execute(f"UPDATE {TABLE} SET vector = ? WHERE rowid = ?", (other, row))
        base.close()
        reuse = Reuse()
        assert kind(folder, reuse) == wanted
        assert reuse.vectors == 0
        assert "do not fit their digests" in reuse.notes[0]
    elif kind is replies:
        log = folder / "log.jsonl"
        log.write_text(
            log.read_text().replace('"k1"', '"kx"').replace('"k2"', '"k1"').replace('"kx"', '"k2"')
        )
        with pytest.raises(KinaError, match=r"log\.jsonl:2: the reply was changed since it was written"):
            kind(folder, Reuse())
    else:
        one, two = [path for path in kept_files(folder) if path.suffix == ".npz"][:2]
        raws = one.read_bytes(), two.read_bytes()
        one.write_bytes(raws[1])
        two.write_bytes(raws[0])
        reuse = Reuse()
        assert kind(folder, reuse) == wanted
        assert reuse.parts + reuse.blocks == 1


def test_the_form_of_older_versions(cached: tuple[Kind, Path, Result]) -> None:
    """All of it is made anew and said so once, but for replies, which were paid for."""
    kind, folder, wanted = cached
    reuse = Reuse()
    if kind in (vectors, files):
        cache = next(folder.rglob("*.sqlite"))
        cache.unlink()
        with sqlite3.connect(cache) as base:
            base.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        base.close()
        assert kind(folder, reuse) == wanted
        assert "an older version" in reuse.notes[0]
    elif kind is parts:
        for path in folder.glob("*.digest"):
            path.write_text(path.read_text().split()[0] + "\n")
        assert kind(folder, reuse) == wanted
        assert "an older version" in reuse.notes[0]
    elif kind is blocks:
        for path in folder.rglob("*-*.npz"):
            with np.load(path) as stored:
                np.savez(path, **{name: stored[name] for name in ("left", "right", "cosines")})
        assert kind(folder, reuse) == wanted
    else:
        log = folder / "log.jsonl"
        log.write_text("".join(line.split(',"digest"')[0] + "}\n" for line in log.read_text().splitlines()))
        assert ReplyLog(log).unsigned == 8
        assert kind(folder, reuse) == wanted
        assert reuse.replies == 8
        return
    assert reuse.counts("vectors", "blocks", "parts") == {"vectors": 0, "blocks": 0, "parts": 0}
    again = Reuse()
    assert kind(folder, again) == wanted
    assert again.notes == []


class Other(WordEncoder):
    """Goes by the same name and revision, and yet gives other vectors."""

    def encode(self, texts, on_progress=None):
        return np.roll(super().encode(texts), 1, axis=1)


class Longer(WordEncoder):
    """Another length limit."""

    configuration = "max_length 512"


def test_an_encoder_that_gives_other_vectors_now_drops_what_was_kept(tmp_path: Path) -> None:
    cache, reuse = tmp_path / "v.sqlite", Reuse()
    embed(TEXTS, Other(), cache)
    assert (embed(TEXTS, WordEncoder(), cache, reuse=reuse) == embed(TEXTS, WordEncoder())).all()
    assert "not what encoder 'words' gives now" in reuse.notes[0]
    again = Reuse()
    embed_to_files(TEXTS, WordEncoder(), tmp_path, cache, reuse=again)
    assert again == Reuse(vectors=40)
    files_of_other = embed_to_files(TEXTS, Other(), tmp_path, cache, reuse=Reuse())
    assert (files_of_other[:] == embed(TEXTS, Other())).all()


def test_what_shapes_a_vector_is_in_its_key(tmp_path: Path) -> None:
    reuse = Reuse()
    embed(TEXTS, WordEncoder(), tmp_path / "v.sqlite")
    embed(TEXTS, Longer(), tmp_path / "v.sqlite", reuse=reuse)
    assert reuse == Reuse()


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE entries (id)")
    base.close()
    before = path.read_bytes()
    with pytest.raises(KinaError, match="it holds something else"):
        embed(TEXTS, WordEncoder(), path)
    assert path.read_bytes() == before
