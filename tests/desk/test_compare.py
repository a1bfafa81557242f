"""Two selections side by side, an item's history, and files whose columns people name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from kina_build.desk.bench import read_bench
from kina_build.desk.columns import find_unread, read_choice
from kina_build.desk.compare import compare_selections
from kina_build.errors import InputError
from kina_build.items.mending.patch import make_patch
from kina_build.rows.jsonl import write_document, write_records
from kina_build.selection import select
from kina_build.support.matrix import build_matrix
from kina_build.support.npz import write_support
from tests.desk.flow import item, write_desk_flow
from tests.desk.test_decisions import ORIGIN
from tests.desk.test_guard import KEY, client
from tests.project.conftest import ran, run_kina

GERMAN = "Nr,Frage,W1,W2,Loesung\n1,Was ist 1+1?,2,3,A\n2,Was ist 2+2?,3,4,B\n"
NAMED = {"column1": "question", "column2": "options", "column3": "options", "column4": "correct_answer"}
TOML = '[project]\nname = "fragen"\nsize = 1\n[[project.source]]\nfiles = ["fragen.csv"]\n'


def enter(folder: Path) -> TestClient:
    found = client(folder, follow=True)
    found.get(f"/?token={KEY}")
    return found


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two anchors, three items: one shows both a little, the others one each."""
    write_desk_flow(tmp_path)
    scores = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    matrix = build_matrix(["fuse-a", "fuse-b", "moon"], ["u", "w"], scores, np.array([2.0, 1.0]))
    write_support(tmp_path / "support.npz", matrix)
    write_document(tmp_path / "selection.json", select(matrix, 1))
    write_document(tmp_path / "other.json", select(matrix, 1, must=["fuse-a"]))
    anchors = [{"anchor_id": one, "statement": f"what {one} says", "kind": "concept"} for one in "uw"]
    write_records(tmp_path / "anchors.jsonl", anchors)
    return tmp_path


def test_two_selections_say_which_anchors_gain_and_which_lose(two: Path) -> None:
    found = compare_selections(read_bench(two), two / "selection.json", two / "other.json")
    assert [(one.anchor_id, one.levels, one.items) for one in found.anchors] == [
        ("u", (1.0, 0.5), ("fuse-b", "fuse-a")),
        ("w", (0.0, 0.5), ("", "fuse-a")),
    ]
    assert found.only == (("fuse-b",), ("fuse-a",))
    assert (found.both, found.alike) == (0, 0)
    page = enter(two).get("/compare?first=selection.json&second=other.json").text
    assert "what u says" in page
    assert "▼ −" in page
    assert "▲ +" in page


def test_the_same_selection_twice_or_an_unknown_one_is_not_compared(two: Path) -> None:
    desk = enter(two)
    for query in ("first=selection.json&second=selection.json", "first=x&second=other.json", "first=x"):
        assert "anchors covered alike" not in desk.get(f"/compare?{query}").text


def test_a_patch_stands_on_the_page_of_its_item_and_says_whether_the_pool_has_it(tmp_path: Path) -> None:
    write_desk_flow(tmp_path)
    old = item("moon", "What does the moon pull?", ("the sea", "the sky"), "B", field="tides")
    done = make_patch(old, [("options.B", "the sun", "a slip")], "ann")
    later = item("moon", "What does the moon pull?", ("the sea", "the sun"), "B", field="tides")
    open_one = make_patch(later, [("question", "What does the Moon pull?", "a name")], "ann")
    write_records(tmp_path / "mended.jsonl", [done, open_one])
    page = enter(tmp_path).get("/items/moon").text
    assert page.count("is not in the pool") == 1
    assert "a slip" in page
    assert "sky" in page
    assert "patched" in page


def test_what_was_replaced_or_taken_back_stays_in_the_history_of_an_item(tmp_path: Path) -> None:
    write_desk_flow(tmp_path)
    (tmp_path / "kina.toml").write_text(TOML)
    for verdict in ("keep", "drop", "open"):
        told = ["decide", "item", "moon", verdict, "--who", "ann", "--reason", f"said {verdict}"]
        assert run_kina(tmp_path, *told).exit_code == 0
    page = enter(tmp_path).get("/items/moon").text
    places = [page.index(f"said {verdict}") for verdict in ("keep", "drop", "open")]
    assert places == sorted(places)


def test_a_file_that_was_not_understood_is_a_case_until_its_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "fragen.csv").write_text(GERMAN)
    (tmp_path / "kina.toml").write_text(TOML)
    built = run_kina(tmp_path, "build", "import", "--json")
    assert built.exit_code == 1
    (one,) = json.loads(built.stdout)["stages"]
    assert (one["state"], one["cases"][0]["kind"]) == ("waiting", "file not understood")
    assert find_unread(tmp_path) == ("fragen.csv",)
    desk = enter(tmp_path)
    assert "Columns of fragen.csv" in desk.get("/").text
    assert "Was ist 1+1?" in desk.get("/columns/fragen.csv").text
    tried = desk.post("/columns/fragen.csv", data={**NAMED, "choice": "try"}, headers=ORIGIN)
    assert "of it are read so" in tried.text
    assert not (tmp_path / "decisions").exists(), "a trial writes nothing"
    desk.post("/columns/fragen.csv", data={**NAMED, "choice": "map", "reason": "read it"}, headers=ORIGIN)
    (line,) = (tmp_path / "decisions" / "columns-ann.jsonl").read_text().splitlines()
    assert json.loads(line)["columns"] == {
        "question": "Frage",
        "options": "W1,W2",
        "correct_answer": "Loesung",
    }
    again = run_kina(tmp_path, "build", "import", "--json")
    assert (again.exit_code, ran(again)) == (0, ["import"])
    assert find_unread(tmp_path) == ()
    assert desk.get("/columns/fragen.csv").status_code == 404


def test_a_map_that_reads_nothing_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "fragen.csv").write_text(GERMAN)
    (tmp_path / "kina.toml").write_text(TOML)
    run_kina(tmp_path, "build", "import")
    wrong = {"column0": "question", "choice": "map"}
    page = enter(tmp_path).post("/columns/fragen.csv", data=wrong, headers=ORIGIN)
    assert "Nothing is read so" in page.text
    assert not (tmp_path / "decisions").exists()


def test_two_columns_for_one_question_are_refused() -> None:
    with pytest.raises(InputError, match="question: one column only, not a, b"):
        read_choice({"column0": "question", "column1": "question"}, ("a", "b"))
