"""`kina status`, `kina why`, `kina log`, `kina doctor`: what is told of a project, without changing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina_build.errors import InputError
from kina_build.project.log import append, read_log
from kina_build.project.waiting import tell_cases
from tests.project.conftest import INPUTS, make_project, run_kina, states


def test_nothing_is_written_and_nothing_waits(built: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in built.rglob("*")}
    done = run_kina(built, "status", "--json")
    assert done.exit_code == 0
    assert set(states(done).values()) == {"fresh"}
    assert {path: path.stat().st_mtime_ns for path in built.rglob("*")} == before


def test_for_people_it_is_one_table_a_funnel_and_the_next_step(built: Path) -> None:
    told = run_kina(built, "status").stdout
    assert "complete: nothing waits" in told
    assert "imported 24 → not accepted 5 → eligible 19 → selected 6 → released 6" in told


def test_before_the_first_build_all_is_stale(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "small")
    done = run_kina(folder, "status", "--json")
    assert set(states(done).values()) == {"stale"}
    assert json.loads(done.stdout)["next"] == "kina build"
    assert not [path.name for path in folder.iterdir() if path.name not in INPUTS]


def test_without_a_batch_no_review_stage_is_there_and_it_is_said(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "small")
    toml = folder / "kina.toml"
    toml.write_text(toml.read_text().partition("[review.batch]")[0])
    done = run_kina(folder, "status", "--json")
    assert json.loads(done.stdout)["reviewed"] is False
    assert not {"assign", "settle", "agreement"} & states(done).keys()
    line = next(one["line"] for one in json.loads(done.stdout)["stages"] if one["stage"] == "select")
    assert "--decisions" not in line


def test_every_step_of_the_funnel_lists_its_items(built: Path) -> None:
    told = json.loads(run_kina(built, "status", "--items", "not accepted", "--json").stdout)
    assert told["count"] == len(told["items"]) == 5
    assert all(reason.startswith("review: ") for reason in told["items"].values())
    picks = json.loads(run_kina(built, "status", "--items", "selected", "--json").stdout)["items"]
    assert list(picks.values()) == [f"pick {n}" for n in range(1, 7)]
    unknown = run_kina(built, "status", "--items", "lost")
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("error: --items lost: no such step\nhint: there are: imported, ")


def test_why_tells_an_item_s_life_from_its_row_to_its_answers(built: Path) -> None:
    picks = json.loads((built / "selection.json").read_text())["item_ids"]
    life = json.loads(run_kina(built, "why", picks[2], "--json").stdout)["life"]
    told = {one["stage"]: one["what"] for one in life}
    rows = (built / "questions.csv").read_text().splitlines()
    place = next(n for n, row in enumerate(rows, start=1) if row.startswith(f"{picks[2]},"))
    assert life[0] == {"stage": "import", "what": f"row questions.csv:{place}"}
    assert told["leave-out"] == "eligible"
    assert told["select"].startswith("pick 3 of 6, gain ")
    assert told["export"].startswith("small 1.0.0, ")
    assert told["settle"].startswith("accept: ")
    assert told["score"].count(",") == 4
    assert [one["stage"] for one in life] == sorted((one["stage"] for one in life), key=list(told).index)


def test_why_says_why_not(built: Path) -> None:
    picks = set(json.loads((built / "selection.json").read_text())["item_ids"])
    left = json.loads((built / "left-out.json").read_text())
    ids = [json.loads(line)["item_id"] for line in (built / "pool.jsonl").read_text().splitlines()]
    passed = next(one for one in ids if one not in picks and one not in left["item_ids"])
    assert "not selected: added to the 6 it would gain 0." in run_kina(built, "why", passed).stdout
    refused = left["item_ids"][0]
    told = run_kina(built, "why", refused).stdout
    assert "left out as not accepted: review: " in told
    assert "not selected: it was left out before" in told


def test_why_of_an_unknown_item_names_the_nearest(built: Path) -> None:
    done = run_kina(built, "why", "q001x")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: pool.jsonl has no item 'q001x'\nhint: did you mean q001?\n",
    )


def test_why_before_any_import_says_what_to_run(tmp_path: Path) -> None:
    done = run_kina(make_project(tmp_path / "fresh"), "why", "q001")
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "error: there is no pool.jsonl yet: the questions have not been imported",
        "hint: kina build import; what it waits for, kina status says",
    ]


def test_a_life_is_told_from_what_is_kept_until_a_file_changes(
    built: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = run_kina(built, "why", "q001").stdout
    # no file is read row by row a second time, also not that of a copy of the project elsewhere
    monkeypatch.setattr("kina_build.project.life.chapters.find_rows", None)
    monkeypatch.setattr("kina_build.project.life.chapters.read_pool", None)
    assert run_kina(project, "why", "q001").stdout == first
    with (project / "scores.jsonl").open("a") as out:
        out.write('{"item_id": "q001", "model": "another", "score": 1.0}\n')
    assert "another 1" in run_kina(project, "why", "q001").stdout


def test_a_life_is_told_without_a_sound_cache(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = run_kina(built, "why", "q001").stdout
    for path in (tmp_path / "cache").rglob("*.sqlite"):
        path.write_bytes(b"spoiled" * 1000)
    assert run_kina(built, "why", "q001").stdout == first
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert run_kina(built, "why", "q001").stdout == first


def test_the_log_says_what_ran_and_why(built: Path) -> None:
    entries = json.loads(run_kina(built, "log", "--json").stdout)["log"]
    ran = [one["stage"] for one in entries]
    assert ran.index("import") < ran.index("check") < ran.index("leave-out")
    assert {one["reason"] for one in entries} == {"never built"}
    assert all(one["seconds"] >= 0 and one["began"].endswith("Z") for one in entries)
    assert len(json.loads(run_kina(built, "log", "--limit", "2", "--json").stdout)["log"]) == 2


def test_a_line_of_the_log_that_a_kill_tore_is_left_out(project: Path) -> None:
    log = project / "run" / "log.jsonl"
    whole = read_log(project)
    with log.open("a") as out:
        out.write('{"stage": "imp')
    assert read_log(project) == whole
    append(project, whole[0])
    assert read_log(project) == [*whole, whole[0]]
    log.write_text("{}\n" + log.read_text())
    with pytest.raises(InputError, match=r"log.jsonl:1: "):
        read_log(project)


def test_there_is_no_project_here(tmp_path: Path) -> None:
    (tmp_path / "kina.toml").write_text("[dedup]\nthreshold = 0.9\n")
    for line in (["build"], ["status"], ["why", "q1"], ["log"]):
        done = run_kina(tmp_path, *line)
        assert done.exit_code == 2
        assert "hint: kina init FILES... writes one" in done.stderr


def test_cases_are_counted_in_words() -> None:
    from kina_build.project.log import Case

    kinds = ["key conflict", "key conflict", "open review", "row not read", "row not read"]
    cases = [Case(kind=kind, message="x") for kind in kinds]
    assert tell_cases(cases) == "2 key conflicts, 1 open review, 2 rows not read"


def test_the_doctor_finds_what_is_open_torn_or_left_behind(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kina_build.project import doctor

    monkeypatch.setattr(
        doctor, "_encoder", lambda settings: doctor.Check(about="encoder", state="ok", message="-")
    )
    assert run_kina(project, "doctor").exit_code == 0
    (project / "ledger.db.key").chmod(0o644)
    (project / ".pool.jsonl.abcdefgh.part").write_text("half")
    done = run_kina(project, "doctor", "--json")
    assert done.exit_code == 1
    found = {one["about"]: one for one in json.loads(done.stdout)["checks"]}
    assert found["permissions"]["how"] == "chmod 600 ledger.db.key"
    assert found["litter"]["state"] == "note"
    (project / "ledger.db.key").chmod(0o600)
    (project / "ledger.db").write_bytes(b"no database")
    (project / "ledger.db").chmod(0o600)
    found = {one["about"]: one for one in json.loads(run_kina(project, "doctor", "--json").stdout)["checks"]}
    assert found["ledger"]["state"] == "fault"


def test_the_doctor_names_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from kina_build.config import Settings
    from kina_build.project import doctor

    monkeypatch.setattr(
        doctor, "_encoder", lambda settings: doctor.Check(about="encoder", state="ok", message="-")
    )
    monkeypatch.setattr(doctor, "PACKAGES", {"label-studio-sdk": "no_such_module", "numpy": "numpy"})
    lost, there = list(doctor.examine(None, Settings(), {}))[1:3]
    assert (lost.state, lost.message, lost.how) == (
        "fault",
        "is not installed",
        "pip install label-studio-sdk",
    )
    assert (there.about, there.state) == ("numpy", "ok")


def test_the_doctor_tells_an_encoder_that_tells_nothing_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from kina_build.config import Settings
    from kina_build.project import doctor

    class Same:
        name, revision, dimension = "same", "0" * 40, 2

        def encode(self, texts: list[str]) -> np.ndarray:
            return np.array([[1.0, 0.0]] * len(texts), dtype=np.float32)

    monkeypatch.setattr(doctor, "load_encoder", lambda *_: Same())
    (check,) = [one for one in doctor.examine(None, Settings(), {}) if one.about == "encoder"]
    assert (check.state, check.message.startswith("same, 2 dimensions")) == ("fault", True)


def test_report_and_card_tell_the_funnel_that_status_prints(built: Path) -> None:
    index = (built / "report" / "index.html").read_text()
    assert "From import to release" in index
    card = (built / "release" / "README.md").read_text()
    told = "imported 24 → not accepted 5 → eligible 19 → selected 6 → released 6"
    assert f"from pool to release: {told}" in card
    for one in json.loads(run_kina(built, "status", "--json").stdout)["funnel"]:
        row = index.partition(f'<span class="label" role="rowheader">{one["step"]}')[2].partition("</div>")[0]
        assert f">{one['count']}</data>" in row
        assert ("fell here" in row) is one["lost"]
