from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kina_build.rows import outputs
from kina_build.rows.outputs import recover_folder, replace_folder


def make(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "a").write_text(text)
    return folder


def unable(one: Path, other: Path) -> bool:
    return False


@pytest.mark.parametrize("exchange", [outputs.exchange, unable])
def test_a_folder_takes_the_place_of_another(
    exchange: Callable[[Path, Path], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "exchange", exchange)
    replace_folder(make(tmp_path / "new", "1"), tmp_path / "parts")
    replace_folder(make(tmp_path / "new", "2"), tmp_path / "parts")
    assert (tmp_path / "parts" / "a").read_text() == "2"
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_a_stop_between_two_renames_is_mended(tmp_path: Path) -> None:
    make(tmp_path / ".parts.old", "1")
    recover_folder(tmp_path / "parts")
    assert (tmp_path / "parts" / "a").read_text() == "1"
    make(tmp_path / ".parts.old", "0")
    recover_folder(tmp_path / "parts")
    assert (tmp_path / "parts" / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_what_a_link_points_to_is_not_removed(tmp_path: Path) -> None:
    make(tmp_path / "mine", "1")
    (tmp_path / "parts").symlink_to("mine")
    replace_folder(make(tmp_path / "new", "2"), tmp_path / "parts")
    assert (tmp_path / "parts" / "a").read_text() == "2"
    assert (tmp_path / "mine" / "a").read_text() == "1"
