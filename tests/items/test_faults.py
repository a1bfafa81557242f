"""The public fault cases of import and check, each by its id."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError
from kina_build.items.checking.lint import check as check_pool
from kina_build.items.checking.rule import Finding
from kina_build.items.findings import check_rejects
from kina_build.items.importing.assemble import check_pairs
from kina_build.items.importing.files import Layout, Pool, read_items
from kina_build.items.importing.keycolumns import read_verdict
from kina_build.items.importing.optioncells import read_options
from kina_build.items.importing.rawfile import RawRow, RowRefused
from tests.conftest import fault_cases

Case = Mapping[str, Any]


def put(folder: Path, given: Mapping[str, Any]) -> Path:
    """Write a case's file."""
    path = folder / f"case.{given.get('format', 'jsonl')}"
    path.write_bytes(base64.b64decode(given["base64"]) if "base64" in given else given["text"].encode())
    return path


def read_rows(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Pool:
    """Import rows by way of a JSON Lines file."""
    path = folder / "case.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_items(path)


def texts(result: Pool) -> list[list[str]]:
    return [
        [option.answer for option in item.options] for item in sorted(result.items, key=lambda i: i.item_id)
    ]


def reasons(result: Pool) -> dict[str | None, str]:
    return {reject.item_id: reject.reason for reject in result.rejects}


def file_rejects(given: Case, expected: Case, folder: Path) -> None:
    result = read_items(put(folder, given))
    assert [item.item_id for item in result.items] == expected["imported_ids"]
    assert [{"line": r.line, "reason": r.reason} for r in result.rejects] == expected["rejected"]


def bom(given: Case, expected: Case, folder: Path) -> None:
    result = read_items(put(folder, given))
    assert [item.item_id for item in result.items] == [expected["id"]]
    assert result.detected["columns"] == expected["columns"]


def cut_names(given: Case, expected: Case, folder: Path) -> None:
    with pytest.raises(RowRefused) as caught:
        check_pairs(RawRow(1, given["row"]))
    assert caught.value.reason == expected["error"]
    assert caught.value.evidence == {name: expected[name] for name in ("names", "ids", "suggestion")}
    assert [r.reason for r in read_rows(folder, [given["row"]]).rejects] == [expected["error"]]


def digit_labels(given: Case, expected: Case, folder: Path) -> None:
    result = read_rows(folder, [{"question": f"Which is {row['id']}?", **row} for row in given["rows"]])
    assert {item.item_id: item.correct_answer for item in result.items} == expected["correct_answer"]
    assert {item.item_id: item.correct_text for item in result.items} == expected["correct_text"]


def extra_options(given: Case, expected: Case, folder: Path) -> None:
    result = read_rows(folder, [given["item"]])
    assert [r.reason for r in result.rejects] == [expected["flag"]]
    assert result.rejects[0].evidence["extra_positions"] == expected["extra_positions"]
    assert not result.items


def key_shapes(given: Case, expected: Case, folder: Path) -> None:
    rows = [
        {"question": f"{r['id']}?", "options": ["w", "x", "y", "z"][: given["options"]], **r}
        for r in given["rows"]
    ]
    result = read_rows(folder, rows)
    parsed = {item.item_id: [item.correct_answer] for item in result.items}
    parsed |= {str(reject.item_id): reject.evidence["keys"] for reject in result.rejects}
    assert parsed == expected["parsed"]
    assert reasons(result) == expected["errors"]


def option_list(given: Case, expected: Case, folder: Path) -> None:
    assert list(read_options(given["options"]).texts) == expected["option_texts"]


def option_string(given: Case, expected: Case, folder: Path) -> None:
    assert {"option_texts": list(read_options(given["text"]).texts)} in expected["either"]


def file_texts(given: Case, expected: Case, folder: Path) -> None:
    result = read_items(put(folder, given))
    wanted = expected["option_texts"]
    assert texts(result) == (wanted if isinstance(wanted[0], list) else [wanted])
    assert not result.rejects
    if "correct_answer" in expected:
        assert [item.correct_answer for item in result.items] == [expected["correct_answer"]]


def mac_roman(given: Case, expected: Case, folder: Path) -> None:
    path = put(folder, given)
    with pytest.raises(InputError, match=rf"{expected['error']}: byte {expected['byte_offset']} ") as caught:
        read_items(path)
    assert not any(bad in caught.value.message + caught.value.hint for bad in expected["must_not_contain"])
    named = expected["with_encoding_mac_roman"]
    result = read_items(path, Layout(encoding="mac-roman"))
    assert len(result.items) == named["items"]
    assert result.items[0].options[0].answer == named["option_A"]


def literal(given: Case, expected: Case, folder: Path) -> None:
    result = read_rows(folder, [given["row"]])
    assert texts(result) == [expected["option_texts"]]
    assert result.items[0].correct_text == expected["correct_text"]


def semicolon(given: Case, expected: Case, folder: Path) -> None:
    result = read_items(put(folder, given))
    assert [len(item.options) for item in result.items] == expected["options_per_item"]
    assert result.detected["delimiter"] == expected["detected_delimiter"]


IMPORTS: dict[str, Callable[[Case, Case, Path], None]] = {
    "imp-bad-escape": file_rejects,
    "imp-bom-header": bom,
    "imp-comma-split-entities": cut_names,
    "imp-digit-labels": digit_labels,
    "imp-explanation-as-option": extra_options,
    "imp-key-shapes": key_shapes,
    "imp-label-prefix": option_list,
    "imp-na-country": file_texts,
    "imp-none-string": file_texts,
    "imp-one-file-macroman": mac_roman,
    "imp-options-in-one-string": option_string,
    "imp-options-literal": literal,
    "imp-semicolon": semicolon,
}


@pytest.mark.parametrize("case", fault_cases("import"))
def test_import_case(case: Case, tmp_path: Path) -> None:
    IMPORTS[case["id"]](case["input"], case["expected"], tmp_path)


def rows_of(given: Case) -> list[Mapping[str, Any]]:
    """Return a validate case's items; a list of keys becomes items of its own."""
    if "keys" in given:
        options = ["w", "x", "y", "z"][: given["n_options"]]
        return [{"id": f"k{n}", "question": f"Toy {n}?", "options": options, "answer": key}
                for n, key in enumerate(given["keys"])]  # fmt: skip
    return list(given["items"]) if "items" in given else [given["item"]]


def check(given: Case, folder: Path) -> tuple[Pool, list[Finding]]:
    result = read_rows(folder, rows_of(given))
    return result, [*check_rejects(result.rejects), *check_pool(result.items)]


@pytest.mark.parametrize("case", fault_cases("validate"))
def test_validate_case(case: Case, tmp_path: Path) -> None:
    expected = case["expected"]
    result, findings = check(case["input"], tmp_path)
    found = {(finding.item_id, finding.rule): finding for finding in findings}
    for severity in ("error", "warning"):
        for item_id, rule in expected.get(f"{severity}s", {}).items():
            assert found[item_id, rule].severity == severity
    for item_id in (*expected.get("ok", ()), *expected.get("not_flagged", ())):
        assert not [finding for finding in findings if finding.item_id == item_id]
    for item_id, text in expected.get("suggestion", {}).items():
        assert found[item_id, expected["errors"][item_id]].evidence["suggestion"] == text
    if "dataset_alarm" in expected:
        evidence = found["*", expected["dataset_alarm"]].evidence
        figures = {name: value for name, value in expected.items() if name != "dataset_alarm"}
        assert {name: evidence[name] for name in figures} == {
            name: pytest.approx(value, rel=1e-4) if isinstance(value, float) else value
            for name, value in figures.items()
        }
    if "error" in expected:
        finding = found[case["input"]["item"]["id"], expected["error"]]
        assert finding.evidence == {"candidates": expected["candidates"], "chosen": expected["chosen"]}
    if "equal_positions" in expected:
        assert next(iter(found.values())).evidence["equal_positions"] == expected["equal_positions"]
    if "correct_text" in expected:
        assert result.items[0].correct_text == expected["correct_text"]
    if "pd1" in expected:
        assert set(found) == {("pd1", expected["pd1"]["reason"])}


STATUS_WORDS = [case for case in fault_cases("review") if case.id in ("rev-status-words", "absent")]


@pytest.mark.parametrize("case", STATUS_WORDS)
def test_status_words_case(case: Case) -> None:
    assert [read_verdict(word) for word in case["input"]["values"]] == case["expected"]["canonical"]
    with pytest.raises(RowRefused, match="none of"):
        read_verdict("fine by me")


def test_an_unknown_verdict_is_refused_with_its_row(tmp_path: Path) -> None:
    row = {"id": "a", "question": "Which?", "options": ["x", "y"], "answer": "A", "error_type": "Ok "}
    result = read_rows(tmp_path, [row, {**row, "id": "b", "error_type": "meh"}])
    assert [item.metadata["verdict"] for item in result.items] == ["ok"]
    assert [(reject.line, reject.reason) for reject in result.rejects] == [(2, "unknown_verdict")]
