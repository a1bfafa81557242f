"""Table [project] of kina.toml, and the plain commands that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from kina_build.errors import ConfigError, UsageError
from kina_build.project.decisions import Rulings
from kina_build.project.folder import OWNED, PAID_LATER, Project, find_project
from kina_build.project.graph.plan import draw_graph, in_order, plan
from kina_build.project.graph.stages import Stage
from kina_build.project.table import ProjectTable, ReviewBatch

SMALL = '[project]\nsize = 5\n[[project.source]]\nfiles = ["a.csv"]\n'


def lines(folder: Path, text: str) -> dict[str, str]:
    (folder / "kina.toml").write_text(text)
    project = find_project(folder / "kina.toml")
    assert project is not None
    return {stage.name: stage.line for stage in plan(project, Rulings())}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[project]\nsise = 5\n", "project.sise: unknown key"),
        ("[[project.source]]\nfiles = []\n", "project.source.0.files"),
        ("[project]\ntemplate = 'quiz'\n", "project.template"),
        (f"{SMALL}[review.batch]\nbonous = '1'\n", "review.batch.bonous: unknown key"),
        (
            f"{SMALL}[review.batch]\nledger = 'x.db'\n",
            "review.batch.ledger: the project names this file itself",
        ),
        (f"{SMALL}[review.batch]\nprovider = 'prolific'\n", "review.batch.provider: no stage of a project"),
    ],
)
def test_what_it_does_not_know_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "kina.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        find_project(tmp_path / "kina.toml")


def test_a_batch_does_not_hinder_the_numbers_of_review(tmp_path: Path) -> None:
    from kina_build.config import load_settings
    from kina_review.rubric import rules_of

    (tmp_path / "kina.toml").write_text("[review]\nbar = 3\n[review.batch]\nbase = 2.00\n")
    assert rules_of(load_settings(tmp_path / "kina.toml")).bar == 3


def test_several_sources_are_imported_each_by_its_own_map(tmp_path: Path) -> None:
    for name in ("b.csv", "a2.csv", "a1.csv"):
        (tmp_path / name).write_text("x")
    found = lines(
        tmp_path,
        '[[project.source]]\nfiles = ["a*.csv"]\nmap = { options = ["A", "B"], question = "Stem" }\n'
        '[[project.source]]\nfiles = ["b.csv"]\nset.field = "law"\nlicense = "MIT"\nkeep_going = true\n',
    )
    assert found["import 1"] == (
        "kina import a1.csv a2.csv --map options=A,B --map question=Stem -o pool-1.jsonl"
    )
    assert (
        found["import 2"]
        == "kina import b.csv --set field=law --set license=MIT --keep-going -o pool-2.jsonl"
    )
    assert found["import"] == "kina import pool-1.jsonl pool-2.jsonl -o pool.jsonl"


def test_without_anchors_a_sample_is_drawn_and_nothing_is_certified(tmp_path: Path) -> None:
    found = lines(tmp_path, f"{SMALL}[project.quota]\nby = 'field'\n")
    assert (
        found["select"]
        == "kina sample pool.jsonl --total 5 --by field --exclude left-out.json -o selection.json"
    )
    assert not {"anchors", "support", "budget", "certify"} & found.keys()


def test_models_are_asked_the_release_with_its_private_answers(tmp_path: Path) -> None:
    found = lines(
        tmp_path,
        f'{SMALL}[project.release]\nprivate = "test"\n'
        '[[project.model]]\nname = "org/m:1"\nbase_url = "http://h/v1"\n',
    )
    assert found["run org/m:1"] == (
        "kina run --release release --model org/m:1 --base-url http://h/v1 -o responses-org-m-1.jsonl"
    )
    assert found["verify"] == "kina verify release --answers release.answers.jsonl"
    assert "--answers release.answers.jsonl --responses responses-org-m-1.jsonl" in found["score"]


def test_a_judge_a_quota_file_and_corpora_reach_their_lines(tmp_path: Path) -> None:
    found = lines(
        tmp_path,
        f"{SMALL}[project.anchors]\nfiles = 'x.csv'\n"
        "[project.support]\nmethod = 'judge'\njudges = ['a', 'b']\n"
        "[project.quota]\nfile = 'proportional'\n[project.contamination]\nagainst = ['other.jsonl']\n",
    )
    assert "--method judge --judge a --judge b" in found["support"]
    assert "--strata pool.jsonl --quota proportional" in found["select"]
    assert "budget" not in found
    assert (
        found["contamination"] == "kina contamination pool.jsonl --against other.jsonl -o contamination.json"
    )


def test_lists_and_triples_have_stages_of_their_own(tmp_path: Path) -> None:
    head = (
        "[project]\ntemplate = '{}'\n[[project.source]]\nfiles = 'q.jsonl'\n[[project.model]]\nname = 'm'\n"
    )
    (tmp_path / "q.jsonl").write_text("x")
    assert list(lines(tmp_path, head.format("universe")).values()) == [
        "kina run --questions q.jsonl --model m -o replies-m.jsonl",
        "kina score --task universe --questions q.jsonl --replies replies-m.jsonl -o scores.jsonl",
    ]
    assert list(lines(tmp_path, head.format("triples"))) == ["run m", "link m", "score"]


def test_another_settings_file_is_named_on_every_line(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(SMALL)
    project = find_project(tmp_path / "other.toml")
    assert project is not None
    assert all(stage.line.endswith("--config other.toml") for stage in plan(project, Rulings()))


RICH: dict[str, Any] = {
    "project": {
        "size": 5,
        "source": [{"files": ["a.csv"]}],
        "anchors": {"files": ["n.csv"]},
        "quota": {},
        "contamination": {"against": ["c.jsonl"]},
        "responses": {"files": ["r.jsonl"]},
        "panel": {"models": ["p"]},
        "model": [{"name": "m"}],
    },
    "batch": {"reviews": ["v.jsonl"], "reviewers": "w.csv"},
}
"""A project with all stages, to which each key is added."""
KEYS: dict[str, tuple[Any, str, str]] = {
    "project.name": ("other", "export", "--name other"),
    "project.title": ("A title", "report", "--title 'A title'"),
    "project.template": ("kina", "check", "--profile kina"),
    "project.size": (7, "select", "-k 7"),
    "project.seed": (3, "select", "--seed 3"),
    "project.patches": ("p.jsonl", "import", "--patch p.jsonl"),
    "project.near": (False, "dedup", "--no-near"),
    "project.judge": ("j", "score r.jsonl", "--judge j"),
    "project.source.files": ("b.csv", "import", "kina import b.csv "),
    "project.source.map": ({"options": ["A", "B"]}, "import", "--map options=A,B"),
    "project.source.set": ({"field": "law"}, "import", "--set field=law"),
    "project.source.license": ("MIT", "import", "--set license=MIT"),
    "project.source.source": ("a book", "import", "--set 'question_source=a book'"),
    "project.source.format": ("csv", "import", "--format csv"),
    "project.source.encoding": ("latin-1", "import", "--encoding latin-1"),
    "project.source.delimiter": (";", "import", "--delimiter ';'"),
    "project.source.key_form": ("letter", "import", "--key-form letter"),
    "project.source.name_as": ("field", "import", "--name-as field"),
    "project.source.cut_prefix": ("x_", "import", "--cut-prefix x_"),
    "project.source.prefix_ids": (True, "import", "--prefix-ids"),
    "project.source.keep_going": (True, "import", "--keep-going"),
    "project.anchors.files": ("o.csv", "anchors", "kina anchors o.csv"),
    "project.support.method": ("bank", "support", "--method bank"),
    "project.support.judges": (["j"], "support", "--judge j"),
    "project.support.base_url": ("http://h/v1", "support", "--base-url http://h/v1"),
    "project.support.ratings": ("x.csv", "support", "--ratings x.csv"),
    "project.support.labels": ("x.csv", "support", "--labels x.csv"),
    "project.support.item_labels": ("x.csv", "support", "--item-labels x.csv"),
    "project.support.pair_labels": ("x.csv", "support", "--pair-labels x.csv"),
    "project.support.all_domains": (True, "support", "--all-domains"),
    "project.quota.by": ("field", "budget", "--by field"),
    "project.quota.domain_by": ("discipline", "budget", "--domain-by discipline"),
    "project.quota.shares": ("even", "budget", "--shares even"),
    "project.quota.file": ("q.csv", "select", "--quota q.csv"),
    "project.contamination.against": ("d.jsonl", "contamination", "--against d.jsonl"),
    "project.responses.files": ("s.jsonl", "triage", "kina triage s.jsonl"),
    "project.panel.models": ("q@2026-05", "panel", "--model q@2026-05"),
    "project.top_up.accepted_only": (True, "top-up", "--accepted-only"),
    "project.release.version": ("2.0.0", "export", "--release-version 2.0.0"),
    "project.release.previous": ("before", "export", "--previous before"),
    "project.release.estimator": ("estimator.json", "export", "--estimator estimator.json"),
    "project.release.private": ("test", "verify", "--answers release.answers.jsonl"),
    "project.release.license": ("MIT", "export", "--license MIT"),
    "project.release.published": ("2026-05-01", "export", "--published 2026-05-01"),
    "project.release.creators": ("A. Author", "export", "--creator 'A. Author'"),
    "project.release.url": ("https://example.org", "export", "--url https://example.org"),
    "project.release.letters": ("keep", "export", "--keep-letters"),
    "project.model.name": ("other", "run other", "--model other"),
    "project.model.base_url": ("http://h/v1", "run m", "--base-url http://h/v1"),
    "project.model.samples": (4, "run m", "--samples 4"),
    "batch.reviews": ("u.jsonl", "settle", "--reviews u.jsonl"),
    "batch.scores": ("s.csv", "settle", "--scores s.csv"),
    "batch.findings": ("f.csv", "settle", "--findings f.csv"),
    "batch.draw": ("audit.json", "settle", "--draw audit.json"),
    "batch.rules": ("rules.json", "settle", "--rules rules.json"),
    "batch.scarcity": ("s.csv", "settle", "--scarcity s.csv"),
    "batch.items": ("i.csv", "settle", "--items i.csv"),
    "batch.rule_version": ("2", "settle", "--rule-version 2"),
    "batch.base": ("2.00", "settle", "--base 2.00"),
    "batch.bonus": ("5.00", "settle", "--bonus 5.00"),
    "batch.grade_pay": ("0.50", "settle", "--grade-pay 0.50"),
    "batch.currency": ("EUR", "settle", "--currency EUR"),
    "batch.bar": ("14", "settle", "--bar 14"),
    "batch.tie": ("split", "settle", "--tie split"),
    "batch.deadline": ("2026-03-31", "settle", "--deadline 2026-03-31"),
    "batch.penalty": ("1.00", "settle", "--penalty 1.00"),
    "batch.seed": (9, "settle", "--seed 9"),
    "batch.awards": ("awards.csv", "settle", "--awards awards.csv"),
    "batch.reviewers": ("x.csv", "assign", "--reviewers x.csv"),
    "batch.open_cap": (2, "assign", "--open-cap 2"),
}
"""Key of kina.toml to a value, and what it does to the line of a stage."""
REFUSED = {f"batch.{key}" for key in (*OWNED, *PAID_LATER)}


def fields_of(name: str, kind: type[BaseModel]) -> Iterator[str]:
    """Yield the dotted names of all values of a table."""
    for field, info in kind.model_fields.items():
        inner = [
            one
            for one in (info.annotation, *get_args(info.annotation))
            if isinstance(one, type) and issubclass(one, BaseModel)
        ]
        yield from fields_of(f"{name}.{field}", inner[0]) if inner else [f"{name}.{field}"]


def test_no_key_of_the_project_is_without_a_test() -> None:
    known = {*fields_of("project", ProjectTable), *fields_of("batch", ReviewBatch)}
    assert known == KEYS.keys() | REFUSED


@pytest.mark.parametrize("key", KEYS)
def test_each_key_reaches_a_line(tmp_path: Path, key: str) -> None:
    value, stage, part = KEYS[key]
    without, given = deepcopy(RICH), deepcopy(RICH)
    *tables, last = key.split(".")
    at = given
    for table in tables:
        at = at.setdefault(table, {})
        at = at[0] if isinstance(at, list) else at
    at[last] = value
    if key == "project.judge":
        for one in (without, given):
            one["project"]["template"] = "universe"
    before, after = planned(tmp_path, without), planned(tmp_path, given)
    assert part in after[stage]
    assert part not in before.get(stage, "")


def planned(folder: Path, tables: dict[str, Any]) -> dict[str, str]:
    table = ProjectTable.model_validate(tables["project"])
    project = Project(folder, "kina.toml", table, ReviewBatch.model_validate(tables["batch"]))
    return {stage.name: f"{stage.line} " for stage in plan(project, Rulings())}


def test_what_is_selected_is_reviewed_and_a_reserve_where_one_is_needed(tmp_path: Path) -> None:
    tables = deepcopy(RICH)
    assert "--only" not in planned(tmp_path, tables)["assign"]
    tables["project"]["top_up"] = {}
    assert "--only selection.json" in planned(tmp_path, tables)["assign"]
    tables["project"]["top_up"] = {"accepted_only": True}
    assert "--only" not in planned(tmp_path, tables)["assign"]


def test_the_graph_orders_by_artefacts_alone() -> None:
    last = Stage("last", ("c",), ("b.json",), ("c.json",))
    middle = Stage("middle", ("b",), ("folder/part",), ("b.json",))
    first = Stage("first", ("a",), (), ("folder",))
    graph = draw_graph([last, middle, first])
    assert [stage.name for stage in in_order(graph)] == ["first", "middle", "last"]
    assert [stage.name for stage in in_order(graph, "middle")] == ["first", "middle"]
    with pytest.raises(UsageError, match="wait for one another: first, last"):
        draw_graph([last, Stage("first", (), ("c.json",), ("b.json",))])
    with pytest.raises(UsageError, match="would be written by last and by twin"):
        draw_graph([last, Stage("twin", (), (), ("c.json",))])


def test_what_the_batch_says_of_pay_reaches_the_settlement(tmp_path: Path) -> None:
    said = 'reviews = "r.csv"\nbase = "2.00"\nbonus = "5.00"\ngrade_pay = "0.50"\nscarcity = "fields.csv"\n'
    settle = lines(tmp_path, f"{SMALL}[review.batch]\n{said}")["settle"]
    assert "--grade-pay 0.50" in settle
    assert "--scarcity fields.csv --items pool.jsonl" in settle
    plain = lines(tmp_path, f'{SMALL}[review.batch]\nreviews = "r.csv"\nitems = "own.csv"\n')["settle"]
    assert "--items own.csv" in plain
    assert "--scarcity" not in plain
