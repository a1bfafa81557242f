from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kina_build.config import SupportRules
from kina_build.errors import RowErrors
from kina_build.rows.tables import read_table, write_csv
from kina_build.support.bank.labels import (
    ITEM_COLUMNS,
    PAIR_COLUMNS,
    ItemLabel,
    PairLabel,
    draw_item_sheet,
    draw_pair_sheet,
    read_item_labels,
    read_pair_labels,
)


def test_a_sheet_is_drawn_filled_in_and_read_back(tmp_path: Path, make_item):
    items = [make_item(f"q{n:02}", f"=Stem {n}?", field="law", subfield=f"s{n % 3}") for n in range(30)]
    rows = draw_item_sheet(items, SupportRules(draw_items=9), np.random.default_rng(0))
    assert len(rows) == 9
    strata = [int(row["item_id"][1:]) % 3 for row in rows]
    assert sorted(strata) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    file = tmp_path / "items.csv"
    write_csv(file, ITEM_COLUMNS, [row | {"aligned": 1} for row in rows])
    assert read_item_labels(file, {item.item_id for item in items}) == [
        ItemLabel(item_id=row["item_id"], aligned=True) for row in rows
    ]


def test_pairs_are_drawn_within_domains_half_of_them_near(make_item):
    items = [make_item(f"q{n:02}", field="law" if n < 20 else "art") for n in range(40)]
    vectors = np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = draw_pair_sheet(items, vectors, SupportRules(draw_pairs=10), np.random.default_rng(0))
    assert len(rows) == 10
    ends = [(int(row["item_id"][1:]), int(row["other_id"][1:])) for row in rows]
    assert all((one < 20) == (two < 20) and one < two for one, two in ends)
    cosines = sorted(float(vectors[one] @ vectors[two]) for one, two in ends)
    assert min(cosines[5:]) > 0.3


def test_an_unlabelled_sheet_is_an_error_of_its_first_row_not_a_set_of_noes(tmp_path: Path):
    file = tmp_path / "pairs.csv"
    write_csv(file, PAIR_COLUMNS, [{"item_id": "a", "other_id": "b", "support": "1"}])
    with pytest.raises(RowErrors, match=r"pairs\.csv:2: duplicate: Field required"):
        read_pair_labels(file, {"a", "b"})


def test_unknown_ids_and_second_labels_are_errors_of_their_lines(tmp_path: Path):
    file = tmp_path / "labels.csv"
    file.write_text("item_id,aligned\na,1\nz,0\n")
    with pytest.raises(RowErrors, match=r"labels\.csv:3: item_id: 'z' is not in the pool"):
        read_item_labels(file, {"a"})
    file.write_text("item_id,aligned\na,1\na,0\n")
    with pytest.raises(RowErrors, match=r"labels\.csv:3: a was labelled before, on line 2"):
        read_item_labels(file, {"a"})
    file.write_text("item_id,other_id,support,duplicate\na,b,1,0\nb,a,1,0\nb,u,1,0\n")
    with pytest.raises(RowErrors, match=r"labels\.csv:3: a and b was labelled before, on line 2"):
        read_pair_labels(file, {"a", "b", "u"})
    file.write_text("item_id,other_id,support,duplicate\na,b,yes,no\n")
    assert read_pair_labels(file, {"a", "b"}) == [
        PairLabel(item_id="a", other_id="b", support=True, duplicate=False)
    ]
    assert len(read_table(file)) == 1
