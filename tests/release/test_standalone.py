"""What the stand-alone verifier finds with Python alone, though the forger made every digest anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kina_build.items.pool import write_pool
from kina_build.manifest import digest
from kina_build.release import standalone
from kina_build.release.files.card import harness_files
from kina_build.release.folder import write_sums
from kina_build.release.record import Exemption, ReleaseRecord
from kina_build.rows.jsonl import read_json, write_document
from tests.release.pools import spread


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a release that follows another one, with decisions, opinions and an audit."""
    from kina_build.cli.main import app

    folder = tmp_path_factory.mktemp("released")
    items = [i.model_copy(update={"explanation": f"because of {n}"}) for n, i in enumerate(spread(16))]
    opinions = {"A": "accept", "B": "accept"}
    told = [{"item_id": one.item_id, "decision": "accept", "opinions": opinions} for one in items]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("decisions.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in told))
        Path("audit.csv").write_text("item_id,flawed\ni0,true\ni1,false\ni2,false\n")
        for name, pool in (("old", items[:-1]), ("release", items)):
            write_pool(Path("pool.jsonl"), pool)
            words = ["export", "pool.jsonl", "--decisions", "decisions.jsonl", "--audit", "audit.csv"]
            words += ["--previous", "old"] if name == "release" else []
            done = CliRunner().invoke(app, [*words, "-o", name])
            assert done.exit_code == 0, done.output
    return folder / "release"


def seal_anew(release: Path) -> None:
    """Write every digest that the release holds of itself anew."""
    record = read_json(release / "release.json")
    for part in ("files", "derived"):
        record[part] = {name: digest(release / name).sha256 for name in record[part]}
    record["seal"] = ReleaseRecord.model_validate(record).seal_of()
    write_document(release / "release.json", record)
    write_sums(release)


EDITS = [
    ("KINA.json", '"explanation": "because of', '"explanation": "in spite of', "KINA.json"),
    ("KINA.json", '"license": "CC0-1.0"', '"license": "MIT"', "KINA.json"),
    ("changes.json", '"new_row": 1', '"new_row": 2', "changes.json"),
    ("changes.json", '"from": "1.0.0"', '"from": "0.9.0"', "changes.json"),
    ("croissant.json", '"sc:Integer"', '"sc:Text"', "croissant.json"),
    ("croissant.json", "cr:separator", "cr:separate", "croissant.json"),
    ("harness/lm_eval/task.py", "import datasets", "import datasets, os", "task.py"),
    ("harness/lm_eval/task.py", "SPLITS = ['test', 'dev']", "SPLITS = ['dev', 'test']", "task.py"),
    ("harness/inspect_ai/benchmark.py", "You may reason first", "Guess", "benchmark.py"),
    ("harness/lighteval/benchmark.py", "TASKS_TABLE =", "import os\nTASKS_TABLE =", "benchmark.py"),
    ("harness/lm_eval/benchmark_mc.yaml", "answer_index", "answer", "benchmark_mc.yaml"),
    ("evidence/verify.py", "import ast", "import ast, os", "not the file that is checking"),
    ("evidence/judged.json", '"accept": 2', '"accepted": 2', "opinions of another kind"),
    ("release.json", '"CC0-1.0": 16', '"CC0-1.0": 15', "licenses are not those"),
    ("release.json", '"low": 0.', '"low": 0.9', "its audit"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), EDITS)
def test_an_edit_is_found_though_all_digests_are_made_anew(
    released: Path, tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    release = tmp_path / "release"
    shutil.copytree(released, release)
    text = (release / name).read_text()
    assert old in text
    (release / name).write_text(text.replace(old, new, 1))
    seal_anew(release)
    try:
        faults = standalone.faults_of(release)[1]
    except standalone.Unsound as error:
        faults = [str(error)]
    assert any(said in fault for fault in faults), faults


@pytest.mark.parametrize("kind", ["none", "released"])
def test_a_release_with_less_evidence_holds(released: Path, kind: str) -> None:
    from kina_build.cli.main import app

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(released.parent)
        words = ["export", "pool.jsonl", "--decisions", "decisions.jsonl", "--audit", "audit.csv"]
        done = CliRunner().invoke(app, [*words, "--evidence", kind, "-o", kind])
        assert done.exit_code == 0, done.output
        assert CliRunner().invoke(app, ["verify", kind]).exit_code == 0
        assert standalone.faults_of(Path(kind))[1] == []


def test_a_file_among_the_harnesses_is_found_though_the_manifest_names_it(
    released: Path, tmp_path: Path
) -> None:
    release = tmp_path / "release"
    shutil.copytree(released, release)
    (release / "harness" / "setup.py").write_text("print(1)\n")
    record = read_json(release / "release.json")
    write_document(
        release / "release.json", record | {"derived": record["derived"] | {"harness/setup.py": ""}}
    )
    seal_anew(release)
    assert "harness/setup.py: is no harness file of the package" in standalone.faults_of(release)[1]


def _hide(record: ReleaseRecord, split: str) -> dict[str, Any]:
    counts = {**record.counts, split: record.counts[split].model_copy(update={"private": True})}
    return {"counts": counts}


@pytest.mark.parametrize("kind", ["open", "dev hidden", "test hidden", "all hidden", "several", "named"])
def test_the_harness_files_that_the_verifier_knows_are_those_of_the_package(
    released: Path, tmp_path: Path, kind: str
) -> None:
    """A template that changes must change HARNESS too."""
    record = ReleaseRecord.model_validate(read_json(released / "release.json"))
    several = Exemption(rule="several_keys", reason="wanted", message="", item_ids=("i1", "i2"))
    changes: dict[str, dict[str, Any]] = {
        "open": {},
        "dev hidden": _hide(record, "dev"),
        "test hidden": _hide(record, "test"),
        "all hidden": _hide(record.model_copy(update=_hide(record, "dev")), "test"),
        "several": {"exemptions": (several,)},
        "named": {"name": "task_mc", "version": "12.0.3", "prompt_version": "mc-7"},
    }
    record = record.model_copy(update=changes[kind])
    texts = harness_files(record)
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert standalone.code_faults(tmp_path, record.model_dump(mode="json")) == []
    assert (kind == "all hidden") == (not texts)
