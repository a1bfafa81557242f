from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina_build.items.pool import write_pool
from kina_build.support.anchors import write_anchors
from kina_build.support.npz import read_support


@pytest.fixture
def files(kina, tmp_path: Path, make_item, make_anchor, monkeypatch, words):
    """Lay a pool and anchors in the folder, and put the word encoder in the place of the real one."""
    monkeypatch.setattr("kina_build.encode.loading.load_encoder", lambda *_: words)
    items = [
        make_item("q1", "What is entropy?", ("disorder", "heat"), "A", field="physics"),
        make_item("q2", "Who painted Guernica?", ("Dali", "Picasso"), "B", field="art"),
        make_item("q3", "Which pope?", ("Leo", "Pius"), "B", field="history"),
    ]
    write_pool(tmp_path / "pool.jsonl", items)
    anchors = [
        make_anchor("u1", "entropy and disorder", domain="physics"),
        make_anchor("u2", "Picasso Guernica", domain="art"),
    ]
    write_anchors(tmp_path / "anchors.jsonl", anchors)
    return tmp_path


def test_a_pool_is_scored_and_what_is_missing_is_said(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz", "--cache", "v.sqlite")
    result = kina(*line, "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["items"], report["anchors"], report["idle_items"]) == (3, 2, ["q3"])
    assert [(f["rule"], f["subject"]) for f in report["findings"]] == [("no_anchors", "history")]
    assert read_support(files / "s.npz").item_ids == ("q1", "q2", "q3")
    again = kina(*line)
    assert "up to date" in again.stderr
    assert "items that support nothing: 1 (q3)" in again.stdout


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_folder_of_others_in_the_place_of_the_work_is_refused_first(kina, files, more):
    (files / "parts.work").mkdir()
    (files / "parts.work" / "part-00000.npz").write_text("years of work")
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "parts", "--cache", "v.sqlite")
    done = kina(*line, *more)
    assert done.exit_code == 2
    assert "parts.work: holds something of yours (part-00000.npz)" in done.stderr
    assert (files / "parts.work" / "part-00000.npz").read_text() == "years of work"
    assert not (files / "parts").exists()
    assert not (files / "v.sqlite").exists()


def test_a_folder_of_parts_holds_the_same_and_can_be_selected_from(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "--cache", "v.sqlite", "--json")
    (files / "kina.toml").write_text("[support]\npart_items = 2\n")
    whole = json.loads(kina(*line, "-o", "s.npz").stdout)
    result = kina(*line, "-o", "parts/")
    assert result.exit_code == 0, result.stderr
    reused = {"parts": 0, "vectors": 3 + 2 * 2, "replies": 0}  # anchors are looked up for each part
    assert json.loads(result.stdout) == whole | {"parts": 2, "reused": reused}
    assert "parts in parts: 2, made now: 2" in result.stderr
    chosen = [
        kina("select", "--support", name, "-k", "2", "-o", f"{name}.json") for name in ("s.npz", "parts")
    ]
    assert {done.exit_code for done in chosen} == {0}, chosen[1].stderr
    one, two = (json.loads((files / f"{name}.json").read_text()) for name in ("s.npz", "parts"))
    assert (one["item_ids"], one["objective"]) == (two["item_ids"], two["objective"])
    assert "up to date" in kina(*line, "-o", "parts").stderr
    (files / "parts.manifest.json").unlink()
    again = kina(*line, "-o", "parts")
    assert "parts in parts: 2, made now: 0" in again.stderr
    assert json.loads(again.stdout)["reused"] == {"parts": 2, "vectors": 0, "replies": 0}
    forced = kina(*line, "-o", "parts", "--force")
    assert "parts in parts: 2, made now: 2" in forced.stderr
    assert json.loads(forced.stdout)["reused"] == {"parts": 0, "vectors": 0, "replies": 0}
    finer = kina(*line, "-o", "parts", "--scale", "100")
    assert "made now: 2" in finer.stderr
    assert all(read_support(path).levels.dtype == "uint8" for path in (files / "parts").glob("*.npz"))


def test_parts_share_one_bar(kina, files, monkeypatch):
    from contextlib import contextmanager

    from kina_build.cli.console import Console

    bars: list[str] = []
    told: list[tuple[int, int]] = []

    @contextmanager
    def progress(_self, label):
        assert not bars  # a terminal shows one at a time
        bars.append(label)
        yield lambda done, total: told.append((done, total))
        bars.pop()

    monkeypatch.setattr(Console, "progress", progress)
    (files / "kina.toml").write_text("[support]\npart_items = 1\n")
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "parts", "--cache", "v.sqlite")
    assert kina(*line).exit_code == 0
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_ratings_go_in_parts_too(kina, files):
    (files / "kina.toml").write_text("[support]\npart_items = 1\n")
    (files / "r.csv").write_text("item_id,anchor_id,score\nq1,u1,1\nq2,u2,.25\n")
    line = (
        "support",
        "pool.jsonl",
        "--anchors",
        "anchors.jsonl",
        "--method",
        "ratings",
        "--ratings",
        "r.csv",
    )
    result = kina(*line, "-o", "parts", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["parts"], report["idle_items"], report["mean_best"]) == (3, ["q3"], 0.625)


def test_what_needs_all_scores_at_once_does_not_go_in_parts(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "parts")
    (files / "r.csv").write_text("item_id,anchor_id,score\nq1,u1,1\n")
    rated = (*line, "--method", "ratings", "--ratings", "r.csv")
    assert "--method judge does not write a folder" in kina(*line, "--method", "judge", "--judge", "m").stderr
    assert "--labels needs all scores at once" in kina(*rated, "--labels", "r.csv").stderr
    assert "--compare needs all scores at once" in kina(*rated, "--compare", "s.npz").stderr
    assert not (files / "parts").exists()


def test_parts_that_cannot_be_made_in_the_memory_are_refused(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "parts", "--cache", "v.sqlite")
    refused = kina(*line, "--memory", "50")
    assert (refused.exit_code, "50 MB of memory is too little for 3 items" in refused.stderr) == (1, True)
    assert not (files / "parts").exists()


def test_a_judge_who_is_interrupted_keeps_what_came(kina, files, monkeypatch):
    from kina_build.chat import complete
    from tests.servers import scripted
    from tests.support.test_judge import honest

    def interrupted(*arguments, **options):
        complete(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr("kina_build.chat.complete", interrupted)
    with scripted(honest) as server:
        result = kina(*judge_line(server.url))
        assert (result.exit_code, len(server.asked)) == (130, 3)
        assert "3 calls made now" in result.stderr
        monkeypatch.setattr("kina_build.chat.complete", complete)
        assert kina(*judge_line(server.url)).exit_code == 0
        assert len(server.asked) == 3


def test_what_is_not_made_on_a_cluster_says_so(kina, files):
    result = kina(
        "support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz", "--cache", "v.sqlite",
        "--engine", "ray",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "s.npz is made in this process; parts in a folder are made on Ray" in result.stderr


def test_two_runs_are_compared(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "--cache", "v.sqlite")
    kina(*line, "-o", "one.npz")
    result = kina(*line, "-o", "two.npz", "--all-domains", "--compare", "one.npz", "--json")
    assert json.loads(result.stdout)["compared"]["pairs"] == 6


def test_errors_name_the_file_and_leave_nothing(kina, files):
    (files / "bad.jsonl").write_text('{"anchor_id": "a"}\n')
    result = kina("support", "pool.jsonl", "--anchors", "bad.jsonl", "-o", "s.npz")
    first = result.stderr.split("\n")[0]
    assert (result.exit_code, first) == (2, "error: bad.jsonl:1: statement: Field required")
    missing = kina("support", "none.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz")
    assert missing.stderr.startswith("error: none.jsonl: no such file")
    (files / "kina.toml").write_text("[support]\ncosine_flor = 0.1\n")
    unknown = kina("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz")
    assert "cosine_flor" in unknown.stderr
    assert not list(files.glob("s.npz*"))


def judge_line(url: str, *more: str) -> tuple[str, ...]:
    return (
        "support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "j.npz", "--method", "judge",
        "--judge", "m", "--base-url", url, "--all-domains", *more,
    )  # fmt: skip


def test_a_judge_scores_and_its_ratings_can_be_kept_and_used_again(kina, files):
    from tests.servers import scripted
    from tests.support.test_judge import honest

    with scripted(honest) as server:
        dry = json.loads(kina(*judge_line(server.url, "--dry-run", "--json")).stdout)
        assert (dry["calls"], dry["pairs"], server.asked) == (3, 6, [])
        result = kina(*judge_line(server.url, "--save-ratings", "r.jsonl", "--json"))
        assert result.exit_code == 0, result.stderr
        report = json.loads(result.stdout)
        assert report["calls"]["statuses"] == {"ok": 3}
        assert report["pairs_judged"] == 6
        (files / "j.npz.manifest.json").unlink()
        line = judge_line(server.url, "--save-ratings", "r.jsonl", "--json", "--overwrite")
        redone = json.loads(kina(*line).stdout)
        assert len(server.asked) == 3
        assert redone == report | {"reused": {"vectors": 0, "replies": 3}}
        assert json.loads(kina(*line, "--force").stdout) == report
        assert len(server.asked) == 6  # paid for anew
    result = kina(
        "support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "r.npz", "--method", "ratings",
        "--ratings", "r.jsonl", "--compare", "j.npz",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert (files / "r.npz").read_bytes() == (files / "j.npz").read_bytes()


def test_expert_labels_are_set_beside_the_judge(kina, files):
    from tests.servers import scripted
    from tests.support.test_judge import honest

    (files / "experts.csv").write_text("item_id,anchor_id,judge,rating\nq1,u1,ann,4\nq2,u1,ann,0\n")
    with scripted(honest) as server:
        result = kina(*judge_line(server.url, "--labels", "experts.csv"))
    assert result.exit_code == 0, result.stderr
    assert "not calibrated" in result.stdout


def test_options_that_do_not_fit_the_method_are_refused(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz", "--method")
    for method, wanted in (("judge", "--judge"), ("ratings", "--ratings"), ("bank", "--item-labels")):
        result = kina(*line, method)
        assert result.exit_code == 2
        assert f"needs {wanted}" in result.stderr
    twice = kina(*line, "judge", "--judge", "m", "--judge", "m")
    assert "a judge is named twice" in twice.stderr
    for name in ("m#x", "m#0", "#2", ""):
        assert "is no judge" in kina(*line, "judge", "--judge", name).stderr
    assert "makes none" in kina(*line, "embedding", "--dry-run").stderr


def test_a_judge_without_an_endpoint_says_what_to_set(kina, files, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "--method", "judge", "--judge", "m")
    result = kina(*line)
    assert (result.exit_code, "OPENAI_BASE_URL" in result.stderr) == (2, True)


def test_the_bank_is_labelled_on_drawn_sheets_and_built(kina, tmp_path: Path, make_item, monkeypatch, words):
    import csv

    from kina_build.support.anchors import Anchor

    monkeypatch.setattr("kina_build.encode.loading.load_encoder", lambda *_: words)
    items = [
        make_item(f"q{n:02}", f"topic{n % 3} word{n % 3} w{n}" if n % 4 else f"x{n} y{n}", field="law")
        for n in range(60)
    ]
    write_pool(tmp_path / "pool.jsonl", items)
    anchors = [
        Anchor(anchor_id=f"u{n}", domain="law", kind="item", statement=f"topic{n} word{n}") for n in range(3)
    ]
    write_anchors(tmp_path / "anchors.jsonl", anchors)
    (tmp_path / "kina.toml").write_text(
        "[support]\nbootstraps = 20\nbank_alignment = 0.5\nshortlist_alignment = 0.3\ndraw_items = 40\n"
    )
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "--method", "bank", "--cache", "v.sqlite")
    drawn = kina(*line, "--draw", "sheets")
    assert drawn.exit_code == 0, drawn.stderr
    for name in ("items", "pairs"):
        with (tmp_path / "sheets" / f"{name}.csv").open() as sheet:
            rows = list(csv.DictReader(sheet))
        for number, row in enumerate(rows):
            one, two = int(row["item_id"][1:]), int(row.get("other_id", "q0")[1:])
            row["aligned"] = row["support"] = "1" if one % 4 and one % 3 == two % 3 else "0"
            if name == "items":
                row["aligned"] = "1" if one % 4 else "0"
            row["duplicate"] = "1" if number % 9 == 0 else "0"
        with (tmp_path / f"{name}.csv").open("w") as out:
            writer = csv.DictWriter(out, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    line = (*line, "--item-labels", "items.csv", "--pair-labels", "pairs.csv", "--details", "d.jsonl")
    result = kina(*line, "-o", "one.npz", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["bank"] > 0
    assert report["shortlist"] == report["items"] > 0
    assert len((tmp_path / "d.jsonl").read_text().splitlines()) == 60
    shown = kina(*line, "-o", "two.npz")
    assert "calibrator of alignment: 40 labels" in shown.stdout
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    other = kina(*line, "-o", "three.npz", "--seed", "1", "--json")
    assert json.loads(other.stdout)["seed"] == 1
