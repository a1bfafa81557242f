from __future__ import annotations

import json
from pathlib import Path

from kina_build.items.pool import write_pool

ANN = """anchor_id,domain,kind,statement,stratum,weight
a1,Law,concept,Good faith,Civil,2
a2,Law,method,Analogy,Civil,
"""
BOB = "domain,kind,statement,stratum\nLaw,concept,good faith,Civil\nLaw,theorem,Nulla poena,Penal\n"


def test_two_lists_are_merged_weighed_and_written(kina, tmp_path: Path):
    (tmp_path / "ann.csv").write_text(ANN)
    (tmp_path / "bob.csv").write_text(BOB)
    result = kina("anchors", "ann.csv", "bob.csv", "-o", "anchors.jsonl", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert (report["anchors"], report["experts"]) == (3, ["ann", "bob"])
    assert report["named_by"]["a1"] == ["ann", "bob"]
    rows = [json.loads(line) for line in (tmp_path / "anchors.jsonl").read_text().splitlines()]
    weights = {row["statement"]: round(row["weight"], 6) for row in rows}
    assert weights == {"Good faith": 0.3, "Analogy": 0.2, "Nulla poena": 0.5}
    assert "up to date" in kina("anchors", "ann.csv", "bob.csv", "-o", "anchors.jsonl").stderr


def test_a_worksheet_is_handed_out_and_read_back(kina, tmp_path: Path, make_item):
    write_pool(tmp_path / "pool.jsonl", [make_item("q1", field="Law", subfield="Civil")])
    assert kina("anchors", "--pool", "pool.jsonl", "--worksheet", "sheet.csv").exit_code == 0
    sheet = (tmp_path / "sheet.csv").read_text()
    assert sheet.splitlines()[1] == ",Law,method,,Civil,,"
    filled = sheet.replace(",Law,method,,Civil,,", ",Law,method,Analogy,Civil,,")
    (tmp_path / "ann.csv").write_text(filled)
    report = json.loads(kina("anchors", "ann.csv", "--pool", "pool.jsonl", "-o", "a.jsonl", "--json").stdout)
    assert (report["anchors"], report["by_kind"]) == (1, {"method": 1})
    assert [f["rule"] for f in report["findings"]] == ["empty_kind"]


def test_what_cannot_be_used_is_said_in_one_line(kina, tmp_path: Path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.csv").write_text('kind,statement,weight\nconcept,Mass,"0,8"\n')
    assert kina("anchors").exit_code == 2
    missing, empty, bad = (kina("anchors", name) for name in ("no.csv", "empty.csv", "bad.csv"))
    assert [r.exit_code for r in (missing, empty, bad)] == [2, 2, 2]
    assert missing.stderr.startswith("error: no.csv: no such file")
    assert empty.stderr.startswith("error: empty.csv: the file is empty")
    assert bad.stderr.startswith("error: bad.csv:2: weight: Input should be a valid number")


def test_two_files_of_one_name_are_not_one_expert(kina, tmp_path: Path):
    for folder, expert in (("x", ""), ("y", ""), ("z", "cy")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ann.csv").write_text(f"domain,statement,expert\nlaw,torts,{expert}\n")
    refused = kina("anchors", "x/ann.csv", "y/ann.csv", "-o", "a.jsonl")
    assert refused.exit_code == 2
    assert "y/ann.csv: its expert would be 'ann', as that of x/ann.csv" in refused.stderr
    assert kina("anchors", "x/ann.csv", "z/ann.csv", "--min-experts", "2", "-o", "a.jsonl").exit_code == 0
