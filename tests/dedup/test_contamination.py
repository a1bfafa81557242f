from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kina_build.dedup.contamination import Contamination, find_contamination
from kina_build.dedup.corpora import name_corpora, read_texts
from kina_build.dedup.ngrams import find_overlaps
from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.items.model import Item
from tests.dedup.conftest import WordEncoder

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
    result = find_contamination(pool, {"web": other}, words)
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
    assert find_contamination(pool, {"o": other}, words).hits[0].finding in {"review", "template_sibling"}
    assert find_contamination(pool, {"o": other}, None).hits == ()


def test_row_order_changes_nothing(make_item: Make, words: WordEncoder) -> None:
    pool = [make_item(f"q{n}", f"{LONG} number {n}?", ["a", "b"]) for n in range(4)]
    other = [text(make_item, f"{LONG} number {n}", f"t{n}") for n in range(3)]

    def run(items: list[Item], texts: list[Item]) -> Contamination:
        return find_contamination(items, {"t": texts}, words)

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
    (hit,) = find_contamination(pool, {"o": other}, None).hits
    assert (hit.finding, hit.rule) == ("review", "ngram")
    assert "other options" in hit.reason


def test_plain_text_is_cut_at_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "web.txt").write_text("One.\nStill one.\n\n\nTwo.\n", encoding="utf-8")
    assert [(item.item_id, item.question) for item in read_texts(tmp_path / "web.txt")] == [
        ("web:1", "One.\nStill one."),
        ("web:2", "Two."),
    ]


def test_any_question_file_can_be_compared_with(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,A,B,answer\nWhich gas?,neon,iron,A\n", encoding="utf-8")
    assert read_texts(path)[0].question == "Which gas?"
    path.write_text("question,A,B,answer\nWhich gas?,neon,iron,maybe\n", encoding="utf-8")
    with pytest.raises(RowErrors, match=r"q\.csv:2: "):
        read_texts(path)
    with pytest.raises(InputError, match="no such file"):
        read_texts(tmp_path / "none.jsonl")


def test_two_corpora_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="same file name"):
        name_corpora([tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl"])
