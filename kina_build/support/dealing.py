"""Rows of files larger than memory, dealt out to one file for each part of the items."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROWS_AT_ONCE = 20_000
"""Rows held before they are written."""


class Dealer:
    """Append each row to the file of its item's part, and note on which line it stood.

    Lines are noted so that an error in a part's file can be told of the file people know.
    """

    def __init__(self, folder: Path, kind: str, firsts: Sequence[str]) -> None:
        """Start with no rows.

        Args:
            folder: where the files go.
            kind: what they are called: KIND-00000.jsonl.
            firsts: least item_id of each part, rising.
        """
        # workers elsewhere have a folder of their own to start from
        folder = folder.absolute()
        self.paths = tuple(folder / f"{kind}-{number:05}.jsonl" for number in range(len(firsts)))
        """One a part; a part without rows has none."""
        self._firsts = firsts
        self._waiting: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self._count = 0
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{kind}-*"):
            old.unlink()

    def deal(self, item_id: str, text: str, line: int) -> None:
        """Take one row: JSON without a line end."""
        # an id before the first one belongs to no part; whoever reads the first part will say so
        number = max(0, bisect_right(self._firsts, item_id) - 1)
        self._waiting[number].append((text, line))
        self._count += 1
        if self._count % ROWS_AT_ONCE == 0:
            self.put_down()

    def put_down(self) -> None:
        """Write the rows that are held."""
        for number, rows in self._waiting.items():
            with self.paths[number].open("ab") as out:
                out.write("".join(text + "\n" for text, _ in rows).encode())
            with lines_of(self.paths[number]).open("ab") as out:
                out.write(np.array([line for _, line in rows], dtype="<i8").tobytes())
        self._waiting.clear()


def lines_of(path: Path) -> Path:
    """Return the file of the lines on which the rows of a part's file stood."""
    return path.with_suffix(".lines")


def read_lines(path: Path) -> list[int]:
    """Return the lines on which the rows of a part's file stood."""
    lines: list[int] = np.fromfile(lines_of(path), dtype="<i8").tolist()
    return lines
