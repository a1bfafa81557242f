"""The doors of encode/ and dedup/, as a Python user goes through them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from kina_build import dedup, encode
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from tests.dedup.conftest import WordEncoder

Make = Callable[..., Item]


def three(make_item: Make) -> list[Item]:
    return [
        make_item("a1", "Which gland makes insulin?", ["pancreas", "thymus"]),
        make_item("a2", "Which gland makes insulin?", ["thymus", "pancreas"], "B"),
        make_item("b1", "Why do leaves turn red in autumn?", ["pigments", "frost"]),
    ]


def test_the_doors_load_nothing_heavy_and_offer_what_they_list() -> None:
    script = (
        "import sys; from kina_build import dedup, encode; "
        "print(*{'numpy', 'pydantic', 'faiss', 'torch'} & set(sys.modules)); "
        "print(*(getattr(room, name).__name__ for room in (dedup, encode) for name in room.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded, offered = done.stdout.split("\n")[:2]
    assert loaded == ""
    assert {"find_duplicates", "find_contamination", "read_duplicates", "embed"} <= set(offered.split())


def test_copies_are_found_in_items_and_in_a_file(make_item: Make, words: WordEncoder, tmp_path: Path) -> None:
    items = three(make_item)
    found = dedup.find_duplicates(items, encoder=words)
    assert str(found) == "2 of 3 items kept: 1 dropped as copies, 0 held for a decision"
    assert found.report["pairs"] == {"duplicate": 1}
    write_pool(tmp_path / "pool.jsonl", items)
    assert dedup.find_duplicates(tmp_path / "pool.jsonl", encoder=words) == found
    by_letters = dedup.find_duplicates(items, near=False)
    assert (by_letters.kept, by_letters.encoder) == (found.kept, "")


def test_others_read_a_file_of_copies_loosely(make_item: Make, words: WordEncoder, tmp_path: Path) -> None:
    path = tmp_path / "duplicates.json"
    dedup.find_duplicates(three(make_item), encoder=words).write(path)
    known = dedup.read_duplicates(path)
    assert (known.kept, known.dropped[0].item_id, known.dropped[0].kept_id) == (("a1", "b1"), "a2", "a1")
    assert known.conflict_edges == (("a1", "a2"),)
    path.write_text('{"dropped": [{"item_id": "x", "of": "another tool"}], "more": 1}')
    assert dedup.read_duplicates(path).dropped[0].item_id == "x"


def test_contamination_is_found_in_items_and_in_files(
    make_item: Make, words: WordEncoder, tmp_path: Path
) -> None:
    pool, web = three(make_item)[1:], three(make_item)[:1]
    found = dedup.find_contamination(pool, {"web": web}, encoder=words)
    assert str(found) == "1 of 2 items contaminated, 0 to be reviewed, 1 clean"
    assert found.report["items"] == 2
    write_pool(tmp_path / "web.jsonl", web)
    again = dedup.find_contamination(pool, [tmp_path / "web.jsonl"], encoder=words)
    assert [hit.item_id for hit in again.hits] == ["a2"]


def test_the_text_of_an_item_is_its_question_and_its_right_answer(make_item: Make) -> None:
    assert encode.item_text(three(make_item)[1]) == "Which gland makes insulin?\npancreas"
