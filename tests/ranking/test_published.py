"""What published figures give away, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from kina_build.errors import InputError, RowErrors
from kina_build.ranking.files.published import (
    Published,
    infer_item_counts,
    rank_published,
    read_published,
    weighted_overall,
)

KINA_ITEMS = 899
COUNTS = {
    "Agr": 40, "Econ": 34, "Edu": 31, "Eng": 308, "Hist": 13, "Law": 65,
    "Arts": 65, "Mgt": 29, "Med": 81, "Phil": 13, "Sci": 201, "Soc": 19,
}  # fmt: skip


@pytest.fixture
def kina_table(shared):
    return read_published(shared / "kina" / "leaderboard.csv")


def test_the_papers_item_counts_come_out_of_its_own_table(kina_table):
    counts = infer_item_counts(kina_table, KINA_ITEMS)
    assert dict(zip(kina_table.disciplines, counts.tolist(), strict=True)) == COUNTS


def test_the_item_weighted_mean_is_the_printed_overall_for_all_42_models(kina_table):
    counts = infer_item_counts(kina_table, KINA_ITEMS)
    gaps = np.abs(weighted_overall(kina_table, counts) - kina_table.overall)
    assert len(gaps) == 42
    assert gaps.max() <= 0.0002


def test_table_7_of_the_top_ten(kina_table):
    spreads = {d.discipline: d.top for d in rank_published(kina_table, KINA_ITEMS).disciplines}
    top = kina_table.by_discipline[:10]
    for column, name in enumerate(kina_table.disciplines):
        assert spreads[name].mean == pytest.approx(top[:, column].mean(), abs=1e-6)
        assert spreads[name].sd == pytest.approx(top[:, column].std(ddof=0), abs=1e-6)
        assert spreads[name].range == pytest.approx(np.ptp(top[:, column]), abs=1e-6)
    # read off the file: GPT-5.4 and Doubao-Seed-2.0-Lite
    assert spreads["Hist"].highest == 0.4231
    assert spreads["Hist"].lowest == 0.1154


def test_small_disciplines_withhold_their_ranks(kina_table):
    found = {d.discipline: d.ranks_withheld for d in rank_published(kina_table, KINA_ITEMS).disciplines}
    assert [name for name, withheld in found.items() if withheld] == ["Hist", "Phil", "Soc"]


def test_published_figures_cannot_tell_the_leader_from_the_second(kina_table):
    board = rank_published(kina_table, KINA_ITEMS)
    first, second = board.standings[:2]
    assert (first.model, second.model) == ("Gemini-3.1-Pro-Preview", "Claude-Opus-4.6")
    assert first.rank == second.rank == 1
    assert board.basis == "published"
    assert {pair.test for pair in board.pairs} == {"unpaired-z"}
    assert board.standings[-1].rank_low > 30


def test_too_few_models_leave_the_counts_open():
    table = Published(("a",), np.array([0.5]), ("x", "y"), np.array([[0.4, 0.6]]))
    assert infer_item_counts(table, 100) is None
    assert rank_published(table, 100).disciplines == ()


def test_a_table_that_is_no_weighted_mean_gives_no_counts():
    rng = np.random.default_rng(0)
    table = Published(tuple("abcd"), rng.random(4), ("x", "y"), rng.random((4, 2)))
    assert infer_item_counts(table, 100) is None


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("name,ALL\na,50\n", InputError, "needs the columns model and ALL"),
        ("model,ALL\na,150\n", RowErrors, "p.csv:2: ALL: 150 is outside 0 to 100"),
        ("model,ALL,Law\na,50,40\nb,50,\n", RowErrors, "p.csv:3: Law: None is not a number"),
        ("model,ALL\na,50\na,60\n", InputError, "more than one row"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, error, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(error, match=message):
        read_published(tmp_path / "p.csv")
