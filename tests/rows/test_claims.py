from __future__ import annotations

import os
from pathlib import Path

from kina_build.manifest import digest
from kina_build.rows.jsonl import write_text
from kina_build.rows.outputs import claims_of, drop_claims, expect, open_part, sweep


def test_only_an_expected_output_is_claimed_and_earlier_claims_stay(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    write_text(out, "0")
    assert claims_of(out) == frozenset()
    expect([out])
    seen = set()
    for text in ("1", "2"):
        write_text(out, text)
        seen.add(digest(out).sha256)
    assert claims_of(out) == seen
    drop_claims([out])
    expect([])
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_part_is_swept_when_its_writer_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    handle, part = open_part(out)
    for name in (".out.txt.part", ".out.txt.abc.part", ".other.txt.abcdefgh.part"):
        (tmp_path / name).write_text("not ours, or not of this output")
    before = set(tmp_path.iterdir())
    sweep(out)
    assert set(tmp_path.iterdir()) == before
    os.close(handle)
    sweep(out)
    assert set(tmp_path.iterdir()) == before - {part}
