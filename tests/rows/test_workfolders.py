from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kina_build.errors import UsageError
from kina_build.rows.workfolders import MARK, check_work, clear_work, make_work, mark


def test_a_work_folder_is_marked_and_goes_away(tmp_path: Path) -> None:
    work = tmp_path / "out.work"
    clear_work(work)  # there is none yet
    make_work(work)
    (work / "part").write_text("ours")
    make_work(work)  # a run that goes on
    check_work(work)
    clear_work(work)
    assert not work.exists()


def test_an_empty_folder_is_taken_as_a_run_may_stop_before_its_mark(tmp_path: Path) -> None:
    work = tmp_path / "out.work"
    work.mkdir()
    clear_work(work)
    assert work.is_dir()
    make_work(work)
    assert (work / MARK).is_file()


def full(place: Path) -> None:
    place.mkdir()
    (place / "thesis.tex").touch()


def linked(place: Path) -> None:
    mine = place.with_name("mine")
    mine.mkdir()
    mark(mine)
    place.symlink_to(mine)


def marked_by_a_link(place: Path) -> None:
    place.mkdir()
    (place / MARK).symlink_to("thesis.tex")


@pytest.mark.parametrize("put", [full, linked, marked_by_a_link, Path.touch])
def test_what_others_put_there_is_refused_and_stays(put: Callable[[Path], None], tmp_path: Path) -> None:
    work = tmp_path / "out.work"
    put(work)
    before = sorted(tmp_path.rglob("*"))
    for use in (check_work, make_work):
        with pytest.raises(UsageError, match=r"out\.work: ") as caught:
            use(work)
        assert "-o" in (caught.value.hint or "")
    clear_work(work)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_removal_that_is_stopped_leaves_the_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark is the last to go, whatever the order of the directory."""
    work = tmp_path / "out.work"
    make_work(work)
    for name in ("a", "z", ".b"):
        (work / name).touch()
    left: list[set[str]] = []
    monkeypatch.setattr(
        "kina_build.rows.workfolders.shutil.rmtree",
        lambda folder: left.append({path.name for path in folder.iterdir()}),
    )
    clear_work(work)
    assert left == [{MARK}]
