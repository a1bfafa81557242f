from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from kina_build.dedup.contamination import Contamination, find_contamination
from kina_build.dedup.corpora import Texts, name_corpora, read_questions, read_texts
from kina_build.dedup.ngrams import find_overlaps
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
    result = find_contamination(pool, {"web": Texts(tuple(other))}, words)
    assert {hit.item_id: (hit.finding, hit.rule, hit.other_id) for hit in result.hits} == {
        "exact": ("contaminated", "exact", "o1"),
        "folded": ("contaminated", "folded", "o2"),
        "key": ("contaminated", "key", "o3"),
        "long": ("contaminated", "ngram", "o4"),
        "sibling": ("template_sibling", "template", "o5"),
    }
    assert (result.contaminated, result.clean) == (("exact", "folded", "key", "long"), 2)
    assert LONG in next(hit.shared_text for hit in result.hits if hit.item_id == "long")


def test_a_close_text_is_for_a_person_to_weigh(make_item: Make, words: WordEncoder) -> None:
    pool = [make_item("q", "green leaves of summer trees look why", ["pigment of leaf", "cold"])]
    other = [make_item("o", "why trees of summer look green leaves so", ["pigment of leaf", "frost"])]
    assert find_contamination(pool, {"o": Texts(tuple(other))}, words).hits[0].finding in {
        "review",
        "template_sibling",
    }
    assert find_contamination(pool, {"o": Texts(tuple(other))}, None).hits == ()


def test_row_order_changes_nothing(make_item: Make, words: WordEncoder) -> None:
    pool = [make_item(f"q{n}", f"{LONG} number {n}?", ["a", "b"]) for n in range(4)]
    other = [text(make_item, f"{LONG} number {n}", f"t{n}") for n in range(3)]

    def run(items: list[Item], texts: list[Item]) -> Contamination:
        return find_contamination(items, {"t": Texts(tuple(texts))}, words)

    assert run(pool, other) == run(pool[::-1], other[::-1])


def test_a_short_stem_is_found_whole_or_not_at_all(make_item: Make) -> None:
    stem = "in which year did the mill burn down"
    pool = [make_item("q", stem), make_item("s", "which year")]
    found = find_overlaps(
        pool, [text(make_item, f"he asked {stem} again"), text(make_item, "which year")], (13, 8), 10
    )
    assert {pair: overlap.share for pair, overlap in found.items()} == {(0, 0): 1.0}
    assert find_overlaps(pool, [text(make_item, stem[:-5])], (13, 8), 10) == {}


def test_runs_that_many_texts_share_are_boilerplate(make_item: Make) -> None:
    pool = [make_item("q", f"{LONG} and then?")]
    few = [text(make_item, LONG, f"t{n}") for n in range(9)]
    assert len(find_overlaps(pool, few, (13, 8), 10)) == 9
    assert find_overlaps(pool, [*few, text(make_item, LONG, "t9")], (13, 8), 10) == {}


def test_the_same_stem_with_other_options_is_only_doubtful(make_item: Make) -> None:
    stem = "Which of the following statements about the old mill is the true one"
    pool, other = (
        [make_item("q", stem, ["it burnt", "it stood"])],
        [make_item("o", stem, ["it sank", "it flew"])],
    )
    (hit,) = find_contamination(pool, {"o": Texts(tuple(other))}, None).hits
    assert (hit.finding, hit.rule) == ("review", "ngram")
    assert "other options" in hit.reason


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
    (hit,) = find_contamination(pool, {"o": Texts(tuple(other))}, None).hits
    assert (hit.finding, hit.rule, hit.gold) == ("contaminated", "key", "unknown")


def test_a_stem_that_stands_word_for_word_in_plain_text_is_out(make_item: Make) -> None:
    stem = "In which year did the old mill of the valley burn down"
    pool = [make_item("q", f"{stem}?", ["1811", "1812"])]
    (hit,) = find_contamination(pool, {"t": Texts((text(make_item, stem),))}, None).hits
    assert (hit.finding, hit.rule) == ("contaminated", "ngram")
