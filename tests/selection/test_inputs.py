"""The files beside the scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.selection.domains import check_names
from kina_build.selection.inputs import Inputs, read_conflicts, read_ids, read_quotas
from kina_build.selection.labels import read_labels
from kina_build.selection.records import Quota
from kina_build.support.matrix import build_matrix


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_an_item_without_a_subfield_counts_under_its_field(tmp_path: Path) -> None:
    rows = '{"item_id":"a","field":"law","subfield":"tax"}\n{"item_id":"b","field":"law","subfield":""}\n'
    labels = read_labels(write(tmp_path / "p.jsonl", rows), "stratum", "subfield", "field")
    assert labels == {"a": "tax", "b": "law"}


def test_labels_that_are_missing_or_differ_are_errors_of_their_lines(tmp_path: Path) -> None:
    strata = write(tmp_path / "s.csv", "item_id,stratum\na,x\nb,\na,y\n")
    with pytest.raises(RowErrors) as caught:
        read_labels(strata, "stratum")
    assert [fault.line for fault in caught.value.faults] == [3, 4]


def test_quotas_are_checked(tmp_path: Path) -> None:
    quotas = read_quotas(write(tmp_path / "q.csv", "stratum,lower,upper\nb,1,\na,,2\n"))
    assert quotas == (Quota(stratum="a", upper=2), Quota(stratum="b", lower=1))
    with pytest.raises(RowErrors, match="lower 3 is above upper 2"):
        read_quotas(write(tmp_path / "q.csv", "stratum,lower,upper\na,3,2\n"))
    with pytest.raises(InputError, match="more than one row"):
        read_quotas(write(tmp_path / "q.csv", "stratum,lower\na,1\na,2\n"))
    with pytest.raises(InputError, match="two values of k"):
        read_quotas(write(tmp_path / "q.csv", "domain,k,stratum\nd,3,a\nd,4,b\n"))


def test_conflicts_come_as_rows_or_from_duplicates_json(tmp_path: Path) -> None:
    rows = write(tmp_path / "c.csv", "item_id,other_id\nb,a\na,b\nc,c\n")
    assert read_conflicts(rows) == (("a", "b"),)
    document = {"kept": [], "conflict_edges": [["b", "a"], ["c", "b"]]}
    edges = write(tmp_path / "duplicates.json", json.dumps(document, indent=1))
    assert read_conflicts(edges) == (("a", "b"), ("b", "c"))
    with pytest.raises(RowErrors, match="other_id: missing"):
        read_conflicts(write(tmp_path / "c.jsonl", '{"item_id": "a"}\n'))


def test_ids_come_as_rows_or_from_a_selection(tmp_path: Path) -> None:
    assert read_ids(write(tmp_path / "m.csv", "item_id,why\na,old\n")) == {"a"}
    assert read_ids(write(tmp_path / "s.json", '{"item_ids": ["a", "b"]}')) == {"a", "b"}
    copies = '{"kept": ["a"], "dropped": [{"item_id": "b"}], "held": [{"item_id": "c"}]}'
    assert read_ids(write(tmp_path / "d.json", copies)) == {"b", "c"}
    with pytest.raises(RowErrors, match="item_id: missing"):
        read_ids(write(tmp_path / "m.jsonl", '{"id": "a"}\n'))


@pytest.mark.parametrize("field", ["conflict_edges", "groups", "dropped", "held"])
def test_lists_of_a_document_that_are_none_are_refused(tmp_path: Path, field: str) -> None:
    document = {"kept": [], "conflict_edges": [], "dropped": [], field: 7.5}
    path = write(tmp_path / "duplicates.json", json.dumps(document))
    reader = read_ids if field in ("dropped", "held") else read_conflicts
    with pytest.raises(RowErrors, match=f"{field}: not a list"):
        reader(path)


def test_digests_name_what_was_given_and_only_see_content() -> None:
    matrix = build_matrix(["a", "b"], ["u"], np.array([[1.0], [0.5]]), np.ones(1))
    plain = Inputs(matrix)
    assert set(plain.digests) == {"support", "anchors"}
    first = replace(plain, strata={"a": "x", "b": "y"}, exclude=frozenset("ab"))
    again = replace(plain, strata={"b": "y", "a": "x", "other": "z"}, exclude=frozenset("ba"))
    assert first.digests == again.digests
    assert set(first.digests) == {"support", "anchors", "strata", "exclude"}
    assert replace(plain, must=frozenset("a")).digests != plain.digests


def test_names_that_are_not_there_are_refused() -> None:
    matrix = build_matrix(["a"], ["u"], np.ones((1, 1)), np.ones(1))
    with pytest.raises(InputError, match="--must names 'z'"):
        check_names(Inputs(matrix, must=frozenset("z")))
    with pytest.raises(UsageError, match="both a --must and an --exclude"):
        check_names(Inputs(matrix, must=frozenset("a"), exclude=frozenset("a")))
    with pytest.raises(UsageError, match="--quota needs --strata"):
        check_names(Inputs(matrix, quotas=(Quota(stratum="x"),)))
