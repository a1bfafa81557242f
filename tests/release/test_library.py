"""A release made from Python: records or files in, a typed result out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from kina_build.errors import Refusal
from kina_build.items.pool import write_pool
from kina_build.release import Request, build_release, diff_releases, read_release, verify_release
from tests.release.pools import make, spread

Kina = Callable[..., Result]


def test_the_room_opens_without_a_heavy_package() -> None:
    heavy = "('numpy', 'pyarrow', 'jinja2', 'pydantic')"
    code = (
        f"import sys, kina_build.release, kina_build.report; print([m for m in {heavy} if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_what_the_command_writes_and_what_the_library_writes_are_the_same_bytes(
    kina: Kina, tmp_path: Path
) -> None:
    write_pool(tmp_path / "pool.jsonl", spread(40))
    (tmp_path / "by_hand").mkdir()
    assert kina("export", "pool.jsonl", "-o", "release", "--name", "demo", "--private", "test").exit_code == 0
    release = build_release(spread(40), request=Request(name="demo", private=frozenset({"test"})))
    record = release.write(tmp_path / "by_hand" / "release")
    for name in ("release.json", "test.jsonl", "README.md", "data/test.parquet"):
        one, other = tmp_path / "release" / name, tmp_path / "by_hand" / "release" / name
        assert one.read_bytes() == other.read_bytes(), name
    answers = (tmp_path / "by_hand" / "release.answers.jsonl").read_bytes()
    assert answers == (tmp_path / "release.answers.jsonl").read_bytes()
    assert release.report["content_hash"] == record.content_hash
    assert str(release).startswith("demo, version 1.0.0: 36 test, 4 dev")


def test_decisions_and_selected_ids_may_be_records(tmp_path: Path) -> None:
    class Said:
        def __init__(self, item_id: str, decision: str) -> None:
            self.item_id, self.decision = item_id, decision

    items = spread(40)
    wanted = [item.item_id for item in items[:30]]
    said = [Said(item_id, "accept") for item_id in wanted[1:]] + [Said(wanted[0], "reject")]
    report = build_release(
        items,
        wanted,
        decisions=said,
        request=Request(allowed={"selection_reduced": "one fell", "key_position": "few"}),
    ).report
    assert report["items"] == 29
    assert report["withheld"] == [{"item_id": wanted[0], "reason": "review: reject"}]


def test_gates_stand_in_the_way_and_are_named() -> None:
    with pytest.raises(Refusal, match="missing_license"):
        build_release([*spread(40), make("bad", ["a", "b"], license=None)])


def test_a_verified_release_is_true_and_a_changed_one_false(tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "one")
    assert verify_release(tmp_path / "one")
    rows = (tmp_path / "one" / "test.jsonl").read_text().splitlines()
    first = json.loads(rows[0]) | {"question": "Another?"}
    (tmp_path / "one" / "test.jsonl").write_text("\n".join([json.dumps(first), *rows[1:]]) + "\n")
    found = verify_release(tmp_path / "one")
    assert not found
    assert "files: test.jsonl: content differs" in str(found)


def test_a_release_after_another_keeps_its_splits_and_says_what_changed(tmp_path: Path) -> None:
    build_release(spread(40)).write(tmp_path / "one")
    build_release(spread(41), previous=tmp_path / "one").write(tmp_path / "two")
    changes = diff_releases(read_release(tmp_path / "one"), read_release(tmp_path / "two"))
    assert changes["added"] == ["i40"]
    assert (changes["bump"], changes["least_version"]) == ("minor", "1.1.0")
    assert changes["version_says_enough"]
