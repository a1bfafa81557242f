from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kina_build.errors import InputError, KinaError, UsageError
from kina_build.items.importing.files import Layout, Pool, read_all, read_items, read_raw
from tests.conftest import QUIET, SHARED


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Pool]:
    """Return a way to import a text: read("a.csv", "question,A,B,answer\\n...", encoding=...)."""

    def make(name: str, text: str | bytes, **told: Any) -> Pool:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_items(path, Layout(**told))

    return make


Read = Callable[..., Pool]


def keys(result: Pool) -> list[str]:
    return [item.correct_answer for item in result.items]


def reasons(result: Pool) -> list[tuple[int, str]]:
    return [(reject.line, reject.reason) for reject in result.rejects]


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_header_less_files_of_question_options_letter(read: Read) -> None:
    result = read("a.csv", "2+2?,3,4,5,6,B\n1+1?,2,3,4,5,A\n")
    assert result.detected["header"] is False
    assert keys(result) == ["B", "A"]


def test_the_same_rows_in_any_order_give_the_same_items(read: Read) -> None:
    rows = [{"question": "Q?", "options": ["x", "y"], "answer": "A", "note": n} for n in (1, 2)]
    rows.append({"question": "R?", "options": ["x", "y"], "answer": "B", "note": 3})
    forth, back = read("a.jsonl", lines(*rows)), read("b.jsonl", lines(*reversed(rows)))
    assert sorted(forth.items, key=lambda i: i.item_id) == sorted(back.items, key=lambda i: i.item_id)
    assert len({item.item_id for item in forth.items}) == 3


def test_an_id_on_different_rows_is_refused_on_all_of_them(read: Read) -> None:
    row = {"id": "a", "question": "Q?", "options": ["x", "y"], "answer": "A"}
    result = read("a.jsonl", lines(row, {**row, "question": "R?"}, {**row, "id": "b"}))
    assert [item.item_id for item in result.items] == ["b"]
    assert reasons(result) == [(1, "id_repeated"), (2, "id_repeated")]


def test_a_row_that_stands_twice_is_kept_once(read: Read) -> None:
    row = {"id": "a", "question": "Q?", "options": ["x", "y"], "answer": "A"}
    result = read("a.jsonl", lines(row, row))
    assert len(result.items) == 1
    assert reasons(result) == [(2, "row_repeated")]


def test_an_index_base_that_nothing_decides_is_refused(read: Read) -> None:
    text = lines({"question": "Q?", "options": ["w", "x", "y", "z"], "answer": 2})
    with pytest.raises(InputError, match="from 0 or from 1"):
        read("a.jsonl", text)
    assert keys(read("a.jsonl", text, key_form="index0")) == ["C"]
    assert keys(read("a.jsonl", text, key_form="index1")) == ["B"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0, 3], ["A", "D"]), ([1, 4], ["A", "D"]), (["0", "2"], ["A", "C"]), (["w", "z"], ["A", "D"]),
     (["(B)", "c."], ["B", "C"]), ([["D"], "A"], ["D", "A"]), ([[0, 0, 1, 0], [1, 0, 0, 0]], ["C", "A"])],
)  # fmt: skip
def test_forms_of_keys(read: Read, values: list[Any], expected: list[str]) -> None:
    rows = [{"question": f"{n}?", "options": ["w", "x", "y", "z"], "answer": v} for n, v in enumerate(values)]
    assert keys(read("a.jsonl", lines(*rows))) == expected


def test_an_index_beside_letters_takes_the_base_that_agrees(read: Read) -> None:
    options = ["w", "x", "y", "z"]
    rows = [{"question": f"{n}?", "options": options, "answer": a, "answer_index": i}
            for n, (a, i) in enumerate([("B", 1), ("C", 2), ("D", 2)])]  # fmt: skip
    result = read("a.jsonl", lines(*rows))
    assert keys(result) == ["B", "C"]
    assert reasons(result) == [(3, "answer_fields_disagree")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [('{"question": "Q?", "question": "R?"}', "json_repeated_key"), ('{"a": NaN}', "json_not_finite"),
     ('{"a": "\\ud800"}', "lone_surrogate"), ("[1]", "json_not_object"),
     ('{"a": "x', "json_unterminated_string"),
     ('{"question": null, "options": ["x", "y"], "answer": "A"}', "no_question"),
     ('{"question": "Q?", "options": null, "answer": "4"}', "no_options"),
     ('{"question": "Q?", "options": ["x", "y"], "answer": null}', "no_key"),
     ('{"question": "Q?", "options": "x or y", "answer": "A"}', "options_unparsed"),
     ('{"question": "Q?", "options": "[\'a\' \'b\']", "answer": "A"}', "options_unparsed"),
     ('{"question": "Q?", "options": "[__import__(\'os\')]", "answer": "A"}', "options_unparsed"),
     ('{"question": "Q?", "options": {"text": ["x", "y"], "label": ["A"]}, "answer": "A"}',
      "labels_texts_length_mismatch")],
)  # fmt: skip
def test_rows_that_are_refused_one_by_one(read: Read, line: str, reason: str) -> None:
    good = lines({"question": "Good?", "options": ["x", "y"], "answer": "B"})
    result = read("a.jsonl", good + line + "\n" + good.replace("Good", "Also good"))
    assert len(result.items) == 2
    assert reasons(result) == [(2, reason)]


def test_csv_rows_that_are_refused_one_by_one(read: Read) -> None:
    text = 'question,A,B,answer\nQ?,x,y,A\nR?,x,y,z,A\nS?,x,A\n"T?"t,x,y,A\n,,,\nU?,x,y,B\n'
    result = read("a.csv", text)
    assert keys(result) == ["A", "B"]
    assert reasons(result) == [(3, "too_many_cells"), (4, "too_few_cells"), (5, "csv_bad_quoting")]
    assert result.detected["files"][0]["blank_rows"] == 1


def test_a_json_document_with_a_canary_and_lines(read: Read) -> None:
    one = '{"input": "Q?\\nOptions:\\n(A) x\\n(B) y", "target": "(B)"}'
    text = '{"canary": "c-1",\n "examples": [\n  ' + one + ',\n  {"input": "R?", "target": "4"}]}'
    result = read("a.json", text)
    assert result.items[0].question == "Q?"
    assert result.items[0].metadata == {"canary": "c-1"}
    assert keys(result) == ["B"]
    assert reasons(result) == [(4, "no_options")]


KINA = {
    "index": 0, "discipline": "Science / Physics / Optics", "question": "Q?", "correct_answer": "B",
    "options": [{"key": "A", "answer": "x", "explanation": "no"}, {"key": "B", "answer": "y", "source": "s"}],
    "question_source": "own", "question_material": "",
}  # fmt: skip


def test_released_kina_rows(read: Read) -> None:
    item = read("KINA.json", json.dumps([KINA])).items[0]
    assert (item.item_id, item.path, item.correct_text) == ("0", ("Science", "Physics", "Optics"), "y")
    assert (item.options[0].explanation, item.options[1].source) == ("no", "s")


def test_platform_rows_with_options_by_letter(read: Read) -> None:
    options = {"A": {"id": "A", "answer": "x", "explanation": "no"}, "B": {"id": "B", "answer": "y"}}
    wrapped = {
        "data": {"id": 7, "question": "Q?", "options": options, "ground_truth": "B", "category": "Optics"}
    }
    item = read("export.json", json.dumps([wrapped])).items[0]
    assert (item.item_id, item.discipline, item.correct_text) == ("7", "Optics", "y")
    assert item.options[0].explanation == "no"


def test_columns_constants_and_file_names(tmp_path: Path) -> None:
    path = tmp_path / "mmlu_law.csv"
    path.write_text("frage;a1;a2;loesung;rest\nQ?;x;y;2;r\nR?;x;y;1;\n", encoding="utf-8")
    source = Layout(
        columns={"stem": "frage", "options": "a1,a2", "key": "loesung"},
        constants={"field": "law", "metadata.batch": "7"},
        name_as="subfield",
        cut_prefix="mmlu_",
    )
    first, second = read_items(path, source).items
    assert (first.question, first.field, first.subfield, first.correct_text) == ("Q?", "law", "law", "y")
    assert first.metadata == {"rest": "r", "batch": "7"}
    assert second.metadata == {"batch": "7"}


@pytest.mark.parametrize("columns", [{"quetion": "a"}, {"question": "nowhere"}])
def test_a_mapping_that_cannot_be(read: Read, columns: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        read("a.jsonl", lines({"a": "Q?", "options": ["x", "y"], "answer": "A"}), columns=columns)


def test_files_that_number_alike_get_prefixed_ids(tmp_path: Path) -> None:
    for name in ("en", "eu"):
        row = {"id": 1, "question": f"Q {name}?", "options": ["x", "y"], "answer": "A"}
        (tmp_path / f"{name}.jsonl").write_text(lines(row), encoding="utf-8")
    paths = [tmp_path / "en.jsonl", tmp_path / "eu.jsonl"]
    assert {r.reason for r in read_all(paths).rejects} == {"id_repeated"}
    assert [i.item_id for i in read_all(paths, Layout(prefix_ids=True)).items] == ["en:1", "eu:1"]


def test_parquet_and_a_dataset_folder(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "set"
    (folder / "data").mkdir(parents=True)
    rows = {
        "question": ["Q?", "R?"],
        "choices": [["None", "NA"], ["001", "nan"]],
        "answer": [0, 1],
        "x": [b"\x00", None],
    }
    pq.write_table(pa.table(rows), folder / "data" / "test-00000-of-00001.parquet")
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")
    result = read_items(folder)
    assert [[o.answer for o in item.options] for item in result.items] == [["None", "NA"], ["001", "nan"]]
    assert keys(result) == ["A", "B"]


def test_arrow_files_as_datasets_saves_them(tmp_path: Path) -> None:
    import pyarrow as pa

    table = pa.table({"question": ["Q?"], "options": [["x", "y"]], "answer": ["B"]})
    path = tmp_path / "data-00000-of-00001.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert keys(read_items(tmp_path)) == ["B"]


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "utf-32"])
def test_marked_encodings_need_no_flag(read: Read, codec: str) -> None:
    result = read("a.csv", "question,A,B,answer\n“Q”?,é,ü,A\n".encode(codec))
    assert result.items[0].question == "“Q”?"
    assert [o.answer for o in result.items[0].options] == ["é", "ü"]


@pytest.mark.parametrize("text", [b"", b"   \n", b"\xef\xbb\xbf"])
def test_empty_files(read: Read, text: bytes) -> None:
    with pytest.raises(InputError, match="empty"):
        read("a.jsonl", text)


CELL = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 40), st.floats(allow_nan=False), st.text(max_size=12)
)
VALUE = st.one_of(CELL, st.lists(CELL, max_size=5), st.dictionaries(st.text(max_size=4), CELL, max_size=4))
NAMES = "id answer answer_index label labels A B names ids metadata passage error_type"
ROW = st.one_of(
    st.dictionaries(st.sampled_from(["question", "options", *NAMES.split()]), VALUE, max_size=8),
    st.fixed_dictionaries(
        {"question": st.text(max_size=9), "options": st.lists(st.text(max_size=5), max_size=5)},
        optional=dict.fromkeys(NAMES.split(), VALUE),
    ),
)


@settings(max_examples=150, suppress_health_check=[*QUIET, HealthCheck.function_scoped_fixture])
@given(st.lists(ROW, min_size=1, max_size=6))
def test_rows_in_are_items_and_rejects(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "fuzz.jsonl"
    path.write_text(lines(*rows), encoding="utf-8")
    try:
        result = read_items(path)
    except KinaError:
        return
    assert len(result.items) + len(result.rejects) == len(rows)
    assert len({item.item_id for item in result.items}) == len(result.items)


@settings(max_examples=100)
@given(
    st.binary(max_size=300), st.sampled_from([".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow", ""])
)
def test_any_bytes_are_read_or_refused(raw: bytes, suffix: str) -> None:
    try:
        file = read_raw(raw, "fuzz", suffix)
    except KinaError:
        return
    assert all(row.line >= 1 for row in file.rows)


REAL = ("mcq/mmlu_redux/mmlu_anatomy.csv", "mcq/agieval/gaokao-physics.jsonl", "mcq/bbh/snarks.json")


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_real_files_with_flipped_bytes(name: str, tmp_path: Path) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"the public corpora are not at {SHARED}")
    whole = (SHARED / name).read_bytes()[:20_000]
    rng = random.Random(7)
    path = tmp_path / Path(name).name
    read = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.choice(b'",;{}[]\\\n\x00\xff\x85A1')
        path.write_bytes(bytes(damaged))
        try:
            result = read_items(path, Layout(columns={"correct_answer": "answer"} if "redux" in name else {}))
        except KinaError:
            continue
        read += 1
        assert all(reject.line >= 1 and reject.reason for reject in result.rejects)
    assert read or name.endswith("json")


def test_progress_goes_through_the_rows_of_each_file(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "question": f"{n}?", "options": ["x", "y"], "answer": "A"} for n in range(1200)]
    for name, some in (("a.jsonl", rows[:1000]), ("b.jsonl", rows[1000:])):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in some))
    told: list[tuple[int, int]] = []
    read_all([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], on_progress=lambda *step: told.append(step))
    assert told == [(0, 200), (50, 200), (100, 200), (200, 200)]
