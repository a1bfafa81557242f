"""kina select, certify and budget as people run them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Kina = Callable[..., Result]
FILES = ("--support", "s.csv", "--anchors", "a.csv")


@pytest.fixture
def world(kina: Kina) -> Kina:
    """Write six items of two fields, three subfields, and three anchors."""
    scores = "a1,u,1\na1,v,0.2\na2,u,0.9\na2,v,0.5\na3,w,0.3\nb1,v,0.8\nb2,w,0.7\nb3,w,0.6\nb3,u,0.1\n"
    Path("s.csv").write_text("item_id,anchor_id,score\n" + scores)
    Path("a.csv").write_text("anchor_id,weight\nu,3\nv,2\nw,1\n")
    fields = {"a1": ("art", "jazz"), "a2": ("art", "jazz"), "a3": ("art", "film")}
    fields |= dict.fromkeys(("b1", "b2", "b3"), ("law", "tax"))
    rows = [{"item_id": i, "field": field, "subfield": sub} for i, (field, sub) in fields.items()]
    Path("pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return kina


def report(result: Result, code: int = 0) -> Any:
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_select_prints_the_promised_keys_and_writes_the_same_set(world: Kina) -> None:
    found = report(world("select", *FILES, "-k", 3, "-o", "selection.json", "--json"))
    assert set(found) >= {"item_ids", "gains", "objective", "zero_gain_picks", "certificate"}
    assert set(found["certificate"]) >= {"upper_bound", "ratio", "guarantee"}
    assert set(found["certificate"]["guarantee"]) >= {"theorem", "factor"}
    assert found["item_ids"] == ["a2", "b2", "b1"]
    assert found["objective"] == pytest.approx(sum(found["gains"]))
    stored = json.loads(Path("selection.json").read_text())
    assert stored["item_ids"] == found["item_ids"]
    assert "random" not in stored


def test_people_read_the_ratio_the_theorem_and_the_gain_over_random(world: Kina) -> None:
    text = world("select", *FILES, "-k", 2).stdout
    assert "this instance: at least" in text
    assert "worst case: at least 1 - 1/e of the optimum" in text
    assert "100 random sets of the same size" in text
    assert "not fully covered" in text


def test_a_second_run_is_up_to_date_and_a_new_option_is_not(world: Kina) -> None:
    first = world("select", *FILES, "-k", 2, "-o", "x.json")
    again = world("select", *FILES, "-k", 2, "-o", "x.json")
    assert "up to date" in again.stderr
    assert first.stdout == again.stdout
    assert "up to date" not in world("select", *FILES, "-k", 3, "-o", "x.json").stderr


def test_a_stream_holds_the_document(world: Kina) -> None:
    document = json.loads(world("select", *FILES, "-k", 2, "-o", "-").stdout)
    assert document["domains"][0]["k"] == 2


def test_row_order_and_format_leave_the_bytes_alone(world: Kina) -> None:
    world("select", *FILES, "-k", 3, "-o", "x.json")
    header, *rows = Path("s.csv").read_text().splitlines()
    names = header.split(",")
    as_json = [dict(zip(names, row.split(","), strict=True)) for row in reversed(rows)]
    Path("t.jsonl").write_text(
        "".join(json.dumps(row | {"score": float(row["score"])}) + "\n" for row in as_json)
    )
    world("select", "--support", "t.jsonl", "--anchors", "a.csv", "-k", 3, "-o", "y.json")
    one, other = (json.loads(Path(name).read_text()) for name in ("x.json", "y.json"))
    names = [document.pop("files") for document in (one, other)]
    assert [names[1][0], *names[0][1:]] == names[1]
    assert one | {"seal": ""} == other | {"seal": ""}


def test_certify_accepts_the_file_and_finds_the_optimum(world: Kina) -> None:
    world("select", *FILES, "-k", 2, "-o", "selection.json")
    found = report(world("certify", "selection.json", *FILES, "--exact", "-o", "certificate.json", "--json"))
    assert found["verified"] is True
    assert found["exact"]["proven"]
    assert found["objective"] <= found["exact"]["optimum"] <= found["certificate"]["upper_bound"]
    assert json.loads(Path("certificate.json").read_text()) == found


def test_certify_refuses_a_changed_file_or_other_scores(world: Kina) -> None:
    world("select", *FILES, "-k", 2, "-o", "selection.json")
    document = json.loads(Path("selection.json").read_text())
    document["domains"][0]["item_ids"][1] = "a3"
    Path("forged.json").write_text(json.dumps(document))
    refused = report(world("certify", "forged.json", *FILES, "--json"), 1)
    assert refused["verified"] is False
    assert any(fault.startswith("seal") for fault in refused["faults"])
    Path("s.csv").write_text(Path("s.csv").read_text().replace("b1,v,0.8", "b1,v,0.7"))
    refused = world("certify", "selection.json", *FILES)
    assert refused.exit_code == 1
    assert "refused" in refused.stdout
    assert "inputs.support" in refused.stdout


def test_certify_asks_for_every_file_that_select_was_given(world: Kina) -> None:
    Path("c.csv").write_text("item_id,other_id\na1,a2\n")
    world("select", *FILES, "-k", 2, "--conflicts", "c.csv", "-o", "selection.json")
    result = world("certify", "selection.json", *FILES)
    assert result.exit_code == 2
    assert "made with --conflicts" in result.stderr
    assert world("certify", "selection.json", *FILES, "--conflicts", "c.csv").exit_code == 0


@pytest.mark.parametrize("shares", ["strata", "items", "even", "coverage"])
def test_a_budget_selects_all_domains_in_one_command(world: Kina, shares: str) -> None:
    plan = ["budget", "pool.jsonl", "--total", 4, "--shares", shares, *FILES, "-o", "budget.jsonl", "--json"]
    budget = report(world(*plan))
    assert sum(budget["k"].values()) == 4
    given = [*FILES, "--strata", "pool.jsonl", "--quota", "budget.jsonl"]
    found = report(world("select", *given, "-o", "selection.json", "--json"))
    sizes = {part["domain"]: part["selected"] for part in found["domains"]}
    assert sizes == budget["k"]
    assert found["certificate"]["method"] == "sum over domains"
    checked = report(world("certify", "selection.json", *given, "--exact", "--json"))
    assert checked["verified"]
    assert checked["exact"]["true_ratio"] <= 1


def test_a_budget_may_be_csv(world: Kina) -> None:
    report(world("budget", "pool.jsonl", "--total", 4, "-o", "budget.csv", "--json"))
    assert Path("budget.csv").read_text().startswith("domain,k,stratum,lower,upper\n")
    found = report(
        world("select", *FILES, "--strata", "pool.jsonl", "--quota", "budget.csv", "--improve", "--json")
    )
    assert len(found["item_ids"]) == 4


def test_infeasible_constraints_write_nothing_and_name_the_stratum(world: Kina) -> None:
    Path("q.csv").write_text("stratum,lower,upper\nfilm,2,3\n")
    options = [*FILES, "-k", 3, "--strata", "pool.jsonl", "--quota", "q.csv", "-o", "x.json"]
    result = world("select", *options)
    assert result.exit_code == 1
    assert "stratum 'film' lacks 1" in result.stderr
    assert "--allow-shortfall" in result.stderr
    assert not Path("x.json").exists()
    partial = report(world("select", *options, "--allow-shortfall", "--json"))
    assert partial["status"] == "shortfall"
    assert partial["shortfall"] == {"film": 1}
    assert world("certify", "x.json", *FILES, "--strata", "pool.jsonl", "--quota", "q.csv").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--support", "none.csv", "--anchors", "a.csv", "-k", 1], "none.csv: no such file"),
        (["--support", "empty.csv", "--anchors", "a.csv", "-k", 1], "empty.csv: the file is empty"),
        (["--support", "s.csv", "-k", 1], "carry no anchor weights"),
        ([*FILES], "how many items?"),
        ([*FILES, "-k", 1, "--quota", "a.csv"], "stratum: Field required"),
        ([*FILES, "-k", 1, "--strata", "a.csv"], "item_id: missing"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_2(world: Kina, options: list[Any], message: str) -> None:
    Path("empty.csv").write_text("")
    result = world("select", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_too_many_items_is_infeasible_not_silent(world: Kina) -> None:
    refused = report(world("select", *FILES, "-k", 7, "--json"), 1)
    assert refused["status"] == "infeasible"
    assert refused["size"] == 1


def test_an_unknown_setting_is_refused(world: Kina) -> None:
    Path("kina.toml").write_text("[selection]\ndual_round = 3\n")
    result = world("select", *FILES, "-k", 1)
    assert result.exit_code == 2
    assert "dual_rounds" in result.stderr


def decide(**decisions: str) -> None:
    rows = [{"item_id": item, "decision": decision} for item, decision in decisions.items()]
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_certify_finds_the_files_that_the_selection_names_from_any_folder(world: Kina) -> None:
    Path("sub").mkdir()
    world("select", *FILES, "-k", 2, "-o", "sub/x.json")
    found = report(world("certify", "sub/x.json", "-k", 2, "--json"))
    assert found["verified"]
    assert {file["said_by"] for file in found["files"]} == {"document"}
    assert {name: said["said_by"] for name, said in found["as_stated"].items()} == {
        "k": "reader",
        "conflict_mode": "document",
        "quota": "document",
    }
    assert "as the document says" in world("certify", "sub/x.json").stdout
    assert "3 was expected" in world("certify", "sub/x.json", "-k", 3).stdout
    Path("s.csv").unlink()
    assert world("certify", "sub/x.json").exit_code == 2


def test_only_accepted_items_are_taken_and_certify_reads_the_decisions_again(world: Kina) -> None:
    decide(a1="reject", a2="accept", b2="accept", b3="revise")
    done = world("select", *FILES, "-k", 2, "--decisions", "d.jsonl", "-o", "x.json")
    assert "2 accepted, 1 to be revised, 1 rejected, 2 undecided" in done.stderr
    assert sorted(json.loads(Path("x.json").read_text())["item_ids"]) == ["a2", "b2"]
    assert world("certify", "x.json").exit_code == 0
    decide(a1="accept", a2="accept", b2="accept")
    assert "inputs.decisions" in world("certify", "x.json").stdout
    decide(a1="accepted")
    assert world("select", *FILES, "-k", 1, "--decisions", "d.jsonl").exit_code == 2


def test_top_up_keeps_what_review_let_stand_and_refills_the_holes(world: Kina) -> None:
    world("select", *FILES, "-k", 3, "-o", "x.json")
    before = json.loads(Path("x.json").read_text())["item_ids"]
    decide(**{before[0]: "reject", before[1]: "accept"})
    done = world("top-up", "x.json", "--decisions", "d.jsonl", "-o", "y.json")
    assert "2 of 3 items stay, 1 places are refilled" in done.stderr
    after = json.loads(Path("y.json").read_text())["item_ids"]
    assert set(before[1:]) < set(after)
    assert before[0] not in after
    assert len(after) == 3
    assert world("certify", "y.json").exit_code == 0
    decide(**dict.fromkeys(before, "reject"))
    assert world("certify", "y.json").exit_code != 0


def test_top_up_fills_up_by_the_objective_of_the_selection_or_refuses(world: Kina) -> None:
    """Four items fill three anchors, so by itself the second run would count other items an anchor."""
    for folds in (1, 2, 3):
        world("select", *FILES, "-k", 4, "--folds", folds, "-o", "x.json", "--force")
        decide(**{json.loads(Path("x.json").read_text())["item_ids"][0]: "reject"})
        refill = ("top-up", "x.json", "--decisions", "d.jsonl", "-o", "y.json", "--force")
        assert world(*refill).exit_code == 0
        assert json.loads(Path("y.json").read_text())["domains"][0].get("folds", 1) == folds
        assert world(*refill, "--folds", folds).exit_code == 0
        other = world(*refill, "--folds", folds + 1)
        assert other.exit_code == 2
        assert f"the selection counts {folds} items an anchor" in other.stderr


def test_top_up_refuses_other_scores_and_names_other_constraints(world: Kina) -> None:
    Path("gone.csv").write_text("item_id\na3\n")
    world("select", *FILES, "-k", 3, "--exclude", "gone.csv", "-o", "x.json")
    decide(b1="reject")
    refill = ("top-up", "x.json", "--decisions", "d.jsonl", "-o", "y.json", "--force")
    Path("gone.csv").write_text("item_id\na3\nb3\n")
    done = world(*refill)
    assert (done.exit_code, "--exclude: changed since the selection was made" in done.stderr) == (0, True)
    for name, old, new in (("s.csv", "0.9", "0.8"), ("a.csv", "u,3", "u,4")):
        kept = Path(name).read_text()
        Path(name).write_text(kept.replace(old, new))
        done = world(*refill)
        assert (done.exit_code, "not what the selection was made from" in done.stderr) == (1, True)
        Path(name).write_text(kept)


def test_proportional_quotas_follow_the_eligible_items(world: Kina) -> None:
    options = ("--strata", "pool.jsonl", "--by", "field", "--quota", "proportional")
    world("select", *FILES, *options, "-k", 4, "-o", "x.json")
    document = json.loads(Path("x.json").read_text())
    assert [(row["stratum"], row["lower"], row["upper"]) for row in document["domains"][0]["strata"]] == [
        ("art", 2, 2),
        ("law", 2, 2),
    ]
    assert world("certify", "x.json").exit_code == 0
    assert world("select", *FILES, "--quota", "proportional", "-k", 4).exit_code == 2


def test_a_sample_is_seeded_stratified_and_says_that_nothing_vouches_for_it(world: Kina) -> None:
    done = world("sample", "pool.jsonl", "--by", "field", "-n", 4, "--seed", 3, "-o", "x.json")
    assert "no certificate: a random sample" in done.stdout
    found = json.loads(Path("x.json").read_text())
    assert [row["selected"] for row in found["strata"]] == [2, 2]
    lines = Path("pool.jsonl").read_text().splitlines()
    Path("turned.jsonl").write_text("\n".join(reversed(lines)) + "\n")
    world("sample", "turned.jsonl", "--by", "field", "-n", 4, "--seed", 3, "-o", "y.json")
    assert Path("x.json").read_bytes() == Path("y.json").read_bytes()
    assert world("sample", "pool.jsonl", "-n", 7).exit_code == 1


def test_items_without_scores_are_named(world: Kina) -> None:
    with Path("pool.jsonl").open("a") as pool:
        pool.write(json.dumps({"item_id": "z9", "field": "art", "subfield": "jazz"}) + "\n")
    assert "z9" in world("select", *FILES, "--strata", "pool.jsonl", "-k", 2).stderr


def test_quotas_are_named_as_labels_are_and_those_of_no_item_are_told(world: Kina) -> None:
    Path("st.csv").write_text("item_id,stratum\n" + "".join(f"{i}, é\n" for i in ("a1", "a2", "a3", "b1")))
    Path("q.csv").write_text('stratum,lower,upper\n" é ",1,1\nnope,0,1\n')
    options = ("--strata", "st.csv", "--quota", "q.csv", "--allow-shortfall", "-o", "x.json")
    rows = [row for row in Path("s.csv").read_text().splitlines() if not row.startswith(("b2", "b3"))]
    Path("s.csv").write_text("\n".join(rows) + "\n")
    done = world("select", *FILES, "-k", 2, *options)
    assert done.exit_code == 0, done.output
    assert "1 strata of --quota have no scored item: nope" in done.stderr
    assert len(json.loads(Path("x.json").read_text())["item_ids"]) == 1
    assert world("certify", "x.json").exit_code == 0


def test_weights_beyond_exact_sums_are_refused_not_written(world: Kina) -> None:
    Path("a.csv").write_text("anchor_id,weight\nu,1e300\nv,1\nw,1\n")
    done = world("select", *FILES, "-k", 2, "-o", "x.json")
    assert (done.exit_code, "divide all of them by the same number" in done.stderr) == (2, True)
    Path("a.csv").write_text("anchor_id,weight\nu,1e25\nv,1\nw,1\n")
    assert world("select", *FILES, "-k", 2, "-o", "x.json").exit_code == 0
    assert world("certify", "x.json").exit_code == 0
