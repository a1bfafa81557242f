"""The folder: whole or absent, killed or not; never over something else; nothing unlisted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kina_build.errors import InputError, UsageError
from kina_build.release.folder import sum_faults, write_sums, writing_folder
from kina_build.release.splits import RECORD, SUMS, natural


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill(folder: Path, text: str) -> None:
    (folder / RECORD).write_text(text)
    write_sums(folder)


def test_a_folder_appears_when_it_is_done(tmp_path: Path) -> None:
    with writing_folder(tmp_path / "release") as part:
        (part / RECORD).write_text("1")
        assert not (tmp_path / "release").exists()
    assert names(tmp_path) == ["release"]


def test_a_fault_leaves_the_old_release_and_no_rubbish(tmp_path: Path) -> None:
    with writing_folder(tmp_path / "release") as part:
        fill(part, "old")
    with pytest.raises(InputError, match="cannot write"), writing_folder(tmp_path / "release") as part:
        (part / "no" / "such" / "place").write_text("new")
    assert (tmp_path / "release" / RECORD).read_text() == "old"
    assert names(tmp_path) == ["release"]


def test_a_new_release_replaces_the_old_one_whole(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with writing_folder(tmp_path / "release") as part:
            (part / text).write_text(text)
            fill(part, text)
    assert names(tmp_path / "release") == [SUMS, "new", RECORD]
    assert names(tmp_path) == ["release"]


def test_a_strangers_file_in_a_release_is_not_lost(tmp_path: Path) -> None:
    with writing_folder(tmp_path / "release") as part:
        fill(part, "old")
    (tmp_path / "release" / "thesis.tex").write_text("years of work")
    with (
        pytest.raises(UsageError, match=r"something else than a release \(thesis.tex\)"),
        writing_folder(tmp_path / "release"),
    ):
        pass
    assert (tmp_path / "release" / "thesis.tex").read_text() == "years of work"


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="holds something else"), writing_folder(tmp_path):
        pass
    with pytest.raises(UsageError, match="is a file"), writing_folder(tmp_path / "thesis.tex"):
        pass
    assert names(tmp_path) == ["thesis.tex"]


KILLED = """
import sys, pathlib
from kina_build.release.folder import writing_folder
with writing_folder(pathlib.Path(sys.argv[1])) as part:
    for n in range(20):
        (part / f"{n}.txt").write_text("x" * 1000)
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_a_kill_leaves_the_old_release(tmp_path: Path) -> None:
    target = tmp_path / "release"
    with writing_folder(target) as part:
        fill(part, "old")
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"writing\n"
        os.kill(child.pid, signal.SIGKILL)
    assert names(target) == [SUMS, RECORD]
    assert (target / RECORD).read_text() == "old"


def test_checksums_find_what_was_changed_added_or_lost(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a", "b", "data/c"):
        (tmp_path / name).write_text(name)
    write_sums(tmp_path)
    assert sum_faults(tmp_path) == []
    (tmp_path / "a").write_text("other")
    (tmp_path / "b").unlink()
    (tmp_path / "data" / "d").write_text("")
    assert sum_faults(tmp_path) == [
        "b: missing",
        "data/d: not listed in SHA256SUMS",
        "a: content differs from SHA256SUMS",
    ]
    (tmp_path / "SHA256SUMS").write_text("nonsense\n")
    with pytest.raises(InputError, match="SHA256SUMS:1: not a line of sha256sum"):
        sum_faults(tmp_path)


def test_sums_that_are_no_text_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="SHA256SUMS: is UTF-16 text"):
        sum_faults(tmp_path)


def test_ids_of_thousands_of_digits_stand_in_counting_order() -> None:
    ids = ["2", "010", "10", "9" * 5000, "1" + "0" * 5000, "q1"]
    shuffled = ids[::-1]
    assert sorted(shuffled, key=natural) == ids


def test_a_repository_in_a_release_survives_ten_exports(tmp_path: Path) -> None:
    target = tmp_path / "release"
    with writing_folder(target) as part:
        fill(part, "0")
    objects = target / ".git" / "objects"
    objects.mkdir(parents=True)
    (objects / "pack").write_bytes(b"every version there was")
    (target / ".git" / "HEAD").symlink_to("nowhere")
    (target / ".gitattributes").write_text("*.parquet lfs")
    for text in map(str, range(10)):
        with writing_folder(target) as part:
            fill(part, text)
    assert names(target) == [".git", ".gitattributes", SUMS, RECORD]
    assert (objects / "pack").read_bytes() == b"every version there was"
    assert (target / ".git" / "HEAD").readlink() == Path("nowhere")
    assert (target / RECORD).read_text() == "9"
    assert names(tmp_path) == ["release"]


@pytest.mark.parametrize("lost", ["empty", "dangling", "data/more.txt"])
def test_what_the_sums_do_not_list_is_named_and_kept(tmp_path: Path, lost: str) -> None:
    target = tmp_path / "release"
    with writing_folder(target) as part:
        (part / "data").mkdir()
        (part / "data" / "x").write_text("x")
        fill(part, "old")
    if lost == "empty":
        (target / lost).mkdir()
    elif lost == "dangling":
        (target / lost).symlink_to("nowhere")
    else:
        (target / lost).write_text("mine")
    with pytest.raises(UsageError, match=lost), writing_folder(target, overwrite=True):
        pass
    assert os.path.lexists(target / lost)


def test_a_file_that_was_edited_is_named_and_kept(tmp_path: Path) -> None:
    target = tmp_path / "release"
    with writing_folder(target) as part:
        fill(part, "old")
    (target / RECORD).write_text("edited")
    with (
        pytest.raises(UsageError, match="release.json: was changed after kina wrote it"),
        writing_folder(target),
    ):
        pass
    assert (target / RECORD).read_text() == "edited"
    with writing_folder(target, overwrite=True) as part:
        fill(part, "new")
    assert (target / RECORD).read_text() == "new"


@pytest.mark.parametrize("there", ["old", "empty", "nothing"])
def test_a_link_to_a_folder_stays_a_link(tmp_path: Path, there: str) -> None:
    target = tmp_path / "release"
    target.symlink_to("disk")
    if there == "empty":
        (tmp_path / "disk").mkdir()
    elif there == "old":
        with writing_folder(tmp_path / "disk") as part:
            fill(part, "old")
    with writing_folder(target) as part:
        fill(part, "new")
    assert target.is_symlink()
    assert (tmp_path / "disk" / RECORD).read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "release"]


def test_what_is_edited_while_the_export_runs_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "release"
    with writing_folder(target) as part:
        fill(part, "old")
    under_way = writing_folder(target)
    fill(under_way.__enter__(), "new")
    (target / RECORD).write_text("edited meanwhile")
    with pytest.raises(UsageError, match="was changed"):
        under_way.__exit__(None, None, None)
    assert (target / RECORD).read_text() == "edited meanwhile"
    assert names(tmp_path) == ["release"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o755), (0o027, 0o750)])
def test_the_folder_has_the_mode_that_the_umask_gives(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        with writing_folder(tmp_path / "release") as part:
            fill(part, "1")
    finally:
        os.umask(before)
    assert (tmp_path / "release").stat().st_mode & 0o777 == mode


def test_links_and_folders_of_nothing_are_faults(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    write_sums(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "b").symlink_to("a")
    assert sum_faults(tmp_path) == ["b: is a link", "more/: holds nothing of the release"]
