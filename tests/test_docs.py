"""The blocks of README and of every page of the docs are run, in order; what they print must match."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.pages import BLOCK, Place, answer, faults_of, read_blocks
from tests.servers import scripted

pytestmark = [pytest.mark.xdist_group("flow"), pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if not {"generated", "build"} & {*path.relative_to(DOCS).parts}
)
WRITTEN = [*PAGES, *sorted(ROOT.glob("*.md"))]
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")


def run_page(page: Path, folder: Path) -> list[str]:
    place = Place(folder)
    return [
        fault for block in read_blocks(page.read_text(encoding="utf-8")) for fault in faults_of(block, place)
    ]


def test_readme_does_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert sum(block.language == "console" for block in read_blocks(text)) > 10
    assert run_page(ROOT / "README.md", tmp_path) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_page_does_what_it_says(
    page: Path, flow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page runs in a copy of the demo's folder, or in an empty one where it says so."""
    text = page.read_text(encoding="utf-8")
    if not BLOCK.search(text):
        return
    folder = tmp_path / "demo"
    if "% in an empty folder" in text:
        folder.mkdir()
    else:
        shutil.copytree(flow, folder)
    with scripted(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert run_page(page, folder) == []


def test_every_command_is_in_the_readme() -> None:
    from tests.cli.test_contract import COMMANDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [" ".join(path) for path in COMMANDS if f"kina {' '.join(path)}" not in text]
    assert missing == []


def test_every_make_target_is_described() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    for target in phony.group(1).split():
        assert re.search(rf"^{target}:.*## ", text, re.MULTILINE), target
