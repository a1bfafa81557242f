"""Table [project] of kina.toml, and the plain commands that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina_build.errors import ConfigError, UsageError
from kina_build.project.decisions import Rulings
from kina_build.project.folder import find_project
from kina_build.project.graph.plan import draw_graph, in_order, plan
from kina_build.project.graph.stages import Stage

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
