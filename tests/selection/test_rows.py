"""Score and weight rows: nothing missing becomes a zero, digits survive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kina_build.errors import InputError, RowErrors
from kina_build.support.matrix import build_matrix
from kina_build.support.npz import read_support, write_support
from kina_build.support.rows import load_support, read_scores, read_weights


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_unlisted_pairs_are_zero_and_unsupported_anchors_keep_a_column(tmp_path: Path) -> None:
    scores = write(tmp_path / "s.csv", "item_id,anchor_id,score\nb,u,0.5\na,v,1\n")
    weights = write(tmp_path / "a.csv", "anchor_id,weight\nv,2\nu,1\nw,1\n")
    matrix = load_support(scores, weights)
    assert (matrix.item_ids, matrix.anchor_ids) == (("a", "b"), ("u", "v", "w"))
    assert matrix.levels.tolist() == [[0, 1000, 0], [500, 0, 0]]
    assert (matrix.weights / matrix.weight_unit).tolist() == [1, 2, 1]


def test_more_digits_get_a_finer_scale(tmp_path: Path) -> None:
    scores = write(tmp_path / "s.csv", "item_id,anchor_id,score\na,u,0.123456\n")
    weights = write(tmp_path / "a.csv", "anchor_id,weight\nu,0.12345678\n")
    matrix = load_support(scores, weights)
    assert matrix.levels[0, 0] / matrix.scale == 0.123456
    assert matrix.weights[0] / matrix.weight_unit == pytest.approx(0.12345678, rel=1e-9)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,u,", "score: missing"),
        ("a,u,nan", "score: 'nan' is not a number"),
        ("a,u,-0.1", "score: -0.1 is outside [0, 1]"),
        ("a,u,high", "score: 'high' is not a number"),
        (",u,0.5", "item_id: missing"),
        ("a,,0.5", "anchor_id: missing"),
    ],
)
def test_a_faulty_score_is_an_error_of_its_line(tmp_path: Path, row: str, message: str) -> None:
    scores = write(tmp_path / "s.csv", f"item_id,anchor_id,score\nq,u,0.5\n{row}\n")
    with pytest.raises(RowErrors) as caught:
        read_scores(scores)
    assert f"s.csv:3: {message}" in caught.value.message
    assert len(caught.value.faults) == 1


def test_a_pair_on_two_rows_is_an_error(tmp_path: Path) -> None:
    scores = write(tmp_path / "s.csv", "item_id,anchor_id,score\nq,u,0.5\nq,u,0.6\n")
    with pytest.raises(RowErrors, match=r"s.csv:3: 'q' and 'u' were scored before, on line 2"):
        read_scores(scores)


@pytest.mark.parametrize(("weight", "message"), [("-1", "below 0"), ("x", "not a number"), ("", "missing")])
def test_a_faulty_weight_is_an_error_of_its_line(tmp_path: Path, weight: str, message: str) -> None:
    with pytest.raises(RowErrors, match=message):
        read_weights(write(tmp_path / "a.csv", f"anchor_id,weight\nu,{weight}\n"))


def test_a_repeated_anchor_is_an_error_even_with_the_same_weight(tmp_path: Path) -> None:
    with pytest.raises(RowErrors, match="stands on an earlier row"):
        read_weights(
            write(tmp_path / "a.jsonl", '{"anchor_id":"u","weight":1}\n{"anchor_id":"u","weight":1}\n')
        )


def test_an_anchor_without_a_weight_is_named_with_its_line(tmp_path: Path) -> None:
    scores = write(tmp_path / "s.csv", "item_id,anchor_id,score\nq,u,0.5\nq,x,0.6\n")
    weights = write(tmp_path / "a.csv", "anchor_id,weight\nu,1\n")
    with pytest.raises(RowErrors, match=r"s.csv:3: anchor_id: 'x' has no weight"):
        load_support(scores, weights)
    with pytest.raises(InputError, match="carry no anchor weights"):
        load_support(scores)


def test_a_stored_matrix_takes_new_weights(tmp_path: Path) -> None:
    matrix = build_matrix(["a"], ["u", "w"], np.array([[0.5, 0.25]]), np.array([1.0, 1.0]))
    write_support(tmp_path / "s.npz", matrix)
    weights = write(tmp_path / "a.csv", "anchor_id,weight\nw,3\nv,1\nu,2\n")
    given = load_support(tmp_path / "s.npz", weights)
    assert given.levels.tolist() == [[500, 0, 250]]
    assert (given.weights / given.weight_unit).tolist() == [2, 1, 3]
    assert load_support(tmp_path / "s.npz").anchor_ids == ("u", "w")
    with pytest.raises(InputError, match="no weight for anchor 'w'"):
        load_support(tmp_path / "s.npz", write(tmp_path / "b.csv", "anchor_id,weight\nu,2\n"))


def test_weights_that_sum_to_a_hair_below_one_keep_the_unit() -> None:
    masses = np.full(7, 1 / 7)
    assert build_matrix(["a"], list("abcdefg"), np.ones((1, 7)), masses).weight_unit == 10**6


def test_a_matrix_with_more_levels_survives_the_disk(tmp_path: Path) -> None:
    matrix = build_matrix(["a"], ["u"], np.array([[0.123456]]), np.ones(1), scale=10**6)
    write_support(tmp_path / "s.npz", matrix)
    assert read_support(tmp_path / "s.npz").levels.tolist() == [[123456]]
