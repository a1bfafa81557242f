"""Score files in, with their faults named by line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kina_build.errors import InputError, RowErrors
from kina_build.items.pool import read_item_ids
from kina_build.ranking.files.itemfiles import key_of, read_clusters, read_items
from kina_build.ranking.files.letters import letters_of, read_letters
from kina_build.ranking.files.sources import read_scores

ROW = {"item_id": "q", "model": "a", "score": 1}
OTHER = ROW | {"model": "b", "discipline": "y"}


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows)


def test_scores_jsonl_and_the_matrix_tell_the_same(tmp_path):
    long = read_scores(
        write(
            tmp_path,
            "scores.jsonl",
            lines(
                {"item_id": "q1", "model": "a", "score": 1, "samples": 4, "discipline": "law"},
                {"item_id": "q2", "model": "a", "score": 0.25, "samples": 4, "discipline": "art"},
                {"item_id": "q1", "model": "b", "score": 0.5, "samples": 4, "discipline": "law"},
                {"item_id": "q2", "model": "b", "score": None, "samples": 4, "discipline": "art"},
            ),
        )
    )
    wide = read_scores(write(tmp_path, "m.csv", "item_id,discipline,a,b\nq1,law,1,.5\nq2,art,.25,\n"))
    for table in (long, wide):
        assert (table.models, table.item_ids, table.disciplines) == (("a", "b"), ("q1", "q2"), ("law", "art"))
        assert np.array_equal(table.scores, [[1, 0.25], [0.5, np.nan]], equal_nan=True)


def test_single_letters_of_kina_score_come_along(tmp_path):
    one = {"item_id": "q1", "model": "a", "score": 1, "letters": ["B"]}
    none = {"item_id": "q2", "model": "a", "score": 0, "letters": [None]}
    table = read_scores(write(tmp_path, "s.jsonl", lines(one, none)))
    assert table.letters == {"a": ("B", "-")}
    twice = read_scores(write(tmp_path, "s.jsonl", lines(one, none | {"letters": ["A", "B"]})))
    assert twice.letters is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.csv", "item_id,discipline,a\nq1,law,53.2\n", r"m.csv:2: a: 53.2 is outside \[0, 1\]"),
        ("m.csv", "item_id,discipline,a\nq1,law,yes\n", "m.csv:2: a: 'yes' is not a number"),
        ("m.csv", "item_id,discipline,a\nq1,law,1\nq1,law,0\n", "m.csv:3: item_id: 'q1' stands on more"),
        ("s.jsonl", lines(ROW, ROW | {"score": 0}), "s.jsonl:2: model 'a' has a second score"),
        ("s.jsonl", lines(ROW | {"model": ""}), "s.jsonl:1: model: text required"),
        ("s.jsonl", lines(ROW | {"discipline": "x"}, OTHER), "s.jsonl:2: discipline: 'y', but 'x'"),
        ("m.csv", "name,a\nq1,1\n", "neither scores.jsonl nor a score matrix"),
        ("m.csv", "item_id,discipline\nq1,law\n", "neither scores.jsonl nor a score matrix"),
        ("m.csv", "item_id,discipline,a\n", "no rows below the header"),
        ("r.jsonl", lines({"item_id": "q1", "model": "a", "response": "B"}), "r.jsonl: replies, not scores"),
    ],
)  # fmt: skip
def test_faults_are_named(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        read_scores(write(tmp_path, name, text))


ITEMS = lines(
    {"question_id": 7, "options": ["x", "y", "z"], "answer": "B", "category": "law"},
    {
        "item_id": "q8",
        "options": [{"key": "A", "answer": "x"}, {"key": "B", "answer": "y"}],
        "correct_answer": "A",
    },
    {"id": "q9", "choices": ["x", "y"], "answer": "B", "discipline": "art"},
)


def test_items_come_from_pools_releases_and_mmlu_pro(tmp_path):
    items = read_items(write(tmp_path, "items.jsonl", ITEMS))
    assert [(i.item_id, i.letter, i.options, i.discipline) for i in items] == [
        ("7", "B", 3, "law"),
        ("q8", "A", 2, ""),
        ("q9", "B", 2, "art"),
    ]


def test_letters_are_scored_against_the_key(tmp_path):
    items = read_items(write(tmp_path, "items.jsonl", ITEMS))
    table = read_letters(write(tmp_path, "a.jsonl", lines({"model": "m", "answers": "B-Z"})), items)
    assert table.scores.tolist() == [[1, 0, 0]]
    assert letters_of(table, ["q9", "7"]) == {"m": ["Z", "B"]}
    assert key_of(items, ["q9", "7"]).keys == ("B", "B")


def test_letters_for_other_items_are_refused(tmp_path):
    items = read_items(write(tmp_path, "items.jsonl", ITEMS))
    with pytest.raises(RowErrors, match="a.jsonl:1: answers: 2 letters for 3 items"):
        read_letters(write(tmp_path, "a.jsonl", lines({"model": "m", "answers": "BA"})), items)


def test_scored_items_without_a_key_are_named(tmp_path):
    items = read_items(write(tmp_path, "items.jsonl", ITEMS))
    with pytest.raises(InputError, match="1 scored items are not in --items, first 'q1'"):
        key_of(items, ["7", "q1"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"options": ["x", "y"], "answer": "A"}, "items.jsonl:1: item_id or id or question_id: required"),
        ({"id": "q", "answer": "A"}, "items.jsonl:1: options: a list required"),
        ({"id": "q", "options": ["x"] * 27, "answer": "A"}, "items.jsonl:1: options: 27, but"),
        ({"id": "q", "options": ["x", "y"], "answer": "C"}, "items.jsonl:1: answer: 'C' is not one of A, B"),
        ({"id": "q", "options": [{"key": "A"}, {"key": 1.5}], "answer": "C"}, "is not one of A, 1.5"),
    ],
)
def test_items_without_a_usable_key_are_named(tmp_path, row, message):
    with pytest.raises(RowErrors, match=message):
        read_items(write(tmp_path, "items.jsonl", lines(row)))


def test_items_to_keep_come_from_a_selection_or_from_rows(tmp_path):
    assert read_item_ids(write(tmp_path, "selection.json", '{"item_ids": ["b", "a"]}')) == ["b", "a"]
    assert read_item_ids(write(tmp_path, "test.jsonl", lines({"id": "b"}, {"id": "a"}))) == ["b", "a"]
    with pytest.raises(InputError, match="no list item_ids"):
        read_item_ids(write(tmp_path, "x.json", "{}"))


def test_clusters_need_both_columns(tmp_path):
    assert read_clusters(write(tmp_path, "c.csv", "item_id,cluster\nq1,p\n")) == {"q1": "p"}
    with pytest.raises(InputError, match="c.csv:2: needs item_id and cluster"):
        read_clusters(write(tmp_path, "c.csv", "item_id,cluster\nq1,\n"))


@pytest.mark.parametrize("letters", [[["A"]], [1], [{}], "A", [], ["A", "B"], {"0": "A"}])
def test_letters_of_another_shape_are_no_letters(tmp_path, letters):
    rows = [ROW | {"letters": letters}, ROW | {"item_id": "p", "letters": ["A"]}]
    assert read_scores(write(tmp_path, "s.jsonl", lines(*rows))).letters is None
