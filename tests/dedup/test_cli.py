from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.dedup.search.scan import Block, Pairs
from kina_build.items.model import Item
from kina_build.items.pool import read_pool, write_pool
from tests.dedup.conftest import WordEncoder

Kina = Callable[..., Result]
Make = Callable[..., Item]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> WordEncoder:
    words = WordEncoder()
    monkeypatch.setattr("kina_build.encode.loading.load_encoder", lambda *_: words)
    return words


@pytest.fixture
def pool(make_item: Make, kina: Kina) -> Path:
    items = [
        make_item("a1", "Which gland makes insulin?", ["pancreas", "thymus"], discipline="anatomy"),
        make_item("a2", "Which gland makes insulin?", ["thymus", "pancreas"], "B", discipline="clinic"),
        make_item("n1", "A lamp draws 2 A at 12 V. What power is that?", ["24 W", "6 W"]),
        make_item("n2", "A lamp draws 3 A at 12 V. What power is that?", ["36 W", "4 W"]),
    ]
    write_pool(Path("pool.jsonl"), items)
    return Path("pool.jsonl")


def test_dedup_writes_the_file_selection_reads(kina: Kina, pool: Path, encoder: WordEncoder) -> None:
    done = kina("dedup", pool, "-o", "duplicates.json", "--page", "duplicates.html", "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["kept"], report["dropped"], report["held"]) == (3, 1, 0)
    assert report["pairs"] == {"duplicate": 1, "template_sibling": 1}
    written = json.loads(Path("duplicates.json").read_text(encoding="utf-8"))
    assert written["kept"] == ["a1", "n1", "n2"]
    assert written["dropped"][0]["item_id"] == "a2"
    assert written["conflict_edges"] == [["a1", "a2"], ["n1", "n2"]]
    assert (written["encoder"], written["revision"], written["dimension"]) == ("words", "1", 48)
    assert "Which gland" in Path("duplicates.html").read_text(encoding="utf-8")
    manifest = json.loads(Path("duplicates.json.manifest.json").read_text(encoding="utf-8"))
    assert manifest["models"] == {"words": "1"}
    assert set(manifest["versions"]) == {"python", "numpy", "faiss-cpu"}


@pytest.mark.parametrize("search", ["exact", "faiss", "auto"])
def test_each_search_finds_the_same_and_is_named_if_it_ran(
    search: str, kina: Kina, pool: Path, encoder: WordEncoder
) -> None:
    kina("dedup", pool, "-o", "plain.json")
    Path("kina.toml").write_text(f'[dedup]\nsearch = "{search}"\n', encoding="utf-8")
    done = kina("dedup", pool, "-o", "out.json", "--force")
    assert done.exit_code == 0, done.stderr
    assert Path("out.json").read_bytes() == Path("plain.json").read_bytes()
    manifest = json.loads(Path("out.json.manifest.json").read_text(encoding="utf-8"))
    assert ("faiss-cpu" in manifest["versions"]) is (search != "exact")


def test_the_rule_of_the_paper_drops_by_cosine_alone(kina: Kina, pool: Path, encoder: WordEncoder) -> None:
    done = kina("dedup", pool, "--rule", "cosine", "--json")
    assert json.loads(done.stdout)["pairs"] == {"duplicate": 2}
    dropped = json.loads(Path("duplicates.json").read_text(encoding="utf-8"))["dropped"]
    assert [(row["item_id"], row["rule"]) for row in dropped] == [("a2", "cosine"), ("n2", "cosine")]
    refused = kina("dedup", pool, "--rule", "cosine", "--no-near")
    assert (refused.exit_code, "needs an encoder" in refused.stderr) == (2, True)


def test_without_an_encoder_nothing_that_did_not_run_is_named(kina: Kina, pool: Path) -> None:
    kina("dedup", pool, "--no-near", "-o", "out.json")
    manifest = json.loads(Path("out.json.manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["versions"]) == {"python", "numpy"}


def test_a_second_run_is_up_to_date_and_a_changed_number_is_not(
    kina: Kina, pool: Path, encoder: WordEncoder
) -> None:
    kina("dedup", pool)
    assert "up to date" in kina("dedup", pool).stderr
    assert "up to date" not in kina("dedup", pool, "--threshold", "0.9").stderr
    assert "3 of 4 items kept" in kina("dedup", pool, "--force").stdout


def test_vectors_are_kept_between_runs(kina: Kina, pool: Path, encoder: WordEncoder) -> None:
    first = kina("dedup", pool, "--json")
    again = kina("dedup", pool, "-o", "again.json", "--json")
    assert json.loads(first.stdout)["reused"] == {"vectors": 0, "blocks": 0}
    assert json.loads(again.stdout)["reused"] == {"vectors": 3, "blocks": 0}
    assert "reused of earlier runs, after checks: 3 vectors" in again.stderr
    assert Path("again.json.manifest.json").read_bytes() == Path(
        "duplicates.json.manifest.json"
    ).read_bytes().replace(b"duplicates.json", b"again.json")
    encoder.asked.clear()
    forced = kina("dedup", pool, "--force", "--json")
    assert json.loads(forced.stdout)["reused"] == {"vectors": 0, "blocks": 0}
    assert len(encoder.asked) == 3  # the two orders of options are one text


def test_letters_only_needs_no_encoder(kina: Kina, pool: Path) -> None:
    done = kina("dedup", pool, "--no-near")
    assert "1 dropped as copies" in done.stdout
    assert "letters only" in done.stdout


def test_explain_prints_and_writes_nothing(kina: Kina, pool: Path, encoder: WordEncoder) -> None:
    done = kina("dedup", pool, "--explain", "a2")
    assert "a2: dropped; a copy of a1" in done.stdout
    assert not Path("duplicates.json").exists()
    assert kina("dedup", pool, "--explain", "zz").exit_code == 2


def test_labels_choose_the_threshold(kina: Kina, pool: Path, encoder: WordEncoder) -> None:
    Path("labels.csv").write_text("item_id,other_id,duplicate\na1,a2,true\nn1,n2,false\n", encoding="utf-8")
    done = kina("dedup", pool, "--labels", "labels.csv", "--json")
    report = json.loads(done.stdout)
    assert report["threshold"] == 1.0 == report["threshold_choice"]["chosen"]["threshold"]
    assert report["threshold_choice"]["default"]["precision"] == 0.5
    Path("labels.csv").write_text("item_id,other_id,duplicate\na1,zz,true\n", encoding="utf-8")
    assert "labelled item 'zz' is not in the pool" in kina("dedup", pool, "--labels", "labels.csv").stderr
    assert kina("dedup", pool, "--labels", "labels.csv", "--no-near").exit_code == 2


def test_overrides_of_people_are_read_and_stale_ones_told(kina: Kina, pool: Path) -> None:
    Path("o.csv").write_text("decision,item_id,other_id\ndifferent,a1,a2\nkeep,gone,\n", encoding="utf-8")
    done = kina("dedup", pool, "--no-near", "--overrides", "o.csv")
    assert "4 of 4 items kept" in done.stdout
    assert "override 'keep gone' names no item" in done.stderr
    Path("o.csv").write_text("decision,item_id\nmaybe,a1\n", encoding="utf-8")
    bad = kina("dedup", pool, "--no-near", "--overrides", "o.csv")
    assert bad.exit_code == 2
    assert "o.csv:2: decision" in bad.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        (None, [], "no such file"),
        ("", [], "the file is empty"),
        ('{"item_id": "a"}\n', [], "bad.jsonl:1: question"),
        ("{oops\n", [], "bad.jsonl:1: column 2"),
        (
            '{"item_id":"a","question":"Q?","options":[],"correct_answer":"A"}\n',
            ["--strong", "maybe"],
            "strong",
        ),
    ],
)
def test_bad_input_is_one_clear_line(
    kina: Kina, content: str | None, arguments: list[str], said: str
) -> None:
    if content is not None:
        Path("bad.jsonl").write_text(content, encoding="utf-8")
    done = kina("dedup", "bad.jsonl", "--no-near", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert not Path("duplicates.json").exists()


def test_an_unknown_config_key_is_an_error(kina: Kina, pool: Path) -> None:
    Path("kina.toml").write_text("[dedup]\nthreshhold = 0.9\n", encoding="utf-8")
    done = kina("dedup", pool, "--no-near")
    assert done.exit_code == 2
    assert "did you mean dedup.threshold" in done.stderr


def test_the_encoder_is_one_config_line(kina: Kina, pool: Path) -> None:
    Path("kina.toml").write_text('[dedup]\nencoder = "./no-model-here"\n', encoding="utf-8")
    done = kina("dedup", pool)
    assert done.exit_code == 2
    assert "encoder './no-model-here': no such folder" in done.stderr


def test_contamination_leaves_with_one_when_there_is_any(
    kina: Kina, pool: Path, encoder: WordEncoder
) -> None:
    Path("web.csv").write_text(
        "question,A,B,answer\nWhich gland makes insulin?,pancreas,thymus,A\n", encoding="utf-8"
    )
    done = kina("contamination", pool, "--against", "web.csv", "-o", "c.json")
    assert done.exit_code == 1
    assert "2 of 4 items contaminated, 0 to be reviewed, 2 clean" in done.stdout
    assert json.loads(Path("c.json").read_text(encoding="utf-8"))["contaminated"] == ["a1", "a2"]
    Path("web.txt").write_text("Nothing of this is a question.\n", encoding="utf-8")
    clean = kina("contamination", pool, "--against", "web.txt", "--json")
    assert clean.exit_code == 0
    assert json.loads(clean.stdout)["clean"] == 4
    assert kina("contamination", pool, "--against", "absent.jsonl").exit_code == 2


def test_vectors_that_do_not_fit_are_compared_from_files_to_the_same_bytes(
    kina: Kina, pool: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kina("dedup", pool, "-o", "memory.json").exit_code == 0
    monkeypatch.setattr("kina_build.dedup.search.place.Place.room", lambda *_: 0)
    Path("kina.toml").write_text("[dedup]\nblock_rows = 2\n", encoding="utf-8")
    files = kina("dedup", pool, "-o", "files.json")
    assert "4 vectors are compared from files in files.json.work" in files.stderr
    assert Path("files.json").read_bytes() == Path("memory.json").read_bytes()
    assert not Path("files.json.work").exists()
    assert kina("dedup", pool, "-o", "memory.json").stderr.startswith("memory.json: up to date")
    explained = kina("dedup", pool, "--explain", "a1")
    assert explained.stdout == kina("dedup", pool, "--explain", "a1", "--no-cache").stdout
    assert not list(Path().glob("*.work"))


def test_what_a_stopped_run_had_done_is_not_done_again(
    kina: Kina, pool: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kina_build.dedup.search import blocks

    monkeypatch.setattr("kina_build.dedup.search.place.Place.room", lambda *_: 0)
    Path("kina.toml").write_text("[dedup]\nblock_rows = 2\n[engine]\nworkers = 1\n", encoding="utf-8")
    compared: list[int] = []
    compare = blocks.compare_blocks

    def stopping(left: Block, right: Block, *more: Any) -> Pairs:
        compared.append(left.start + right.start)
        if len(compared) == 2:
            raise KeyboardInterrupt
        return compare(left, right, *more)

    monkeypatch.setattr(blocks, "compare_blocks", stopping)
    assert kina("dedup", pool, "--no-cache").exit_code == 130
    assert Path("duplicates.json.work").is_dir()
    encoder.asked.clear()
    assert kina("dedup", pool, "--no-cache").exit_code == 0
    assert sorted(compared) == [0, 2, 2, 4]  # only the part that was cut off is done again
    assert len(encoder.asked) == 3  # the sample that kept vectors are compared with, no more


@pytest.mark.parametrize("more", [(), ("--force",), ("--explain", "a1")])
def test_a_folder_of_others_in_the_place_of_the_work_is_not_cleared(
    kina: Kina, pool: Path, encoder: WordEncoder, more: tuple[str, ...]
) -> None:
    Path("duplicates.json.work").mkdir()
    Path("duplicates.json.work/thesis.tex").write_text("years of work")
    done = kina("dedup", pool, *more)
    assert (done.exit_code, encoder.asked) == (2, [])
    assert "duplicates.json.work: holds something of yours (thesis.tex)" in done.stderr
    assert Path("duplicates.json.work/thesis.tex").read_text() == "years of work"
    assert not Path("duplicates.json").exists()


def test_a_pool_of_one_block_stays_off_ray(kina: Kina, pool: Path, encoder: WordEncoder) -> None:
    done = kina("dedup", pool, "--engine", "ray")
    assert done.exit_code == 0
    assert "compared in this process, not on Ray" in done.stderr


def test_too_little_memory_says_how_much_more(
    kina: Kina, pool: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = kina("dedup", pool, "--memory", "1")
    assert done.exit_code == 2
    assert "too little memory" in done.stderr
    assert "raise --memory (engine.memory_mb) by" in done.stderr
    assert encoder.asked == []  # it is said before hours of encoding


def test_a_kept_index_spares_the_scan_and_changes_no_byte(
    kina: Kina, pool: Path, encoder: WordEncoder, make_item: Make
) -> None:
    first = kina("dedup", pool, "--index", "pool.index", "--json")
    assert json.loads(first.stdout)["reused"]["indexed"] == 0
    assert "up to date" in kina("dedup", pool, "--index", "pool.index").stderr
    Path("pool.index").rename("moved.index")
    assert "up to date" not in kina("dedup", pool, "--index", "pool.index").stderr
    assert Path("pool.index").read_bytes() == Path("moved.index").read_bytes()
    write_pool(pool, [*read_pool(pool), make_item("a0", "Which gland makes insulin?", ["pancreas", "bile"])])
    grown = kina("dedup", pool, "--index", "pool.index", "--json")
    assert json.loads(grown.stdout)["reused"]["indexed"] == 4
    kina("dedup", pool, "-o", "plain.json")
    assert Path("duplicates.json").read_bytes() == Path("plain.json").read_bytes()
    manifest = json.loads(Path("duplicates.json.manifest.json").read_text(encoding="utf-8"))
    assert "faiss-cpu" in manifest["versions"]


def test_an_index_that_cannot_be_used_is_told_before_anything_is_encoded(
    kina: Kina, pool: Path, encoder: WordEncoder
) -> None:
    Path("thesis.npz").write_text("years of work")
    for more in ((), ("--force",)):
        done = kina("dedup", pool, "--index", "thesis.npz", *more)
        assert (done.exit_code, encoder.asked) == (2, [])
        assert "thesis.npz" in done.stderr
    assert Path("thesis.npz").read_text() == "years of work"
    for option in (["--no-near"], ["--explain", "a1"], ["--near", "fast"]):
        assert "--index keeps every item's vector" in kina("dedup", pool, "--index", "i", *option).stderr
