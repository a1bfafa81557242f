"""Every public fault case of selection, through the command line; one check a case, by id."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.conftest import fault_cases

Kina = Callable[..., Result]
Row = Mapping[str, Any]


def write_rows(path: Path, rows: Iterable[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_case(given: Row) -> list[Any]:
    """Write a case's support, weights and constraints; return the options that name them."""
    support = given["support"]
    pairs = [(item, anchor, score) for item, row in support.items() for anchor, score in row.items()]
    scores = [{"item_id": i, "anchor_id": u, "score": s} for i, u, s in pairs]
    weights = [{"anchor_id": anchor, "weight": weight} for anchor, weight in given["weights"].items()]
    options: list[Any] = ["--support", write_rows(Path("s.jsonl"), scores)]
    options += ["--anchors", write_rows(Path("a.jsonl"), weights)]
    if "groups" in given:
        rows = [{"item_id": item, "stratum": group} for item, group in given["groups"].items()]
        options += ["--strata", write_rows(Path("strata.jsonl"), rows)]
    if "quota" in given:
        rows = [{"stratum": name, "lower": n, "upper": n} for name, n in given["quota"].items()]
        options += ["--quota", write_rows(Path("quota.jsonl"), rows)]
    if "conflicts" in given:
        rows = [{"item_id": one, "other_id": other} for one, other in given["conflicts"]]
        options += ["--conflicts", write_rows(Path("conflicts.jsonl"), rows)]
    if "must_include" in given:
        rows = [{"item_id": item} for item in given["must_include"]]
        options += ["--must", write_rows(Path("must.jsonl"), rows)]
    return options


def report_of(result: Result, code: int = 0) -> Any:
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def conflict_shortfall(kina: Kina, given: Row, expected: Row) -> None:
    options = ["select", *write_case(given), "-k", sum(given["quota"].values()), "--json", "-o", "out.json"]
    refused = report_of(kina(*options), 1)
    assert refused["status"] == "infeasible"
    assert refused["strata"] == expected["shortfall"]
    assert refused["clusters"] == {"g": [["p", "q"]]}
    assert not Path("out.json").exists()
    partial = report_of(kina(*options, "--allow-shortfall"))
    assert sorted(partial["item_ids"]) == expected["selected"]
    assert partial["shortfall"] == expected["shortfall"]
    assert partial["certificate"]["guarantee"]["theorem"] == "none"


def must_include(kina: Kina, given: Row, expected: Row) -> None:
    report = report_of(kina("select", *write_case(given), "-k", given["K"], "--json"))
    assert report["item_ids"] == expected["selected"]
    assert len(report["item_ids"]) == expected["n"]
    assert report["objective"] == pytest.approx(expected["value"])


def posthoc_bound(kina: Kina, given: Row, expected: Row) -> None:
    files = write_case(given)
    report = report_of(kina("select", *files, "-k", given["K"], "-o", "selection.json", "--json"))
    assert report["item_ids"] == expected["greedy"]
    assert report["gains"] == pytest.approx(expected["gains"])
    assert report["objective"] == pytest.approx(expected["value"])
    assert report["certificate"]["upper_bound"] == pytest.approx(expected["upper_bound"])
    assert report["certificate"]["ratio"] == pytest.approx(expected["certified_ratio"], abs=1e-6)
    assert report["certificate"]["method"] == "online"
    assert expected["optimum_value"] <= report["certificate"]["tightest"]["upper_bound"] <= 5.31
    exact = report_of(kina("certify", "selection.json", *files, "--exact", "--json"))["exact"]
    assert exact["optimum"] == pytest.approx(expected["optimum_value"])
    assert exact["true_ratio"] == pytest.approx(expected["value"] / expected["optimum_value"])
    assert exact["proven"]


def prefix_slice(kina: Kina, given: Row, expected: Row) -> None:
    option = {"key": "A", "answer": "yes"}
    items = [
        {"item_id": f"q{i:02}", "field": field, "question": "?", "options": [option], "correct_answer": "A"}
        for i, field in enumerate(given["file_order"])
    ]
    pool = write_rows(Path("pool.jsonl"), items)
    budget = report_of(kina("budget", pool, "--total", given["limit"], "-o", "budget.jsonl", "--json"))
    assert budget["k"] == expected["per_field"]
    scores = [{"item_id": item["item_id"], "anchor_id": "u", "score": 0.5} for item in items]
    files = ["--support", write_rows(Path("s.jsonl"), scores)]
    files += ["--anchors", write_rows(Path("a.jsonl"), [{"anchor_id": "u", "weight": 1}])]
    report = report_of(kina("select", *files, "--strata", pool, "--quota", "budget.jsonl", "--json"))
    fields = {item["item_id"]: item["field"] for item in items}
    taken = [fields[item_id] for item_id in report["item_ids"]]
    assert {field: taken.count(field) for field in taken} == expected["per_field"]


def quota_rounding(kina: Kina, given: Row, expected: Row) -> None:
    from kina_build.selection.sharing.draw import apportion

    shares = apportion(given["K"], given["shares"])
    assert shares == expected["quota"]
    assert sum(shares.values()) == expected["sum"]


def quota_supply(kina: Kina, given: Row, expected: Row) -> None:
    groups = {f"{name}{i:02}": name for name, count in given["pool"].items() for i in range(count)}
    case = {"support": {item: {"u": 0.5} for item in groups}, "weights": {"u": 1.0}, "groups": groups}
    options = ["select", *write_case({**case, "quota": given["quota"]}), "-k", 10, "--json"]
    refused = report_of(kina(*options), 1)
    assert refused["strata"] == expected["either"][0]["shortfall"]
    partial = report_of(kina(*options, "--allow-shortfall"))
    taken = [groups[item] for item in partial["item_ids"]]
    assert {name: taken.count(name) for name in taken} == expected["either"][0]["selected_per_field"]
    assert partial["shortfall"] == expected["either"][0]["shortfall"]


def tie_order(kina: Kina, given: Row, expected: Row) -> None:
    written = set()
    for rows in itertools.permutations(given["support_rows"]):
        files = write_case({"support": dict(rows), "weights": given["weights"]})
        report = report_of(kina("select", *files, "-k", given["K"], "-o", "out.json", "--force", "--json"))
        assert report["item_ids"] == expected["selected"]
        written.add(Path("out.json").read_bytes())
    assert len(written) == 1


def zero_gain(kina: Kina, given: Row, expected: Row) -> None:
    options = ["select", *write_case(given), "-k", given["K"], "--json"]
    folded = report_of(kina(*options))
    assert folded["item_ids"] == ["q1", "q2", "q3", "q4"]
    assert folded["coverage"]["objective"] == expected["value"]
    report = report_of(kina(*options, "--folds", 1))
    assert report["item_ids"][:2] == expected["selected_first_two"]
    assert len(set(report["item_ids"])) == expected["n_distinct"]
    assert report["gains"] == expected["gains"]
    assert report["objective"] == expected["value"]
    assert report["zero_gain_picks"] == expected["zero_gain_picks"]
    # among zero gains the larger support alone goes first; here that is the lowest id too
    assert report["item_ids"][2:] == ["q3", "q4"]


def support_range(kina: Kina, given: Row, expected: Row) -> None:
    text = given["csv"].replace("item,anchor,support", "item_id,anchor_id,score")
    Path("s.csv").write_text(text, encoding="utf-8")
    write_rows(Path("a.jsonl"), [{"anchor_id": "u1", "weight": 1}, {"anchor_id": "u2", "weight": 1}])
    result = kina("select", "--support", "s.csv", "--anchors", "a.jsonl", "-k", 1, "-o", "out.json")
    assert result.exit_code == 2
    assert "s.csv:2" not in result.output
    assert "s.csv:3: score: 7 is outside [0, 1] (q1, u2)" in result.output
    assert "s.csv:4: score: '0,8' is not a number" in result.output
    assert "s.csv:5: score: missing" in result.output
    assert not Path("out.json").exists()


CHECKS = {
    "anc-support-range": support_range,
    "sel-conflict-shortfall": conflict_shortfall,
    "sel-must-include": must_include,
    "sel-posthoc-bound": posthoc_bound,
    "sel-prefix-slice": prefix_slice,
    "sel-quota-rounding": quota_rounding,
    "sel-quota-supply": quota_supply,
    "sel-tie-order": tie_order,
    "sel-zero-gain": zero_gain,
}


@pytest.mark.parametrize("case", fault_cases("select"))
def test_public_selection_faults(case: Row, kina: Kina) -> None:
    CHECKS[case["id"]](kina, case["input"], case["expected"])


@pytest.mark.parametrize("case", [c for c in fault_cases("anchors") if c.id in {*CHECKS, "absent"}])
def test_public_faults_of_score_files(case: Row, kina: Kina) -> None:
    CHECKS[case["id"]](kina, case["input"], case["expected"])
