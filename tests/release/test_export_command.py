"""`kina export`, `kina diff`, `kina verify` as their users meet them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from typer.testing import Result

from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from kina_build.rows.jsonl import dump_line, read_json, write_records
from tests.release.pools import make, spread

Kina = Callable[..., Result]


def digest(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def rows(folder: Path, split: str = "test") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]


def store(path: Path, items: list[Item]) -> None:
    path.write_text("".join(dump_line(item) + "\n" for item in items), encoding="utf-8")


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    write_pool(tmp_path / "pool.jsonl", spread(40))
    return tmp_path / "pool.jsonl"


def test_a_release_has_everything_in_it_and_verifies(kina: Kina, pool: Path, tmp_path: Path) -> None:
    done = kina("export", pool, "-o", "release/", "--name", "demo", "--title", "A demo", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    release = tmp_path / "release"
    assert set(digest(release)) == {
        *("README.md", "release.json", "croissant.json", "SHA256SUMS", "KINA.json", "KINA.dev.json"),
        *("test.jsonl", "dev.jsonl", "data/test.parquet", "data/dev.parquet"),
        *("harness/lm_eval/task.py", "harness/lm_eval/demo_mc.yaml", "harness/lm_eval/demo_gen.yaml"),
        *("harness/inspect_ai/demo.py", "harness/lighteval/demo.py"),
    }
    first = rows(release)[0]
    assert list(first) == [
        *("id", "question", "choices", "answer", "answer_index"),
        *("discipline", "field", "subfield", "source", "license", "canary"),
    ]
    assert first["canary"] == report["canary"]
    assert first["choices"][first["answer_index"]] == "0 and 0"
    assert str(tmp_path) not in "".join(
        f.read_text(errors="replace") for f in release.rglob("*") if f.is_file()
    )
    checked = kina("verify", "release", "--json")
    assert (checked.exit_code, json.loads(checked.stdout)["ok"]) == (0, True)


def test_row_order_leaves_every_byte_as_it_is(kina: Kina, pool: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    kina("export", pool, "-o", "one/release")
    items = spread(40)
    random.Random(3).shuffle(items)
    store(tmp_path / "pool.jsonl", items)
    kina("export", pool, "-o", "two/release")
    assert digest(tmp_path / "one" / "release") == digest(tmp_path / "two" / "release")


def test_the_number_of_processes_leaves_every_byte_as_it_is(kina: Kina, pool: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    kina("export", pool, "-o", "one/release")
    (tmp_path / "kina.toml").write_text("[items]\nprocesses = 2\nprocess_items = 10\n")
    assert kina("export", pool, "-o", "two/release").exit_code == 0
    assert digest(tmp_path / "one" / "release") == digest(tmp_path / "two" / "release")
    again = kina("export", pool, "-o", "one/release")
    assert "up to date" in again.stderr, "how many work is not what they make"


def test_a_second_run_is_up_to_date_and_a_changed_folder_is_not(
    kina: Kina, pool: Path, tmp_path: Path
) -> None:
    kina("export", pool, "-o", "release")
    assert "up to date" in kina("export", pool, "-o", "release").stderr
    (tmp_path / "release" / "README.md").write_text("scribble")
    refused = kina("export", pool, "-o", "release")
    assert (refused.exit_code, "--overwrite replaces it" in refused.stderr) == (2, True)
    assert (tmp_path / "release" / "README.md").read_text() == "scribble"
    assert kina("export", pool, "-o", "release", "--overwrite").exit_code == 0
    assert kina("verify", "release").exit_code == 0


def test_a_gate_stops_it_names_items_and_rule_and_writes_nothing(
    kina: Kina, pool: Path, tmp_path: Path
) -> None:
    store(pool, [*spread(40), make("bad", ["a", "b"], license=None)])
    stopped = kina("export", pool, "-o", "release", "--json")
    assert stopped.exit_code == 1
    gates = json.loads(stopped.stdout)["gates"]
    assert [(gate["rule"], list(gate["items"])) for gate in gates] == [("missing_license", ["bad"])]
    assert not (tmp_path / "release").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool.jsonl"]
    told = kina("export", pool, "-o", "release")
    assert "missing_license" in told.stdout
    assert "bad" in told.stdout
    passed = kina("export", pool, "-o", "release", "--allow", "missing_license=the author is asked")
    assert passed.exit_code == 0
    assert "the author is asked" in (tmp_path / "release" / "README.md").read_text()
    assert kina("verify", "release").exit_code == 0


def test_selection_decisions_and_duplicates_are_obeyed(kina: Kina, pool: Path, tmp_path: Path) -> None:
    (tmp_path / "selection.json").write_text(json.dumps({"item_ids": [f"i{n}" for n in range(39, 3, -1)]}))
    write_records(
        tmp_path / "decisions.jsonl",
        [{"item_id": f"i{n}", "decision": "revise" if n == 7 else "accept", "reason": ""} for n in range(40)],
    )
    (tmp_path / "duplicates.json").write_text(
        json.dumps(
            {
                "dropped": [{"item_id": "i8", "kept_id": "i9", "rule": "near"}],
                "clusters": [["i10", "i11", "i12"]],
                "conflict_edges": [["i12", "i13"]],
                "encoder": "e",
                "threshold": 0.8,
            }
        )
    )
    done = kina(
        *("export", pool, "-o", "release", "--selection", "selection.json"),
        *("--decisions", "decisions.jsonl", "--duplicates", "duplicates.json", "--json"),
    )
    assert done.exit_code == 1
    stopped = json.loads(done.stdout)["gates"]
    assert [(one["rule"], list(one["items"])) for one in stopped] == [("selection_reduced", ["i7", "i8"])]
    done = kina(
        *("export", pool, "-o", "release", "--selection", "selection.json"),
        *("--decisions", "decisions.jsonl", "--duplicates", "duplicates.json", "--json"),
        *("--allow", "selection_reduced=they were withdrawn"),
    )
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["withheld"] == [
        {"item_id": "i7", "reason": "review: revise"},
        {"item_id": "i8", "reason": "duplicate of i9"},
    ]
    splits = {row["id"]: split for split in ("test", "dev") for row in rows(tmp_path / "release", split)}
    assert set(splits) == {f"i{n}" for n in range(4, 40)} - {"i7", "i8"}
    assert len({splits[i] for i in ("i10", "i11", "i12", "i13")}) == 1


def test_private_answers_stay_out_of_the_folder(kina: Kina, tmp_path: Path) -> None:
    store(
        tmp_path / "pool.jsonl", [i.model_copy(update={"explanation": "the secret why"}) for i in spread(100)]
    )
    done = kina("export", "pool.jsonl", "-o", "release", "--private", "test")
    assert done.exit_code == 0, done.output
    release = tmp_path / "release"
    assert all(row["answer"] is None and row["answer_index"] is None for row in rows(release))
    assert all(entry["correct_answer"] is None for entry in read_json(release / "KINA.json"))
    assert "the secret why" not in (release / "test.jsonl").read_text() + (release / "KINA.json").read_text()
    assert "test_split: dev" in (release / "harness" / "lm_eval" / "benchmark_mc.yaml").read_text()
    assert len((tmp_path / "release.answers.jsonl").read_text().splitlines()) == len(rows(release))
    assert kina("verify", "release", "--answers", "release.answers.jsonl").exit_code == 0
    answers = [json.loads(line) for line in (tmp_path / "release.answers.jsonl").read_text().splitlines()]
    answers[0] |= {
        "answer": "ABCD"[(answers[0]["answer_index"] + 1) % 4],
        "answer_index": (answers[0]["answer_index"] + 1) % 4,
    }
    write_records(tmp_path / "forged.jsonl", answers)
    forged = kina("verify", "release", "--answers", "forged.jsonl", "--json")
    assert forged.exit_code == 1
    assert [fault["check"] for fault in json.loads(forged.stdout)["faults"]] == ["answers"]
    inside = kina(
        "export", "pool.jsonl", "-o", "release", "--private", "test", "--answers", "release/key.jsonl"
    )
    assert inside.exit_code == 2
    assert "do not belong in the release folder" in inside.stderr


def test_a_take_down_is_a_new_version_and_the_id_never_comes_back(
    kina: Kina, pool: Path, tmp_path: Path
) -> None:
    kina("export", pool, "-o", "v1")
    down = kina(
        "export", pool, "-o", "v2", "--previous", "v1", "--take-down", "i3=the author asked", "--json"
    )
    report = json.loads(down.stdout)
    assert (report["version"], report["difference"]["removed"]) == ("2.0.0", ["i3"])
    assert report["withheld"] == [{"item_id": "i3", "reason": "taken down: the author asked"}]
    moved = {row["id"]: row["new_row"] for row in read_json(tmp_path / "v2" / "changes.json")["rows"]["test"]}
    after = [row["id"] for row in rows(tmp_path / "v2")]
    assert moved["i3"] is None
    assert all(after[place] == i for i, place in moved.items() if place is not None)
    store(pool, [*spread(40), make("new", ["a", "b", "c", "d"], "C")])
    third = json.loads(kina("export", pool, "-o", "v3", "--previous", "v2", "--json").stdout)
    assert (third["version"], third["difference"]["added"]) == ("2.1.0", ["new"])
    assert "i3" not in [row["id"] for split in ("test", "dev") for row in rows(tmp_path / "v3", split)]
    assert kina("verify", "v3").exit_code == 0
    shown = kina("diff", "v1", "v3")
    assert shown.exit_code == 0
    assert "1.0.0 -> 2.1.0: major change, scores not comparable" in shown.stdout


def test_an_id_that_comes_back_as_another_item_is_refused(kina: Kina, pool: Path) -> None:
    kina("export", pool, "-o", "v1")
    store(pool, spread(40)[1:])
    kina("export", pool, "-o", "v2", "--previous", "v1")
    store(pool, [make("i0", ["p", "q"], question="Something else?"), *spread(40)[1:]])
    reused = kina("export", pool, "-o", "v3", "--previous", "v2")
    assert reused.exit_code == 1
    assert "come back as other items: i0" in reused.stderr
    store(pool, spread(40))
    assert kina("export", pool, "-o", "v3", "--previous", "v2").exit_code == 0


def test_a_version_that_says_too_little_is_refused(kina: Kina, pool: Path) -> None:
    kina("export", pool, "-o", "v1")
    store(pool, spread(39))
    low = kina("export", pool, "-o", "v2", "--previous", "v1", "--release-version", "1.1.0")
    assert low.exit_code == 1
    assert "version 1.1.0 says too little" in low.stderr
    high = kina("export", pool, "-o", "v2", "--previous", "v1", "--release-version", "3.0.0", "--json")
    assert json.loads(high.stdout)["version"] == "3.0.0"


def test_kina_json_comes_back_equal_up_to_letters(kina: Kina, tmp_path: Path) -> None:
    pool = [
        item.model_copy(
            update={"item_id": str(n), "discipline": "Law", "field": "Civil law", "subfield": "Torts"}
        )
        for n, item in enumerate(spread(40))
    ]
    store(tmp_path / "pool.jsonl", pool)
    (tmp_path / "kina.toml").write_text("[release]\ndev_share = 0.0\n")
    kept = ("--keep-letters", "--json")
    assert kina("export", "pool.jsonl", "-o", "one", *kept).exit_code == 0
    entries = read_json(tmp_path / "one" / "KINA.json")
    assert [entry["index"] for entry in entries] == list(range(40))
    assert entries[0]["discipline"] == "Law / Civil law / Torts"
    again = kina("import", "one/KINA.json", "-o", "again.jsonl", "--json")
    assert again.exit_code == 0, again.output
    assert kina("export", "again.jsonl", "-o", "two", *kept).exit_code == 0
    assert read_json(tmp_path / "two" / "KINA.json") == entries
    assert not (tmp_path / "one" / "dev.jsonl").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "checks"),
    [
        (
            "test.jsonl",
            '"answer_index":0',
            '"answer_index":1',
            {"files", "rows", "identity", "copies", "croissant"},
        ),
        ("README.md", "items: 40", "items: 41", {"files", "derived"}),
        ("release.json", '"seed": 0', '"seed": 1', {"files", "format"}),
        ("KINA.json", "What is 1?", "What is 2?", {"files", "copies", "croissant"}),
        ("harness/lm_eval/task.py", "Answer:", "answer:", {"files", "derived"}),
    ],
)
def test_verify_finds_what_was_tampered_with(
    kina: Kina, pool: Path, tmp_path: Path, file: str, old: str, new: str, checks: set[str]
) -> None:
    kina("export", pool, "-o", "release")
    target = tmp_path / "release" / file
    assert old in target.read_text()
    target.write_text(target.read_text().replace(old, new, 1))
    found = kina("verify", "release", "--json")
    assert found.exit_code == 1
    assert {fault["check"] for fault in json.loads(found.stdout)["faults"]} >= checks


def test_a_forger_who_mends_the_checksums_is_still_found(kina: Kina, pool: Path, tmp_path: Path) -> None:
    from kina_build.release.folder import write_sums

    kina("export", pool, "-o", "release")
    for name in ("test.jsonl", "KINA.json"):
        file = tmp_path / "release" / name
        file.write_text(file.read_text().replace("1 and 1", "one and one", 1))
    write_sums(tmp_path / "release")
    found = json.loads(kina("verify", "release", "--json").stdout)
    assert {fault["check"] for fault in found["faults"]} == {"identity", "copies", "derived", "croissant"}


def test_the_card_is_made_from_the_data(kina: Kina, pool: Path, tmp_path: Path) -> None:
    kina("export", pool, "-o", "release", "--published", "2026-11-30", "--title", "Kärtchen: ein Test")
    text = (tmp_path / "release" / "README.md").read_text(encoding="utf-8")
    header = yaml.safe_load(text.split("---\n")[1])
    assert header["license"] == "cc0-1.0"
    assert header["kina_build"]["items"] == 40
    assert header["kina_build"]["options_per_item"] == 4
    assert header["configs"][0]["data_files"][0] == {"split": "test", "path": "data/test.parquet"}
    assert header["pretty_name"] == "Kärtchen: ein Test"
    assert "2026-11-30" in text
    assert "2026-11-30" in (tmp_path / "release" / "croissant.json").read_text()


def test_reviewers_agreement_goes_from_the_reviews_to_the_card(
    kina: Kina, pool: Path, tmp_path: Path
) -> None:
    """It gives a coefficient, or says that the data cannot show one; no reviewer is named."""
    votes = {"i1": "accept reject", "i2": "accept accept", "i3": "reject reject", "i4": "accept accept"}
    given = [
        {"item_id": i, "reviewer_id": who, "verdict": vote, "ratings": {"factuality": 4}}
        for i, pair in votes.items()
        for who, vote in zip(("Ann Other", "Bo Nobody"), pair.split(), strict=True)
    ]
    (tmp_path / "reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    assert kina("review", "agreement", "reviews.jsonl", "-o", "agreement.json").exit_code == 0
    again = kina("review", "agreement", "reviews.jsonl", "-o", "agreement.json")
    assert "up to date" in again.stderr
    done = kina("export", pool, "-o", "release", "--agreement", "agreement.json")
    assert done.exit_code == 0, done.output
    card = (tmp_path / "release" / "README.md").read_text(encoding="utf-8")
    figures = read_json(tmp_path / "agreement.json")["agreement"]
    alpha = figures["verdict, alpha"]
    assert "over all 8 reviews" in card
    assert (
        f"| verdict, alpha | {alpha['value']:.3f} | {alpha['low']:.3f} to {alpha['high']:.3f} | 75 % | 4 |"
        in card
    )
    assert [line for line in card.split("\n") if "factuality" in line] == [
        "| factuality, alpha (ordinal) | undefined | no variation | 100 % | 4 |"
    ]
    release = tmp_path / "release"
    said = "".join(file.read_text(errors="replace") for file in release.rglob("*") if file.is_file())
    assert not any(
        name in said + (tmp_path / "agreement.json").read_text() for name in ("Ann Other", "Bo Nobody")
    )
    assert kina("verify", "release").exit_code == 0


@pytest.mark.parametrize(
    "text", ["{}", '{"reviews": 0, "agreement": {}}', '{"reviews": 3, "agreement": {"a": 1}}']
)
def test_what_is_no_agreement_is_refused(kina: Kina, pool: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "agreement.json").write_text(text)
    wrong = kina("export", pool, "-o", "release", "--agreement", "agreement.json")
    assert (wrong.exit_code, wrong.stderr.startswith("error: agreement.json: ")) == (2, True)


def test_a_dry_run_writes_nothing(kina: Kina, pool: Path, tmp_path: Path) -> None:
    dry = kina("export", pool, "-o", "release", "--dry-run", "--json")
    assert (dry.exit_code, json.loads(dry.stdout)["written"]) == (0, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--allow", "missing_source"], "no reason given"),
        (["--allow", "missing_sorce=x"], "did you mean missing_source?"),
        (["--private", "train"], "no such name"),
        (["--name", "two words"], "use letters, digits and underscores"),
        (["--release-version", "1.0"], "is not a version"),
        (["--published", "yesterday"], "is not a date"),
        (["--selection", "absent.json"], "absent.json: no such file"),
        (["--previous", "absent"], "absent: no such folder"),
        (["--take-down", "=x"], "no reason given"),
    ],
)
def test_wrong_usage_is_one_line(kina: Kina, pool: Path, arguments: list[str], message: str) -> None:
    wrong = kina("export", pool, "-o", "release", *arguments)
    assert wrong.exit_code == 2
    assert message in wrong.stderr
    assert "Traceback" not in wrong.stderr


@pytest.mark.parametrize("name", ["class", "Task", "choice", "list"])
def test_a_name_that_breaks_a_harness_file_is_refused(
    kina: Kina, pool: Path, tmp_path: Path, name: str
) -> None:
    done = kina("export", pool, "-o", "release", "--name", name)
    assert (done.exit_code, f"--name {name}: means something else" in done.stderr) == (2, True)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    "line", ["export ../pool.jsonl -o . --private test", "publish ../release -o .", "report . -o ."]
)
def test_a_folder_without_a_name_of_its_own_is_refused(
    kina: Kina, pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    assert kina("export", pool, "-o", "release").exit_code == 0
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    done = kina(*line.split())
    assert done.exit_code in (1, 2)
    assert "a fault in kina itself" not in done.stderr


@pytest.mark.parametrize("name", ["notes.txt", "harness/more/SHA256SUMS"])
@pytest.mark.parametrize(
    "command",
    [
        "diff release other",
        "contamination pool.jsonl --against release -o found.json",
        "score --task multiple-choice --release release --responses replies.jsonl -o scores.jsonl",
        "export pool.jsonl --previous release -o third",
    ],
)
def test_no_reader_of_a_release_takes_a_stranger_for_part_of_it(
    kina: Kina, pool: Path, tmp_path: Path, name: str, command: str
) -> None:
    for folder in ("release", "other"):
        assert kina("export", pool, "-o", folder).exit_code == 0
    (tmp_path / "replies.jsonl").write_text('{"item_id": "i1", "model": "m", "text": "A"}\n')
    (tmp_path / "release" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "release" / name).write_text("mine")
    done = kina(*command.split())
    assert (done.exit_code, f"{name}: is no part of the release" in done.stderr) == (2, True), done.output
    found = kina("verify", "release", "--json")
    assert (found.exit_code, name in found.stdout) == (1, True)


@pytest.mark.parametrize("command", ["export", "verify", "diff"])
def test_missing_empty_and_malformed_files(kina: Kina, tmp_path: Path, command: str) -> None:
    more = {"export": ["-o", "out"], "verify": [], "diff": ["absent"]}[command]
    missing = kina(command, "absent", *more)
    assert (missing.exit_code, "absent: no such" in missing.stderr) == (2, True)
    if command == "export":
        (tmp_path / "empty.jsonl").write_text("")
        assert "the file is empty" in kina("export", "empty.jsonl", "-o", "out").stderr
        (tmp_path / "bad.jsonl").write_text('{"item_id": "a"}\n{"item\n')
        bad = kina("export", "bad.jsonl", "-o", "out")
        assert (bad.exit_code, "bad.jsonl:2: column" in bad.stderr) == (2, True)


def test_what_authors_write_stays_in_its_place_on_the_card(kina: Kina, tmp_path: Path) -> None:
    """A path, licence or title cannot add a column, a heading, a tag or a link to the card."""
    hostile = "# a | b\n---\n<script>x</script> [c](d) `e`"
    items = [item.model_copy(update={"discipline": hostile, "license": "MIT | x"}) for item in spread(40)]
    write_pool(tmp_path / "pool.jsonl", items)
    title = "T | <b>x</b>\n# y"
    done = kina("export", "pool.jsonl", "-o", "release", "--title", title)
    assert done.exit_code == 0, done.output
    card = (tmp_path / "release" / "README.md").read_text(encoding="utf-8").split("---\n\n", 1)[1]
    tokens = MarkdownIt("commonmark").enable("table").parse(card)
    parts = [child for token in tokens for child in token.children or ()]
    assert not {"html_inline", "link_open"} & {part.type for part in parts}
    assert not any(token.type == "html_block" for token in tokens)
    assert sum(token.type == "heading_open" and token.tag == "h1" for token in tokens) == 1
    assert " ".join(hostile.split()) in {
        "".join(child.content for child in token.children or ()) for token in tokens if token.type == "inline"
    }


ODD_COPIES = {
    "text": '"x"', "a number": "1", "texts": '["x"]', "options of texts": '[{"options": ["A"]}]',
    "options of a number": '[{"options": 1}]', "null": "null", "nothing": "[]",
}  # fmt: skip


@pytest.mark.parametrize("copy", ODD_COPIES.values(), ids=ODD_COPIES)
def test_a_copy_of_another_shape_says_something_else(kina: Kina, pool: Path, copy: str) -> None:
    kina("export", pool, "-o", "release")
    Path("release/KINA.json").write_text(copy)
    done = kina("verify", "release", "--json")
    assert done.exit_code == 1
    assert "KINA.json says something else" in done.stdout


@pytest.mark.parametrize("header", ["a: `b", "on: 2026-13-45", "[" * 3000])
def test_a_card_whose_header_is_no_yaml_is_told_by_its_sums(kina: Kina, pool: Path, header: str) -> None:
    kina("export", pool, "-o", "release")
    Path("release/README.md").write_text(f"---\n{header}\n---\n")
    done = kina("verify", "release", "--json")
    assert done.exit_code == 1
    assert "README.md: content differs" in done.stdout


@pytest.mark.parametrize("clusters", ["[1]", '[{"item_ids": 1}]', "[[1]]", '["q1"]', "7"])
def test_clusters_of_another_shape_are_refused(kina: Kina, pool: Path, clusters: str) -> None:
    Path("duplicates.json").write_text(f'{{"clusters": {clusters}}}')
    done = kina("export", pool, "--duplicates", "duplicates.json", "-o", "release")
    assert done.exit_code == 2
    assert "duplicates.json: clusters" in done.stderr


@pytest.mark.parametrize("command", ["verify", "diff", "contamination", "score"])
def test_no_reader_of_a_release_follows_a_link(kina: Kina, pool: Path, command: str) -> None:
    kina("export", pool, "-o", "release")
    Path("release/test.jsonl").rename("outside.jsonl")
    Path("release/test.jsonl").symlink_to(Path("outside.jsonl").resolve())
    Path("responses.jsonl").write_text('{"item_id": "i1", "model": "m", "response": "Answer: A"}\n')
    scored = ("--release", "release", "--responses", "responses.jsonl", "-o", "scores.jsonl")
    lines = {
        "verify": ("verify", "release"),
        "diff": ("diff", "release", "release"),
        "contamination": ("contamination", pool, "--against", "release", "-o", "hits.json"),
        "score": ("score", "--task", "multiple-choice", *scored),
    }
    done = kina(*lines[command])
    assert (done.exit_code, "is a link" in done.stderr) == (2, True), done.output


@pytest.mark.parametrize("name", ["../secret", "/ABSOLUTE/secret", " ../secret", ".notes/link", "gone.jsonl"])
def test_verify_opens_no_file_outside_the_folder_whatever_its_documents_name(
    kina: Kina, pool: Path, tmp_path: Path, name: str
) -> None:
    from kina_build.release.folder import write_sums
    from kina_build.release.record import ReleaseRecord

    kina("export", pool, "-o", "release")
    name = name.replace("/ABSOLUTE", str(tmp_path))
    folder, secret = tmp_path / "release", b"kept by nobody but me"
    (tmp_path / "secret").write_bytes(secret)
    (folder / ".notes").mkdir()
    (folder / ".notes" / "link").symlink_to(tmp_path / "secret")
    record = read_json(folder / "release.json")
    record["files"][name] = hashlib.sha256(secret).hexdigest()
    sealed = ReleaseRecord.model_validate(record).sealed()
    (folder / "release.json").write_text(sealed.model_dump_json(), encoding="utf-8")
    document = read_json(folder / "croissant.json")
    # a guess at the content: whoever compares it with the file tells whether it is right
    document["distribution"][0] |= {"contentUrl": name, "sha256": "0" * 64}
    (folder / "croissant.json").write_text(json.dumps(document), encoding="utf-8")
    write_sums(folder)
    found = kina("verify", "release", "--json")
    assert found.exit_code == 1, found.output
    told = [one["message"] for one in json.loads(found.stdout)["faults"] if one["check"] == "croissant"]
    assert told == [f"{name}: is not in the release folder, so it was not opened"]


@pytest.mark.parametrize("command", ["verify", "diff", "contamination"])
def test_a_split_that_is_a_path_is_refused(kina: Kina, pool: Path, command: str) -> None:
    kina("export", pool, "-o", "release")
    record = read_json(Path("release/release.json"))
    record["counts"]["../outside"] = record["counts"].pop("test")
    Path("release/release.json").write_text(json.dumps(record))
    Path("outside.jsonl").write_bytes(Path("release/test.jsonl").read_bytes())
    lines = {
        "verify": ("verify", "release"),
        "diff": ("diff", "release", "release"),
        "contamination": ("contamination", pool, "--against", "release", "-o", "hits.json"),
    }
    done = kina(*lines[command])
    assert (done.exit_code, "fault in kina" in done.stderr) == (2, False), done.output


def test_a_language_is_told_only_where_every_item_tells_it(kina: Kina, tmp_path: Path) -> None:
    items = [item.model_copy(update={"language": "en"}) for item in spread(40)]
    for name, kept in (
        ("all", items),
        ("some", [*items[1:], items[0].model_copy(update={"language": None})]),
    ):
        store(tmp_path / f"{name}.jsonl", kept)
        done = kina(
            "export", f"{name}.jsonl", "-o", name, "--creator", "A. Author", "--url", "https://example.org/x"
        )
        assert done.exit_code == 0, done.output
        header = yaml.safe_load((tmp_path / name / "README.md").read_text().split("---\n")[1])
        croissant = read_json(tmp_path / name / "croissant.json")
        assert header.get("language") == croissant.get("inLanguage") == (["en"] if name == "all" else None)
        assert (croissant["creator"][0]["name"], croissant["url"]) == ("A. Author", "https://example.org/x")
        assert "author = {A. Author}" in (tmp_path / name / "README.md").read_text()


def test_a_sample_is_released_and_says_that_it_has_no_certificate(kina: Kina, tmp_path: Path) -> None:
    items = [item.model_copy(update={"field": "law"}) for item in spread(40)]
    write_pool(tmp_path / "pool.jsonl", items)
    drawn = kina("sample", "pool.jsonl", "-n", "12", "-o", "sample.json")
    assert drawn.exit_code == 0, drawn.output
    allowed = ("--allow", "key_position=few", "--allow", "length_cue=few")
    done = kina("export", "pool.jsonl", "--selection", "sample.json", *allowed, "-o", "release")
    assert done.exit_code == 0, done.output
    assert "no certificate: a random sample" in Path("release/README.md").read_text(encoding="utf-8")
    assert kina("verify", "release").exit_code == 0


def test_figures_of_another_shape_are_a_fault_of_the_release(kina: Kina, pool: Path) -> None:
    assert kina("export", pool, "-o", "release").exit_code == 0
    path = Path("release/release.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    record["figures"] = {"selection": {"unit": "many"}}
    path.write_text(json.dumps(record), encoding="utf-8")
    done = kina("verify", "release")
    assert done.exit_code == 1
    assert "a fault in kina itself" not in done.output


def test_what_fell_before_the_selection_stands_on_the_card(kina: Kina, pool: Path, tmp_path: Path) -> None:
    fell = {"item_ids": ["i0", "i1"], "pool": 40, "eligible": 38, "steps": [
        {"step": "broken", "items": {"i0": "empty_stem"}},
        {"step": "copies", "items": {}},
        {"step": "held", "items": {"i1": "its key is disputed"}},
    ]}  # fmt: skip
    (tmp_path / "left-out.json").write_text(json.dumps(fell))
    (tmp_path / "selection.json").write_text(json.dumps({"item_ids": ["i2", "i3", "i4"]}))
    line = ("export", pool, "--selection", "selection.json", "--left-out", "left-out.json", "-o", "release")
    done = kina(*line)
    assert done.exit_code == 0, done.output
    card = (tmp_path / "release" / "README.md").read_text()
    told = "imported 40 → broken 1 → held 1 → eligible 38 → selected 3 → released 3"
    assert f"- from pool to release: {told}\n" in card
    assert kina("verify", "release").exit_code == 0
    (tmp_path / "left-out.json").write_text(json.dumps(fell | {"pool": 41}))
    refused = kina(*line)
    assert refused.exit_code == 2
    assert "left-out.json: is of a pool of 41 items, this one has 40" in refused.stderr
