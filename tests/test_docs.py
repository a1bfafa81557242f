"""The blocks of README and of every page of the docs are run, in order; what they print must match."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from docs.generate import pages
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
    faults = run_page(ROOT / "README.md", tmp_path)
    assert not faults, "\n\n".join(faults)


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
        faults = run_page(page, folder)
    assert not faults, "\n\n".join(faults)


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


def test_links_within_the_docs_lead_somewhere() -> None:
    """Also those to generated pages; what lies outside is never fetched."""
    made = {DOCS / "generated" / name: text for name, text in pages().items()}
    texts = {path: path.read_text(encoding="utf-8") for path in WRITTEN} | {
        path: text for path, text in made.items() if path.suffix == ".md"
    }
    dead = [
        f"{path.relative_to(ROOT)}: {link}"
        for path, text in texts.items()
        for link in LINK.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
        if not link.startswith(("https://", "http://", "mailto:")) and not leads(path, link, texts)
    ]
    assert dead == []


def leads(path: Path, link: str, texts: Mapping[Path, str]) -> bool:
    """Tell whether a link of a page leads to a file, and to a heading of it where it names one."""
    place, _, anchor = link.partition("#")
    target = (path.parent / place).resolve() if place else path
    if target not in texts:
        return target.exists() and not anchor
    headings = re.findall(r"^#+ (.*)$", texts[target], re.MULTILINE)
    return not anchor or anchor in {github_slug(heading) for heading in headings}


def github_slug(heading: str) -> str:
    """Name a heading's anchor as MyST does, and as repositories' hosts do."""
    return re.sub(r"[^\w\- ]", "", heading.casefold()).strip().replace(" ", "-")


def test_defaults_beside_the_papers_symbols_are_those_of_the_settings() -> None:
    from kina_build.config import Settings

    text = (DOCS / "explain" / "symbols.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\| `(\w+)\.(\w+)`.*\| ([^|]+) \|$", text, re.MULTILINE)
    settings = Settings()
    wrong = [
        f"{section}.{key}: {told}"
        for section, key, told in rows
        for value in [getattr(getattr(settings, section), key)]
        if told.removesuffix(" (ours)").removesuffix(", uniform").strip('"') != str(value)
    ]
    assert (len(rows) > 20, wrong) == (True, [])


def test_every_page_is_in_a_table_of_contents() -> None:
    made = {DOCS / "generated" / name: text for name, text in pages().items() if name.endswith(".md")}
    texts = made | {path: path.read_text(encoding="utf-8") for path in PAGES}
    listed = {
        (path.parent / f"{name}.md").resolve()
        for path, text in texts.items()
        for block in re.findall(r"^```{toctree}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for name in block.splitlines()
        if name and not name.startswith(":")
    }
    assert texts.keys() - listed == {DOCS / "index.md"}
