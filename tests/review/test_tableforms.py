"""Tables as spreadsheets save them, and dates that are not what they seem."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, KinaError, RowErrors
from kina_review.instants import DateForm, check_instant, find_zone, read_local, to_utc
from kina_review.intake import read_reviews
from kina_review.records import Review
from kina_review.tableforms import TableForm

BERLIN = find_zone("Europe/Berlin")


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    (folder / "t.csv").write_bytes(text.encode(encoding))
    return folder / "t.csv"


def at(value: Any) -> Review:
    return Review.model_validate({"item_id": "i", "reviewer_id": "r", "submitted_at": value})


@pytest.mark.parametrize("value", [46090.5, "46090.5", "46160", 46160, "0", -1, "20260301", "1e9", True])
def test_a_number_that_is_no_time_since_1970_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="instant|day number"):
        at(value)


@pytest.mark.parametrize("value", ["04.05.2026 08:00", "05/04/2026", "4 May 2026", "today", "2026-5-4"])
def test_a_local_date_is_refused_and_the_way_on_is_told(value: str) -> None:
    with pytest.raises(ValueError, match="--dates and the zone"):
        at(value)


@pytest.mark.parametrize("value", [1_772_442_012, "1772442012", 1_772_442_012_000, "2026-03-02T09:00:12Z"])
def test_an_instant_is_read_as_it_stands(value: Any) -> None:
    assert at(value).submitted_at == datetime(2026, 3, 2, 9, 0, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_an_instant_that_utc_cannot_show_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="UTC shows no such year"):
        to_utc(datetime.fromisoformat(text))


def test_a_day_number_names_the_day_it_may_mean() -> None:
    with pytest.raises(ValueError, match="2026-05-18 09:36"):
        check_instant("46160.4")


def test_stated_dates_are_read_in_their_zone() -> None:
    form = DateForm("%d.%m.%Y %H:%M", BERLIN)
    assert at(read_local("04.05.2026 10:00", form)).submitted_at == datetime(2026, 5, 4, 8, tzinfo=UTC)
    excel = DateForm("excel", BERLIN)
    assert at(read_local("46090.5", excel)).submitted_at == datetime(2026, 3, 9, 11, tzinfo=UTC)
    for text, of in (("2026-05-04", form), ("04.05.2026", excel), ("1772442012", excel)):
        with pytest.raises(ValueError, match="form|day number"):
            read_local(text, of)


@pytest.mark.parametrize("text", ["29.03.2026 02:30", "25.10.2026 02:30"])
def test_an_hour_that_the_clocks_skip_or_repeat_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="skipped or shown twice"):
        read_local(text, DateForm("%d.%m.%Y %H:%M", BERLIN))


def test_an_unknown_zone_is_named() -> None:
    for name in ("Europe/Atlantis", "../etc", ""):
        with pytest.raises(ValueError, match="no time zone"):
            find_zone(name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
def test_the_encoding_of_a_spreadsheet_is_detected(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "item_id;reviewer_id;verdict;rationale\r\nq1;ann;accept;schön\r\n", encoding)
    (row,) = read_reviews(path).records
    assert (row.verdict, row.rationale) == ("accept", "schön")


def test_a_guess_never_names_a_person(tmp_path: Path) -> None:
    path = write(tmp_path, "item_id;reviewer_id\nq1;Müller\n", "windows-1252")
    with pytest.raises(RowErrors, match="only guessed"):
        read_reviews(path)
    assert read_reviews(path, TableForm(encoding="cp1252")).records[0].reviewer_id == "Müller"
    with pytest.raises(InputError, match="cannot be read as utf-9"):
        read_reviews(path, TableForm(encoding="utf-9"))


def test_bytes_that_are_no_text_stay_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"item_id,reviewer_id\nq,\xff\x00\x01\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_reviews(tmp_path / "t.csv")
    for data, kind in ((b"%PDF-1.7\nplain\n", "a PDF"), (b"PK\x03\x04", "zip"), (b"\n", "empty")):
        (tmp_path / "t.csv").write_bytes(data)
        with pytest.raises(InputError, match=kind):
            read_reviews(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("cell", "decimal", "score"),
    [("14,5", "", "14.5"), ("0,125", "", "0.125"), ("1,250", ",", "1.25"), ("1,250", "", None),
     ("14,5", ".", None), ("14.5", ",", None), ("1.250,5", ",", None)],
)  # fmt: skip
def test_a_comma_is_a_decimal_one_where_it_can_be_nothing_else(
    tmp_path: Path, cell: str, decimal: Any, score: str | None
) -> None:
    path = write(tmp_path, f"item_id;reviewer_id;review_score\nq1;ann;{cell}\n")
    form = TableForm(decimal=decimal)
    if score is None:
        with pytest.raises(KinaError):
            read_reviews(path, form)
    else:
        assert read_reviews(path, form).records[0].review_score == Decimal(score)


def test_columns_are_mapped_and_a_wrong_map_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "sep=;\r\nFrage;Person;Abgabe\r\nq1;ann;46090,5\r\n")
    names = {"Frage": "item_id", "Person": "reviewer_id", "Abgabe": "submitted_at"}
    (row,) = read_reviews(path, TableForm(columns=names, dates=DateForm("excel", UTC))).records
    assert row.submitted_at == datetime(2026, 3, 9, 12, tzinfo=UTC)
    with pytest.raises(InputError, match="no column 'Nummer'"):
        read_reviews(path, TableForm(columns={"Nummer": "item_id"}))
    with pytest.raises(InputError, match="would both be"):
        read_reviews(path, TableForm(columns={"Frage": "Person"}))
    with pytest.raises(RowErrors, match="t.csv:3"):
        read_reviews(path, TableForm(columns=names))


@pytest.mark.parametrize(("other", "doubtful"), [("14,5", True), ("14.5", False), ("14", False)])
def test_a_point_beside_commas_may_separate_thousands(tmp_path: Path, other: str, doubtful: bool) -> None:
    path = write(tmp_path, f"item_id;reviewer_id;review_score\nk1;p1;1.234\nk1;p2;{other}\nk2;p1;13.5\n")
    if doubtful:
        with pytest.raises(RowErrors, match=r"t.csv:2: '1.234' may be a thousand"):
            read_reviews(path)
        return
    assert read_reviews(path).records[0].review_score == Decimal("1.234")


def test_a_decimal_comma_leaves_the_points_of_dates_alone(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("item_id;reviewer_id;submitted_at;review_score\ni1;ann;01.03.2026 10:00;14,5\n")
    form = TableForm(decimal=",", dates=DateForm("%d.%m.%Y %H:%M", UTC))
    (row,) = read_reviews(path, form).records
    assert (row.submitted_at, row.review_score) == (datetime(2026, 3, 1, 10, tzinfo=UTC), Decimal("14.5"))
