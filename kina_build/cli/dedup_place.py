"""Where the vectors of a pool lie and are compared: in memory, in files, on Ray."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kina_build.cli.command import Run

if TYPE_CHECKING:
    from kina_build.config import DedupRules, EngineRules
    from kina_build.dedup.corpus import Corpus
    from kina_build.dedup.find import Scan
    from kina_build.encode.kept import Reuse


def work_folder(output: Path) -> Path:
    """Return the folder beside an output in which a large run keeps what it can go on from."""
    from kina_build.rows.source import STREAM

    beside = Path("dedup.work") if output == STREAM else output.with_name(f"{output.name}.work")
    return beside.absolute()  # workers of another machine stand in another folder


@dataclass(frozen=True)
class Place:
    """The engine's settings, and the folder for what does not fit in memory."""

    rules: EngineRules
    folder: Path
    reuse: Reuse

    def room(self, items: int, dimension: int, rules: DedupRules) -> int:
        """Return how many bytes vectors may take here: none where Ray has parts to share out.

        Raises:
            ConfigError: not even two blocks fit; said now, and not after hours of encoding.
        """
        from kina_build.dedup.search.blocks import bytes_a_row, rows_a_block
        from kina_build.dedup.search.memory import part_bytes, spare_bytes

        spread = self.rules.kind == "ray" and items > rules.block_rows
        room = 0 if spread else spare_bytes(self.rules)
        if items * bytes_a_row(dimension, rules) > room:
            workers = self.rules.workers or os.cpu_count() or 1
            rows_a_block(dimension, part_bytes(self.rules, workers), rules)
        return room

    def tell(self, run: Run, corpus: Corpus) -> None:
        """Say where the vectors are, when that is not what one might think."""
        from kina_build.encode.vectorfiles import VectorFiles

        if isinstance(corpus.vectors, VectorFiles):
            run.console.say(f"{len(corpus.vectors)} vectors are compared from files in {self.folder.name}")
        elif self.rules.kind == "ray":
            run.console.say("the pool is one block (dedup.block_rows): compared in this process, not on Ray")

    def by_faiss(self, corpus: Corpus, rules: DedupRules) -> bool:
        """Tell whether FAISS finds the close pairs.

        Raises:
            ConfigError: it was asked for, but the vectors are not in memory.
        """
        from kina_build.encode.vectorfiles import VectorFiles
        from kina_build.errors import ConfigError

        if corpus.vectors is None or rules.search == "exact":
            return False
        if not isinstance(corpus.vectors, VectorFiles):
            return rules.search == "faiss" or len(corpus.vectors) <= rules.faiss_up_to
        if rules.search == "faiss":
            raise ConfigError(
                "the vectors do not fit in memory, and FAISS holds them all",
                hint='raise --memory, or set dedup.search = "auto"',
            )
        return False

    @contextmanager
    def scanning(self, corpus: Corpus, rules: DedupRules) -> Iterator[Scan]:
        """Open the engine and give the function that finds close pairs on it."""
        from kina_build.dedup.search.blocks import pairs_in_files
        from kina_build.dedup.search.faiss import flat_pairs
        from kina_build.dedup.search.memory import part_bytes
        from kina_build.dedup.search.scan import pairs_above
        from kina_build.encode.vectorfiles import VectorFiles
        from kina_build.engine import open_engine

        if self.by_faiss(corpus, rules):
            yield flat_pairs
        elif isinstance(corpus.vectors, VectorFiles):
            with open_engine(self.rules) as engine:
                memory = part_bytes(self.rules, engine.workers)
                scan = partial(pairs_in_files, folder=self.folder, part_bytes=memory, run=engine.map)
                yield partial(scan, reuse=self.reuse)
        else:
            with open_engine(self.rules.model_copy(update={"kind": "local"})) as engine:
                yield partial(pairs_above, run=engine.map)

    def clear(self) -> None:
        """Drop what a stopped run would have gone on from: the work is done."""
        if self.folder.is_dir():
            shutil.rmtree(self.folder)
