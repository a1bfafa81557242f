from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from kina_build.dedup.contamination.corpora import of_items, open_corpus, read_questions, read_texts
from kina_build.dedup.contamination.find import find_in_corpora
from kina_build.dedup.contamination.letters import letter_places, letters, window_hashes
from kina_build.dedup.contamination.records import Contamination
from kina_build.dedup.contamination.run import name_corpora
from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.items.model import Item
from kina_build.items.pool import write_pool
from tests.dedup.conftest import WordEncoder
from tests.release.pools import spread

Make = Callable[..., Item]

LONG = "the old miller of the seventh valley counted his sacks of rye by the light of a single lamp"


def text(make_item: Make, words: str, item_id: str = "t1") -> Item:
    return make_item(item_id, words, [], "")


def test_each_kind_of_trace_is_told(make_item: Make, words: WordEncoder) -> None:
    pool = [
        make_item("exact", "Which gland makes insulin?", ["pancreas", "thymus"]),
        make_item("folded", "WHICH METAL IS LIQUID?", ["mercury", "iron"]),
        make_item("key", "Which lock fills fastest?", ["north", "mill"]),
        make_item("long", f"Who was it that {LONG}?", ["Jan", "Piet"]),
        make_item("sibling", "A lamp draws 2 A at 12 V. What power is that?", ["24 W", "6 W"]),
        make_item("clean", "Why do leaves turn red in autumn?", ["pigments", "frost"]),
    ]
    other = [
        make_item("o1", "Which gland makes insulin?", ["pancreas", "thymus"]),
        make_item("o2", "Which metal is liquid", ["Iron.", "Mercury."], "B"),
        make_item("o3", "Which lock fills fastest?", ["mill", "north"]),
        text(make_item, f"In that year, {LONG}, says the chronicle.", "o4"),
        make_item("o5", "A lamp draws 3 A at 12 V. What power is that?", ["36 W", "4 W"]),
    ]
    result = find_in_corpora(pool, {"web": of_items(other)}, words)
    assert {hit.item_id: (hit.finding, hit.rule, hit.other_id) for hit in result.hits} == {
        "exact": ("contaminated", "exact", "o1"),
        "folded": ("contaminated", "folded", "o2"),
        "key": ("contaminated", "key", "o3"),
        "long": ("contaminated", "ngram", "o4"),
        "sibling": ("template_sibling", "template", "o5"),
    }
    assert (result.contaminated, result.clean) == (("exact", "folded", "key", "long"), 2)
    assert LONG in next(
        hit.shared_text for hit in result.hits if hit.item_id == "long" and hit.rule == "ngram"
    )


def test_a_close_text_is_for_a_person_to_weigh(make_item: Make, words: WordEncoder) -> None:
    pool = [make_item("q", "green leaves of summer trees look why", ["pigment of leaf", "cold"])]
    other = [make_item("o", "why trees of summer look green leaves so", ["pigment of leaf", "frost"])]
    assert find_in_corpora(pool, {"o": of_items(other)}, words).hits[0].finding in {
        "review",
        "template_sibling",
    }
    assert find_in_corpora(pool, {"o": of_items(other)}, None).hits == ()


def test_row_order_changes_nothing(make_item: Make, words: WordEncoder) -> None:
    pool = [make_item(f"q{n}", f"{LONG} number {n}?", ["a", "b"]) for n in range(4)]
    other = [text(make_item, f"{LONG} number {n}", f"t{n}") for n in range(3)]

    def run(items: list[Item], texts: list[Item]) -> Contamination:
        return find_in_corpora(items, {"t": of_items(texts)}, words)

    assert run(pool, other) == run(pool[::-1], other[::-1])


def found(pool: list[Item], texts: list[Item]) -> list[tuple[str, str, str]]:
    result = find_in_corpora(pool, {"t": of_items(texts)}, None)
    return [(hit.item_id, hit.other_id, hit.finding) for hit in result.hits]


def test_a_short_stem_is_found_whole_or_not_at_all(make_item: Make) -> None:
    stem = "in which year did the mill burn down"
    pool = [make_item("q", stem), make_item("s", "which year")]
    texts = [text(make_item, f"he asked {stem} again"), text(make_item, "which year", "t2")]
    assert found(pool, texts) == [("q", "t1", "contaminated")]
    assert found(pool, [text(make_item, stem[:-5])]) == []


def test_runs_that_many_texts_share_are_boilerplate(make_item: Make) -> None:
    pool = [make_item("q", f"{LONG} and then who went out to look for the horse?")]
    few = [text(make_item, LONG, f"t{n}") for n in range(9)]
    assert len(found(pool, few)) == 5  # as many as are shown
    assert found(pool, [*few, text(make_item, LONG, "t9")]) == []


def test_a_stem_that_tells_little_is_only_doubtful_without_its_options(make_item: Make) -> None:
    stem = "Which of the following statements about the old mill is the true one"
    pool, other = (
        [make_item("q", stem, ["it burnt", "it stood"])],
        [make_item("o", stem, ["it sank", "it flew"])],
    )
    (hit,) = find_in_corpora(pool, {"o": of_items(other)}, None).hits
    assert (hit.finding, hit.rule) == ("review", "verbatim")
    assert hit.reason == "its stem stands there word for word, but it is short or tells little"


def test_plain_text_is_cut_at_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "web.txt").write_text("One.\nStill one.\n\n\nTwo.\n", encoding="utf-8")
    assert [(item.item_id, item.question) for item in read_texts(tmp_path / "web.txt").items] == [
        ("web:1", "One.\nStill one."),
        ("web:2", "Two."),
    ]


def test_any_question_file_can_be_compared_with(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,A,B,answer\nWhich gas?,neon,iron,A\n", encoding="utf-8")
    assert read_texts(path).items[0].question == "Which gas?"
    path.write_text("question,A,B,answer\nWhich gas?,neon,iron,maybe\n", encoding="utf-8")
    with pytest.raises(RowErrors, match=r"q\.csv:2: "):
        read_questions(path)
    assert read_texts(path).items[0].question == "Which gas?"  # a corpus may hold bad questions
    with pytest.raises(InputError, match="no such file"):
        read_texts(tmp_path / "none.jsonl")


def test_two_corpora_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="same file name"):
        name_corpora([tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl"])


def test_rows_that_are_no_complete_questions_are_compared_all_the_same(tmp_path: Path) -> None:
    """BIG-Bench Hard: free answers, and options that cannot be told apart."""
    rows = [
        {"input": "Which tree?\nOptions:\n(A) oak\n(B) elm", "target": "(B)"},
        {"input": "Which tree is no tree?\nOptions:\n(A) The NB", "target": "(A)"},
        {"input": "Sort these words: elm ash oak", "target": "ash elm oak"},
        {"input": "Sort these words: elm ash oak", "target": "elm"},
        {"input": " ", "target": "x"},
    ]
    (tmp_path / "bbh.json").write_text(json.dumps({"canary": "x", "examples": rows}), encoding="utf-8")
    texts = read_texts(tmp_path / "bbh.json")
    assert texts.unread == 1
    assert sorted((i.question, len(i.options), i.correct_answer) for i in texts.items) == [
        ("Sort these words: elm ash oak", 0, ""),
        ("Sort these words: elm ash oak", 0, ""),
        ("Which tree is no tree?\nOptions:\n(A) The NB", 0, ""),
        ("Which tree?", 2, "B"),
    ]
    assert len({item.item_id for item in texts.items}) == 4


def test_a_folder_is_one_corpus_whose_files_may_number_alike(tmp_path: Path) -> None:
    for name in ("one", "two"):
        line = json.dumps({"id": 1, "question": f"Which of {name}?", "choices": ["a", "b"], "answer": "A"})
        (tmp_path / f"{name}.jsonl").write_text(line + "\n", encoding="utf-8")
    assert [item.item_id for item in read_texts(tmp_path).items] == ["one:1", "two:1"]


def test_a_corpus_of_plain_texts_is_read_by_its_text_column(tmp_path: Path) -> None:
    rows = [{"url": "u", "text": "An old mill."}, {"url": "v", "text": None}]
    (tmp_path / "web.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    texts = read_texts(tmp_path / "web.jsonl")
    assert ([item.question for item in texts.items], texts.unread) == (["An old mill."], 1)
    (tmp_path / "web.jsonl").write_text('{"text": null}\n', encoding="utf-8")
    with pytest.raises(InputError, match="holds no text"):
        read_texts(tmp_path / "web.jsonl")


@pytest.mark.parametrize("private", [False, True])
def test_a_release_is_a_corpus_and_can_be_checked_itself(kina: Callable[..., Result], private: bool) -> None:
    """Its Croissant file and harness tasks are no questions; a private split keeps its options."""
    write_pool(Path("pool.jsonl"), spread(6))
    made = kina("export", "pool.jsonl", "-o", "release", *(("--private", "test") if private else ()))
    assert made.exit_code == 0, made.stderr
    texts = read_texts(Path("release"))
    assert {len(item.options) for item in texts.items} == {4}
    assert ("" in {item.correct_answer for item in texts.items}) is private
    done = kina("contamination", "pool.jsonl", "--against", "release", "--no-near", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, len(report["contaminated"]), report["corpora"]) == (1, 6, {"release": 6})
    back = kina(
        "contamination", "release", "--against", "pool.jsonl", "--no-near", "--json", "-o", "back.json"
    )
    assert len(json.loads(back.stdout)["contaminated"]) == 6


def test_a_question_that_stands_there_without_its_key_is_out(make_item: Make) -> None:
    stem = "Which lock fills fastest?"
    pool = [make_item("q", stem, ["the north lock", "the mill lock"])]
    other = [make_item("o", stem, ["the mill lock", "the north lock"], "")]
    (hit,) = find_in_corpora(pool, {"o": of_items(other)}, None).hits
    assert (hit.finding, hit.rule, hit.gold) == ("contaminated", "key", "unknown")


def test_a_stem_that_stands_word_for_word_in_plain_text_is_out(make_item: Make) -> None:
    stem = "In which year did the old mill of the valley burn down"
    pool = [make_item("q", f"{stem}?", ["1811", "1812"])]
    (hit,) = find_in_corpora(pool, {"t": of_items([text(make_item, stem)])}, None).hits
    assert (hit.finding, hit.rule) == ("contaminated", "verbatim")


STEM = "Which lock of the old canal fills fastest in the seventh week of spring?"
OPTIONS = ["the north lock", "the mill lock", "the town lock"]
FORMS = {
    "web.txt": "Hm:\nWhich lock of the\n\nold ca-\nnal fills fastest in the sev-\nenth week of spring?\n",
    "page.html": "<p>Which <b>lock</b> of the old canal<br>fills fastest in the seventh&nbsp;week of spring?",
    "notes.md": "* Which **lock** of the [old canal](c.html) fills fastest in the seventh week of spring?",
    "chat.jsonl": json.dumps({"messages": [{"role": "user", "content": f"{STEM}\nA. {OPTIONS[0]}"}]}),
    "tuning.jsonl": json.dumps({"instruction": STEM, "input": "\n".join(OPTIONS), "output": "A"}),
    "nested.json": json.dumps({"a": [{"b": {"c": [STEM, OPTIONS]}}, {"b": None}]}),
    "broken.jsonl": '{"text": "' + STEM,
    "payload.jsonl": json.dumps({"row": json.dumps({"q": STEM.replace("old", "\u00f6ld")})}),
    "two.json": json.dumps({"n": 1}, indent=1) + json.dumps({"text": STEM}, indent=1),
    "cut.jsonl": "".join(json.dumps({"text": part}) + "\n" for part in (STEM[:30], STEM[30:60], STEM[60:])),
    "table.csv": f'id,prompt,n\n1,"{STEM}",2\n',
    "wide.txt": STEM.replace("lock", "ｌｏｃｋ").upper(),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_question_is_found_in_any_form_of_file(
    name: str, packed: bool, tmp_path: Path, make_item: Make
) -> None:
    filler = "The water stood high that year and nobody came to the mill.\n"
    content = (FORMS[name] + "\n" + filler * 3 * name.endswith((".txt", ".html", ".md"))).encode()
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    pool = [
        make_item("q", STEM, OPTIONS),
        make_item("other", "Why does the miller count sacks of rye?", ["a", "b"]),
    ]
    result = find_in_corpora(pool, {name: open_corpus(path)}, None)
    assert (result.contaminated, result.review) == (("q",), ())


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_text_is_read_whatever_its_encoding(encoding: str, tmp_path: Path, make_item: Make) -> None:
    path = tmp_path / "web.txt"
    path.write_bytes(f"Voilà, été\r\n{STEM}\r\n".replace("canal", "cänal").encode(encoding))
    result = find_in_corpora([make_item("q", STEM, OPTIONS)], {"w": open_corpus(path)}, None)
    assert result.contaminated == ("q",)


@pytest.mark.parametrize("start", [b"%PDF-1.4\n", b"PK\x03\x04", b"\x00\x01" * 50])
def test_a_closed_file_is_not_called_clean(start: bytes, tmp_path: Path, make_item: Make) -> None:
    path = tmp_path / "paper.pdf"
    path.write_bytes(start + b"stream\n" * 50)
    with pytest.raises(InputError, match="holds no text"):
        find_in_corpora([make_item("q", STEM, OPTIONS)], {"w": open_corpus(path)}, None)


def test_rows_of_two_files_are_not_read_on(tmp_path: Path, make_item: Make) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": STEM[:36]}), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": STEM[36:]}), encoding="utf-8")
    result = find_in_corpora([make_item("q", STEM, OPTIONS)], {"w": open_corpus(tmp_path)}, None)
    assert result.contaminated == ()


def test_a_folder_of_parquet_and_text_is_looked_through(tmp_path: Path, make_item: Make) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "deep" / "er").mkdir(parents=True)
    table = pa.table({"turns": [[{"said": "no"}], [{"said": STEM}, {"said": OPTIONS[1]}]]})
    pq.write_table(table, tmp_path / "deep" / "er" / "rows.parquet")
    (tmp_path / "image.bin").write_bytes(b"\x00\x01" * 50)
    (tmp_path / "note.txt").write_text("nothing here", encoding="utf-8")
    result = find_in_corpora([make_item("q", STEM, OPTIONS)], {"all": open_corpus(tmp_path)}, None)
    assert [(hit.item_id, hit.other_id) for hit in result.hits] == [("q", "deep/er/rows.parquet:2")]
    assert (result.corpora, result.unread) == ({"all": 3}, {"all": 1})


def test_the_place_in_running_text_is_its_line(tmp_path: Path, make_item: Make) -> None:
    path = tmp_path / "web.txt"
    path.write_text("an old line é\n" * 30_000 + STEM + "\n" + "x\n" * 9, encoding="utf-8")
    (hit,) = find_in_corpora([make_item("q", STEM, OPTIONS)], {"w": open_corpus(path, 0)}, None).hits
    assert (hit.other_id, hit.shared_text) == ("line 30001", STEM[:-1])


@pytest.mark.parametrize(
    ("asked", "there", "finding"),
    [
        ("A lamp of the old lock draws 2.5 A at 12 V; what power is that?", "25 A", "template_sibling"),
        ("A lamp of the old lock draws 2.5 A at 12 V; what power is that?", "2.5 A", "contaminated"),
    ],
)
def test_letters_that_agree_may_ask_something_else(
    asked: str, there: str, finding: str, make_item: Make
) -> None:
    texts = [text(make_item, asked.replace("2.5 A", there))]
    assert found([make_item("q", asked, ["30 W", "300 W"])], texts) == [("q", "t1", finding)]


def test_a_short_stem_is_out_with_two_of_its_options(make_item: Make) -> None:
    pool = [
        make_item(
            "short", "Organ?", ["the pancreas beside the gut", "the thymus gland of the chest", "skin"]
        ),
        make_item("tiny", "Which?", ["a", "b"]),
    ]
    there = "Organ? (a) the pancreas beside the gut (b) the thymus gland of the chest (c) skin"
    result = find_in_corpora(pool, {"t": of_items([text(make_item, there)])}, None)
    assert (result.contaminated, list(result.unsearchable)) == (("short",), ["tiny"])
    assert (
        found(pool, [text(make_item, "the pancreas beside the gut and the thymus gland of the chest")]) == []
    )


def test_items_that_share_a_passage_are_not_all_out(make_item: Make) -> None:
    passage = f"{LONG}, and then he went to the door of the mill and looked at the river for an hour. "
    pool = [
        make_item("out", passage + "What did he look at?", ["the river", "the town"]),
        make_item(
            "not", passage + "How long did he stand at the door that night, and why?", ["an hour", "a day"]
        ),
    ]
    assert found(pool, [text(make_item, passage + "What did he look at?")]) == [("out", "t1", "contaminated")]


def test_a_zst_file_says_what_it_needs(
    tmp_path: Path, make_item: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "web.txt.zst").write_bytes(b"\x28\xb5\x2f\xfd rest")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match="needs the package zstandard"):
        find_in_corpora([make_item("q", STEM)], {"z": open_corpus(tmp_path / "web.txt.zst")}, None)


def test_damage_is_named_in_one_line(tmp_path: Path, make_item: Make) -> None:
    whole = gzip.compress(b"some words " * 9999)
    (tmp_path / "web.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"web\.txt\.gz: cannot be read to its end"):
        find_in_corpora([make_item("q", STEM)], {"z": open_corpus(tmp_path / "web.txt.gz")}, None)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_each_letter_has_its_place(words: str) -> None:
    assert len(letters(words)) == len(letter_places(words))


@given(st.binary(min_size=20, max_size=80), st.binary(max_size=40))
def test_a_window_hashes_alike_wherever_it_stands(data: bytes, before: bytes) -> None:
    here, there = window_hashes(data), window_hashes(before + data)
    assert here.tolist() == there[len(before) :].tolist()


def test_columns_of_a_corpus_can_be_told(make_item: Make, kina: Callable[..., Result]) -> None:
    write_pool(Path("pool.jsonl"), [make_item("q", "Which gland makes insulin?", ["pancreas", "thymus"])])
    rows = [{"frage": "WHICH GLAND MAKES INSULIN", "w1": "Thymus", "w2": "Pancreas", "key": "B"}]
    Path("web.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    line = ("contamination", "pool.jsonl", "--against", "web.jsonl", "--no-near", "--json")
    told = kina(*line, "--map", "question=frage", "--map", "options=w1,w2", "-o", "told.json")
    assert told.exit_code == 1
    found = json.loads(told.stdout)
    assert (found["as_text"], found["hits"][0]["rule"]) == ([], "folded")
    wrong = kina(*line, "--map", "question=fragen", "-o", "wrong.json")
    assert wrong.exit_code == 2
    assert "fragen" in wrong.stderr
