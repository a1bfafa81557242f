"""Where the vectors of a pool lie and are compared: in memory, in files, on Ray; how much memory is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kina_build.config import DedupRules, EngineRules
from kina_build.dedup.search.blocks import bytes_a_row, pairs_in_files, rows_a_block
from kina_build.dedup.search.fast import KnownVectors
from kina_build.dedup.search.kept import IndexFile
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.encode.kept import Reuse
from kina_build.encode.vectorfiles import VectorFiles, VectorSet
from kina_build.engine import open_engine
from kina_build.errors import ConfigError
from kina_build.rows.source import STREAM
from kina_build.rows.workfolders import check_work, clear_work

Scan = Callable[..., Pairs]
"""Finds close pairs: (vectors, threshold, rules, on_progress) as `scan.pairs_above` takes them."""

WORKER_BYTES = 250_000_000
"""What a Ray worker takes before it has read a row (measured)."""


def work_folder(output: Path) -> Path:
    """Return the folder beside an output in which a large run keeps what it can go on from."""
    beside = Path("dedup.work") if output == STREAM else output.with_name(f"{output.name}.work")
    return beside.absolute()  # workers of another machine stand in another folder


@dataclass(frozen=True)
class Place:
    """The engine's settings, and the folder for what does not fit in memory."""

    engine: EngineRules
    folder: Path
    reuse: Reuse = field(default_factory=Reuse)
    index: Path | None = None
    """File of a FAISS index that is kept between runs."""

    def room(self, items: int, dimension: int, rules: DedupRules, working: int = 0) -> int:
        """Return how many bytes vectors may take here: none where Ray has parts to share out.

        Args:
            items: how many vectors there are.
            dimension: their length.
            rules: size of a block.
            working: bytes that the encoder will take once it is loaded.

        Raises:
            ConfigError: not even two blocks fit, or FAISS was asked for; said now, and not after hours of
                encoding.
        """
        spread = self.engine.kind == "ray" and items > rules.block_rows
        room = 0 if spread else spare_bytes(self.engine) - working
        if items * bytes_a_row(dimension, rules) > room:  # the encoder is not there when they are compared
            self._refuse_faiss(rules)
            workers = self.engine.workers or os.cpu_count() or 1
            rows_a_block(dimension, part_bytes(self.engine, workers), rules)
        return room

    def note(self, vectors: VectorSet | None) -> str:
        """Say where the vectors are, when that is not what one might think."""
        if isinstance(vectors, VectorFiles):
            return f"{len(vectors)} vectors are compared from files in {self.folder.name}"
        if self.engine.kind == "ray":
            return "the pool is one block (dedup.block_rows): compared in this process, not on Ray"
        return ""

    def by_faiss(self, vectors: VectorSet | None, rules: DedupRules) -> bool:
        """Tell whether FAISS finds the close pairs.

        Raises:
            ConfigError: it was asked for, but the vectors are not in memory.
        """
        if vectors is None or isinstance(vectors, KnownVectors):
            return False
        if isinstance(vectors, VectorFiles):
            self._refuse_faiss(rules)
            return False
        asked = rules.search == "faiss" or self.index is not None
        return asked or (rules.search == "auto" and len(vectors) <= rules.faiss_up_to)

    def _refuse_faiss(self, rules: DedupRules) -> None:
        if rules.search == "faiss" or self.index is not None:
            raise ConfigError(
                "the vectors do not fit in memory, and FAISS holds them all",
                hint='raise --memory, or leave --index out and set dedup.search = "auto"',
            )

    @contextmanager
    def scanning(
        self, vectors: VectorSet | None, rules: DedupRules, kept: IndexFile | None = None
    ) -> Iterator[Scan]:
        """Open the engine and give the function that finds close pairs on it.

        Args:
            vectors: where they lie decides how they are compared.
            rules: what was asked for, and up to which size FAISS compares all.
            kept: the index that spares comparing what was compared before.
        """
        if kept is not None:
            self.by_faiss(vectors, rules)
            with replace(self, index=None).scanning(vectors, rules) as scan:
                yield partial(kept.pairs, scan=scan)
        elif isinstance(vectors, KnownVectors):
            yield KnownVectors.pairs
        elif self.by_faiss(vectors, rules):
            from kina_build.dedup.search.faiss import flat_pairs

            yield flat_pairs
        elif isinstance(vectors, VectorFiles):
            with open_engine(self.engine) as engine:
                memory = part_bytes(self.engine, engine.workers)
                scan = partial(pairs_in_files, folder=self.folder, part_bytes=memory, run=engine.map)
                yield partial(scan, reuse=self.reuse)
        else:
            with open_engine(self.engine.model_copy(update={"kind": "local"})) as engine:
                yield partial(pairs_above, run=engine.map)

    def check(self) -> None:
        """Refuse a folder that holds something of others, before anything is computed.

        Raises:
            UsageError: it does; see workfolders.
        """
        check_work(self.folder)

    def clear(self) -> None:
        """Drop what a stopped run would have gone on from: the work is done."""
        clear_work(self.folder)


def spare_bytes(rules: EngineRules = EngineRules()) -> int:
    """Return what engine.memory_mb leaves over beside what this process holds already."""
    return rules.memory_mb * 10**6 - resident_bytes()


def part_bytes(rules: EngineRules, workers: int) -> int:
    """Return what one part of the work may take: threads share this process, Ray workers have their own.

    Args:
        rules: memory of a process, and the kind of engine.
        workers: parts that run side by side.
    """
    if rules.kind == "ray":
        return rules.memory_mb * 10**6 - WORKER_BYTES
    return spare_bytes(rules) // workers


def resident_bytes() -> int:
    """Return the memory that this process holds now; where the system does not say, its most so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
