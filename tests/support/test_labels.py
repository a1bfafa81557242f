from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kina_build.config import SupportRules
from kina_build.errors import Refusal, RowErrors
from kina_build.rows.tables import read_table, write_csv
from kina_build.support.bank.labels import (
    ITEM_COLUMNS,
    PAIR_COLUMNS,
    ItemLabel,
    PairLabel,
    deal_sheet,
    draw_item_sheet,
    draw_pair_sheet,
    read_item_labels,
    read_pair_labels,
    settle_labels,
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
        ItemLabel(item_id=row["item_id"], aligned=True, judge="items") for row in rows
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
    file.write_text("item_id,other_id,support,duplicate\na,a,1,0\n")
    with pytest.raises(RowErrors, match=r"labels\.csv:2: other_id: 'a' is paired with itself"):
        read_pair_labels(file, {"a"})
    file.write_text("item_id,other_id,support,duplicate\na,b,yes,no\n")
    assert read_pair_labels(file, {"a", "b"}) == [
        PairLabel(item_id="a", other_id="b", support=True, duplicate=False, judge="labels")
    ]
    assert len(read_table(file)) == 1


def test_a_majority_of_experts_labels_an_item_and_a_tie_leaves_it_out(tmp_path: Path):
    for name, rows in (("ann", "a,1\nb,1\nc,0\n"), ("bo", "a,1\nb,0\n"), ("cy", "a,0\n")):
        (tmp_path / f"{name}.csv").write_text(f"item_id,aligned\n{rows}")
    files = [tmp_path / f"{name}.csv" for name in ("ann", "bo", "cy")]
    settled = settle_labels(read_item_labels(files, {"a", "b", "c"}))
    assert [(label.item_id, label.aligned) for label in settled.labels] == [("a", True), ("c", False)]
    assert (settled.overlap, settled.disputed) == (2, ("b",))
    compared = {tuple(row["judges"]): row["pairs"] for row in settled.agreement["aligned"]}
    assert compared == {("ann", "bo"): 2, ("ann", "cy"): 1, ("bo", "cy"): 1}


def test_experts_that_agree_by_chance_stop_unless_it_is_allowed():
    rng = np.random.default_rng(0)
    labels = [
        ItemLabel(item_id=f"q{n}", aligned=bool(rng.random() < 0.7), judge=judge)
        for judge in ("ann", "bo")
        for n in range(80)
    ]
    with pytest.raises(Refusal, match="aligned: expert 'ann' agrees with no other better than by chance"):
        settle_labels(labels)
    assert settle_labels(labels, SupportRules(agreement_floor=-1)).overlap == 80


def test_sheets_of_several_experts_share_some_rows_and_deal_out_the_rest():
    rows = [{"item_id": f"q{n:02}"} for n in range(30)]
    sheets = deal_sheet(rows, 3, SupportRules(label_overlap=6), np.random.default_rng(0))
    names = [{row["item_id"] for row in sheet} for sheet in sheets]
    assert [len(sheet) for sheet in sheets] == [14, 14, 14]
    assert names[0] & names[1] == names[0] & names[2] == names[0] & names[1] & names[2]
    assert names[0] | names[1] | names[2] == {row["item_id"] for row in rows}
