"""The generated half of the docs says what the code says, and the schemas fit what the flow writes."""

from __future__ import annotations

import csv
import json
import sys
import threading
from pathlib import Path
from types import FrameType

import grimp
import jsonschema
import pytest
from typer.testing import CliRunner

import kina_build
from docs.generate import commands, pages
from docs.generate.architecture import ROOT, diagram, steps, with_diagram
from docs.generate.markdown import slug
from docs.generate.settings import pages as settings_pages
from kina_build.cli.main import app
from kina_build.config import Settings, explain
from kina_build.errors import InputError
from kina_build.project.table import ProjectTable, Source
from kina_build.schemas import artefacts, schema_of
from tests.cli.test_contract import COMMANDS

MADE = pages()
ELSEWHERE = {
    "dev.jsonl": "test.jsonl",
    "KINA.dev.json": "KINA.json",
}
"""Files of the flow that have the form of another."""
FOREIGN = {"croissant.json": "https://schema.org/"}
"""Files in a standard's own vocabulary, and what they begin with."""


def artefact_of(path: Path) -> str:
    if path.parent.name == "decisions":
        return "rulings.jsonl"
    if path.name.endswith(".manifest.json"):
        return "manifest.json"
    return ELSEWHERE.get(path.name, path.name)


@pytest.mark.xdist_group("flow")
def test_every_file_of_the_flow_fits_its_schema(flow: Path) -> None:
    seen = set()
    for path in sorted(flow.rglob("*")):
        if path.suffix not in (".json", ".jsonl") or path.name in FOREIGN:
            continue
        name = artefact_of(path)
        seen.add(name)
        check = jsonschema.Draft202012Validator(schema_of(name))
        text = path.read_text(encoding="utf-8")
        rows = text.splitlines() if artefacts()[name].form == "lines" else [text]
        faults = [
            f"{path.name}: {one.json_path} {one.message[:200]}"
            for row in rows
            for one in check.iter_errors(json.loads(row))
        ]
        assert faults == []
    assert {"pool.jsonl", "selection.json", "decisions.jsonl", "release.json", "leaderboard.json"} <= seen


@pytest.mark.xdist_group("flow")
def test_a_foreign_file_is_in_its_own_vocabulary(flow: Path) -> None:
    told = json.loads((flow / "release/croissant.json").read_text(encoding="utf-8"))
    assert FOREIGN["croissant.json"] in json.dumps(told["@context"])


@pytest.mark.xdist_group("flow")
def test_the_reviewers_of_the_flow_have_known_columns(flow: Path) -> None:
    with (flow / "reviewers.csv").open(encoding="utf-8", newline="") as file:
        columns = csv.DictReader(file).fieldnames or ()
    assert set(columns) <= set(schema_of("reviewers.csv")["properties"])


@pytest.mark.parametrize("name", artefacts())
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


def test_a_schema_carries_the_notes_below_the_fields_and_requires_no_null() -> None:
    schema = schema_of("pool.jsonl")
    assert schema["properties"]["language"]["description"] == "BCP 47 tag."
    assert set(schema["required"]) == {"item_id", "question", "options", "correct_answer"}
    assert "rival" not in schema_of("triage.jsonl")["required"]
    assert "mdd" in schema_of("leaderboard.json")["required"]


@pytest.mark.parametrize(
    "line",
    [
        '{"item_id": "q1", "question": "?", "options": [], "correct_answer": 1}',
        '{"item_id": "q1", "question": "?", "options": [], "correct_answer": "A", "colour": "red"}',
        '{"question": "?", "options": [], "correct_answer": "A"}',
    ],
)
def test_a_schema_refuses_what_the_record_refuses(line: str) -> None:
    assert not jsonschema.Draft202012Validator(schema_of("pool.jsonl")).is_valid(json.loads(line))


def test_an_unknown_artefact_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no artefact 'pool.csv'") as caught:
        schema_of("pool.csv")
    assert "pool.jsonl" in str(caught.value.hint)


def test_artefacts_name_commands_that_exist() -> None:
    known = {" ".join(path) for path in COMMANDS} | {""}
    for one in artefacts().values():
        assert {one.made_by, *one.read_by} <= known, one.name


def test_every_command_has_its_section_once() -> None:
    text = "\n".join(MADE[name] for name in MADE if name.startswith("cli/"))
    for path in COMMANDS:
        assert text.count(f"## kina {' '.join(path)}\n") == 1
        assert f"\nkina {' '.join(path)}" in text


def test_every_option_of_a_command_is_on_its_page() -> None:
    section = MADE["cli/questions.md"].partition("## kina dedup\n")[2].partition("\n## ")[0]
    for option in commands.commands()["dedup",].params:
        if option.name not in commands.COMMON:
            assert option.opts[0].lstrip("-").casefold() in section.casefold()
    assert "--overwrite" not in section
    assert "--overwrite" in MADE["cli/index.md"]


def test_every_setting_is_on_its_page() -> None:
    text = settings_pages()["settings.md"]
    for key, _, meaning in explain(Settings()):
        if key not in ("review", "project"):
            section, _, name = key.partition(".")
            assert f"## [{section}]" in text
            assert f"| `{name}` |" in text
            assert " ".join(meaning.split())[:30].replace("<", "\\<").replace("|", "\\|") in text
    assert "| `weights.factuality` |" in text


def test_every_field_of_a_record_is_on_its_page() -> None:
    for one in artefacts().values():
        text = MADE[f"files/{slug(one.name)}.md"]
        assert [name for name in one.record.model_fields if f"| `{name}` |" not in text] == []


def test_every_key_of_a_project_is_on_its_page() -> None:
    text = MADE["project.md"]
    headings = ("[project]", "[[project.source]]", "[project.support]", "[[project.model]]", "[review.batch]")
    for heading in headings:
        assert f"## {heading}\n" in text
    for name in (*ProjectTable.model_fields, *Source.model_fields):
        assert f"| `{name}` |" in text or f"project.{name}]" in text, name


def test_every_name_of_the_library_is_on_its_page_with_its_arguments() -> None:
    text = MADE["library.md"]
    for name in kina_build.__all__:
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert f"kina_build.{name}(" in section
        thing = getattr(kina_build, name)
        if not isinstance(thing, type) and "Args:" in thing.__doc__:
            assert "| argument |" in section


def test_the_layers_of_contributing_are_those_of_the_contract() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert with_diagram(text) == text, "python -m docs.generate writes it anew"
    assert MADE["layers.md"].count(f"```text\n{diagram()}\n```") == 1


def test_each_step_of_the_journey_is_imported_by_a_step_before_it() -> None:
    graph = grimp.build_graph("kina_build", include_external_packages=False)
    for number, (module, name) in enumerate(steps()[1:], start=1):
        before = [one for one, _ in steps()[:number]]
        importers = [one for one in before if graph.chain_exists(importer=one, imported=module)]
        assert importers, f"nothing before {module}.{name} imports it"


@pytest.mark.xdist_group("flow")
def test_a_run_enters_the_steps_of_the_journey_in_their_order(
    flow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(flow)
    wanted = dict.fromkeys(steps()[1:])
    entered: dict[tuple[str, str], None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        here = (frame.f_globals.get("__name__", ""), frame.f_code.co_name)
        if event == "call" and here in wanted:
            entered.setdefault(here)

    line = "select --support support.npz --anchors anchors.jsonl -k 12 --strata pool.jsonl"
    sys.setprofile(watch)
    threading.setprofile(watch)  # domains are searched side by side
    try:
        done = CliRunner().invoke(app, [*line.split(), "-o", str(tmp_path / "selection.json")])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert done.exit_code == 0, done.stderr
    assert list(entered) == list(wanted)
