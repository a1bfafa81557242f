"""Every public fault case of the step `export` comes out as it should."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from kina_build.items.model import LETTERS, Item, content_id
from kina_build.release.admission import admit
from kina_build.release.build import Release, make_release
from kina_build.release.files.card import claim_faults, dump_yaml, facts, harness_files
from kina_build.release.files.croissant import distribution_faults
from kina_build.release.files.parquet import to_table
from kina_build.release.lettering.balance import letter_counts
from kina_build.release.lettering.order import keep_letters, letter_items
from kina_build.release.plan import Plan, Request, plan_release
from kina_build.release.record import Provenance
from kina_build.release.rows import to_row
from kina_build.release.versions import compare, row_map
from tests.conftest import fault_cases
from tests.release.pools import make, spread

USUAL = Request()


def plan(pool: Sequence[Item], request: Request = USUAL, **more: Any) -> Plan:
    admission = admit(pool, **more)
    return plan_release(admission, request, provenance=Provenance(pool_items=len(pool)))


def release(pool: Sequence[Item], request: Request = USUAL, **more: Any) -> Release:
    return make_release(plan(pool, request, **more))


def all_gold_last(given: Any, expected: Any) -> None:
    keys = given["exported_keys"]
    items = [
        make(one["id"], [*one["wrong"], one["right"]], key, f"What is {one['id']}?")
        for one, key in zip(given["items"], keys, strict=True)
    ]
    as_exported = plan(items, Request(shuffle=False))
    alarm = next(fault for fault in as_exported.faults if fault.rule == expected["alarm"])
    assert expected["export"] == "blocked"
    assert alarm.evidence["counts"] == expected["counts"]
    # our own export draws the letters, and then nothing is wrong with them
    assert max(letter_counts(i for kept in plan(items).items.values() for i in kept).values()) < len(items)


def card_claims(given: Any, expected: Any) -> None:
    sizes = given["data"]["option_counts"]
    pool = [
        make(
            f"{size}-{n}",
            [f"{size}.{n}.{k}" for k in range(int(size))],
            LETTERS[n % int(size)],
            f"{size}.{n}?",
        )
        for size, count in sizes.items()
        for n in range(count)
    ]
    truth = facts(release(pool).record) | {"models": given["results_models"]}
    assert truth["items"] == given["data"]["items"]
    assert claim_faults(given["card"], truth) == expected["mismatches"]


def croissant(given: Any, expected: Any) -> None:
    assert distribution_faults(given["distribution"]) == expected["errors"]


def id_by_row(given: Any, expected: Any) -> None:
    ids = {one["q"]: content_id(one["q"], ["yes", "no"], "A") for one in given["before"]}
    before = [to_row(make(ids[one["q"]], ["yes", "no"], question=one["q"])) for one in given["before"]]
    after = [row for row in before if row.question != given["remove"]]
    again = [
        to_row(make(content_id(r.question, ["yes", "no"], "A"), ["yes", "no"], question=r.question))
        for r in after
    ]
    assert [row.id for row in again] == [row.id for row in after], "ids do not move when a row goes"
    moved = {entry["old_row"]: entry["new_row"] for entry in row_map(before, after)}
    for row in given["results_before"]:
        assert after[moved[int(row)]].question == expected["result_still_attached_to"]


def letter_range(given: Any, expected: Any) -> None:
    pool = [
        make(one["id"], [f"{one['id']}{n}" for n in range(one["n_options"])], question=one["id"])
        for one in given["items"]
    ]
    made = release(pool, Request(allowed={"key_position": "three items"}))
    files = harness_files(made.record)
    loaded: dict[str, Any] = {"__file__": __file__}
    body = files["harness/lm_eval/task.py"].replace("import datasets\n", "")
    exec(compile(body, __file__, "exec"), loaded)
    for row in (row for rows in made.rows.values() for row in rows):
        wanted = expected["letters"][row.id]
        doc = row.model_dump()
        prompt = loaded["reply_prompt"](doc)
        assert "".join(loaded["letters"](doc)) == wanted
        assert f"one of: {', '.join(wanted)}." in prompt
        assert [line[0] for line in prompt.splitlines() if line[1:2] == ":"] == list(wanted)


def mixed_types(given: Any, expected: Any) -> None:
    table = to_table({name: [row.get(name) for row in given["rows"]] for name in given["rows"][0]})
    column = next(name for name in table.column_names if name != "id")
    assert str(table.schema.field(column).type) == expected["column_type"]
    assert table.column(column).to_pylist() == expected["values"]
    import io

    import pyarrow.parquet as pq

    stored = io.BytesIO()
    pq.write_table(table, stored)
    assert pq.ParquetFile(stored).read().equals(table) is expected["reload_equal"]


def judged_faulty(given: Any, expected: Any) -> None:
    pool = spread(8) + [
        make(
            one["id"],
            [f"{one['id']}{n}" for n in range(4)],
            question=f"{one['id']}?",
            metadata={"verdict": one["verdict"], "corrected_answer": one.get("corrected")},
        )
        for one in given["items"]
    ]
    made = admit(pool)
    ids = {one["id"] for one in given["items"]}
    assert [i.item_id for i in made.items if i.item_id in ids] == expected["test_ids"]
    assert {one.item_id: one.reason for one in made.withheld} == expected["withheld"]
    by_id = {item.item_id: item for item in made.items}
    for name, key in expected.items():
        if name.endswith("_key"):
            assert by_id[name.removesuffix("_key")].correct_answer == key


def shuffle_flag(given: Any, expected: Any) -> None:
    items = [make(f"s{n}", ["oak", "ash", "elm", "yew", "fir", "box"]) for n in range(5)]
    outcomes = []
    for one in given["settings"]:
        drawn_now = letter_items(items, seed=one.get("seed", 0), secret="")
        made = [found.item for found in (drawn_now if one["shuffle"] else map(keep_letters, items))]
        outcomes.append([[o.answer for o in item.options] for item in made])
    kept = [[o.answer for o in item.options] for item in items]
    drawn = [o for o in outcomes if o != kept]
    for told, outcome in zip(expected["results"], outcomes, strict=True):
        assert (outcome == kept) is (told == "input order")
    assert all(one == drawn[0] for one in drawn), "one seed, one order"


def shuffle_stable(given: Any, expected: Any) -> None:
    options = given["options_each"]
    items = {i: make(i, options, "B") for i in given["ids"]}

    def run(
        ids: Sequence[str], seed: int = given["seed"], earlier: Mapping[str, Sequence[str]] | None = None
    ) -> dict[str, list[str]]:
        asked = [items[i] for i in ids]
        found = letter_items(asked, seed=seed, secret="", earlier=earlier)
        made = {one.item.item_id: one.item for one in found}
        assert all(item.correct_text == items[i].correct_text for i, item in made.items())
        return {i: [o.answer for o in item.options] for i, item in made.items()}

    full = run(given["ids"])
    for one in given["runs"]:
        ids = one.get("order", [i for i in given["ids"] if i not in one.get("drop", [])])
        # letters are balanced over all items, so what a release had is kept by way of that release
        assert run(ids, earlier=full if "drop" in one else None) == {i: full[i] for i in ids}
    assert any(run(given["ids"], seed) != full for seed in range(given["seed"] + 1, given["seed"] + 5))
    orders = {tuple(order) for seed in range(20) for order in run(given["ids"], seed).values()}
    assert any(len({tuple(o) for o in run(given["ids"], seed).values()}) > 1 for seed in range(20))
    assert len(orders) > len(given["ids"])


def version_diff(given: Any, expected: Any) -> None:
    def rows(version: Sequence[Mapping[str, str]]) -> list[Any]:
        return [to_row(make(one["id"], ["w", "x", "y", "z"], one["key"], one["q"])) for one in version]

    found = compare({"test": rows(given["v1"])}, {"test": rows(given["v2"])})
    told = found.model_dump(mode="json")
    assert {name: told[name] for name in expected} == expected


def plain_yaml(given: Any, expected: Any) -> None:
    held = {
        name: eval(value, {"numpy": np}) if value.startswith(("numpy.", "(", "[")) else value
        for name, value in given["metadata"].items()
    }
    text = dump_yaml(held)
    assert "!!" not in text
    read = yaml.safe_load(text)
    assert {name: read[name] for name in expected if name in read} == {
        name: value for name, value in expected.items() if name in held
    }


KINDS: Mapping[str, Callable[[Any, Any], None]] = {
    "exp-all-gold-d": all_gold_last,
    "exp-card-claims": card_claims,
    "exp-croissant": croissant,
    "exp-id-by-row": id_by_row,
    "exp-letter-range": letter_range,
    "exp-mixed-types": mixed_types,
    "exp-redux-not-ok": judged_faulty,
    "exp-shuffle-flag": shuffle_flag,
    "exp-shuffle-stable": shuffle_stable,
    "exp-version-diff": version_diff,
    "exp-yaml": plain_yaml,
}


@pytest.mark.parametrize("case", fault_cases("export"))
def test_fault_case(case: Any, tmp_path: Path) -> None:
    KINDS[case["id"]](case["input"], case["expected"])


def test_a_clean_release_passes_every_gate() -> None:
    assert plan(spread(60)).faults == []
