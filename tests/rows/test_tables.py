from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from kina_build.errors import InputError, RowErrors
from kina_build.rows.tables import neutral, parse_csv, read_table, read_typed, write_csv


class Quota(BaseModel):
    stratum: str
    lower: int = 0


def test_values_stay_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,name\n001,NA\n1E5,None\n")
    assert [row.values for row in read_table(tmp_path / "t.csv")] == [
        {"id": "001", "name": "NA"},
        {"id": "1E5", "name": "None"},
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_tells_the_delimiter(delimiter: str) -> None:
    text = f"a{delimiter}b\n1{delimiter}2\n"
    assert parse_csv(text, "t")[0].values == {"a": "1", "b": "2"}


def test_json_lines_and_csv_give_the_same_records(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("stratum,lower\nlaw,2\nart,\n")
    (tmp_path / "q.jsonl").write_text('{"stratum": "law", "lower": 2}\n{"stratum": "art"}\n')
    assert read_typed(tmp_path / "q.csv", Quota) == read_typed(tmp_path / "q.jsonl", Quota)


def test_faults_count_lines_as_an_editor_does(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text('stratum,lower\n"two\nlines",1\nlaw,many\nart,1,2\n')
    with pytest.raises(RowErrors, match=r"q.csv:5: 3 cells but 2 columns"):
        read_typed(tmp_path / "q.csv", Quota)
    (tmp_path / "q.csv").write_text('stratum,lower\n"two\nlines",1\nlaw,many\n')
    with pytest.raises(RowErrors, match=r"q.csv:4: lower: Input should be a valid integer") as caught:
        read_typed(tmp_path / "q.csv", Quota)
    assert caught.value.hint == "needed columns: stratum"


def test_headers_alone_and_repeated_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("stratum,lower\n")
    with pytest.raises(InputError, match="no rows below the header"):
        read_typed(tmp_path / "q.csv", Quota)
    with pytest.raises(InputError, match="'a' stands more than once"):
        parse_csv("a,a\n1,2\n", "t")


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1), min_size=1
    )
)
def test_any_text_survives_a_round_trip_but_formulas(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_csv(path, ["id", "name"], [{"id": str(i), "name": name} for i, name in enumerate(names)])
        assert [row.values["name"] for row in read_table(path)] == [neutral(name) for name in names]


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_formulas_are_neutralised(cell: str) -> None:
    assert neutral(cell) == "'" + cell
    assert neutral(-1) == -1


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\r\n")
    assert read_table(tmp_path / "t.csv") == []
