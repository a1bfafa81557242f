from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest

from kina_build.errors import InputError
from kina_build.manifest import Job, digest, digests, sidecar
from kina_build.rows.source import reading
from kina_build.rows.tables import read_table


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "in.jsonl").write_text("{}\n")
    (tmp_path / "out.json").write_text("{}")
    made = Job("count", [tmp_path / "in.jsonl"], [tmp_path / "out.json"], {"seed": 1})
    made.record({"rows": 1}, exit_code=1, packages=["numpy"])
    return made


def test_the_same_run_is_up_to_date_and_keeps_its_report(job: Job) -> None:
    past = job.current()
    assert past is not None
    assert (past.report, past.exit_code) == ({"rows": 1}, 1)
    assert set(past.versions) == {"python", "numpy"}


def test_any_change_makes_it_stale(job: Job) -> None:
    assert Job("count", job.inputs, job.outputs, {"seed": 2}).current() is None
    assert Job("other", job.inputs, job.outputs, job.params).current() is None
    job.outputs[0].write_text("tampered")
    assert job.current() is None


def test_changed_input_and_missing_output_make_it_stale(job: Job) -> None:
    job.inputs[0].write_text("{}\n{}\n")
    assert job.current() is None
    job.inputs[0].write_text("{}\n")
    assert job.current() is not None
    job.outputs[0].unlink()
    assert job.current() is None


def test_damaged_manifest_is_no_manifest(job: Job) -> None:
    sidecar(job.outputs[0]).write_text("{")
    assert job.current() is None


def test_manifest_holds_no_absolute_path_and_no_clock(job: Job) -> None:
    text = sidecar(job.outputs[0]).read_text()
    assert str(job.outputs[0].parent) not in text
    job.record({"rows": 1}, exit_code=1, packages=["numpy"])
    assert sidecar(job.outputs[0]).read_text() == text


def test_what_went_to_standard_output_leaves_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\n1\n")
    Job("count", [tmp_path / "in.csv"], [Path("-")]).record({})
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_the_digest_of_a_stream_is_of_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n")))
    (tmp_path / "out.json").write_text("{}")
    with reading():
        assert read_table(Path("-"))[0].values == {"a": "1"}
        Job("count", [Path("-")], [tmp_path / "out.json"]).record({})
        assert read_table(Path("-"))[0].values == {"a": "1"}
    written = json.loads(sidecar(tmp_path / "out.json").read_text())
    assert written["inputs"]["-"] == {
        "sha256": hashlib.sha256(b"a\n1\n").hexdigest(),
        "size_bytes": 4,
        "rows": 2,
    }


def test_folder_digest_sees_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a").write_text("1")
    first = digest(folder)
    (folder / "sub" / "a").rename(folder / "sub" / "b")
    assert digest(folder).sha256 != first.sha256
    assert (first.rows, first.size_bytes) == (1, 1)


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text(folder)
    assert set(digests([tmp_path / "x" / "a", tmp_path / "y" / "a"])) == {"a", "a#2"}


def test_digest_of_nothing_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        digest(tmp_path / "nowhere")


def _made(folder: Path, **params: object) -> Job:
    (folder / "in.txt").write_text("hello")
    job = Job("measure", [folder / "in.txt"], [folder / "out.txt"], params)
    (folder / "out.txt").write_text("5")
    job.record({})
    return job


def test_the_first_reason_is_named(tmp_path: Path) -> None:
    rules = {"a": 1, "b": {"c": [1, 2]}}
    job = _made(tmp_path, most=3, rules=rules)
    inputs, outputs = job.inputs, job.outputs
    past, reason = job.look()
    assert past is not None
    assert reason == ""

    def told(**params: object) -> str:
        return Job("measure", inputs, outputs, params).look()[1]

    assert told(most=4, rules=rules) == "most: 3 became 4"
    assert told(most=3, rules={"a": 1, "b": {"c": [1]}}) == "rules.b.c: [1,2] became [1]"
    assert told(most=3, rules=rules, more=True) == "more is new"
    assert told(most=3) == "rules is gone"
    assert Job("weigh", inputs, outputs, job.params).look()[1] == "out.txt was made by kina measure"
    (tmp_path / "more.txt").write_text("x")
    more = [*inputs, tmp_path / "more.txt"]
    assert Job("measure", more, outputs, job.params).look()[1] == "input more.txt is new"
    (tmp_path / "in.txt").write_text("other")
    assert job.look() == (None, "input in.txt changed")
    (tmp_path / "in.txt").write_text("hello")
    (tmp_path / "out.txt").unlink()
    assert job.look()[1].endswith("out.txt: no such file")
    sidecar(tmp_path / "out.txt").unlink()
    assert job.look() == (None, "never built")


def test_a_tuple_among_the_parameters_is_no_change(tmp_path: Path) -> None:
    assert _made(tmp_path, levels=(1, 2)).current() is not None
