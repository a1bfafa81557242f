"""The verifier: what select writes holds, and no field of it can be changed unseen."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.config import SelectionRules
from kina_build.errors import InputError, UsageError
from kina_build.rows.jsonl import canonical
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.reading import read_selection, seal
from kina_build.selection.records import Quota, Selection
from kina_build.selection.verifier.domain import Domain
from kina_build.selection.verifier.recompute import clique_faults, set_faults, worst_case
from kina_build.selection.verifier.recount import _uppers
from kina_build.selection.verifier.verify import Expected, verify
from kina_build.support.matrix import build_matrix


def story(improve: bool = False) -> tuple[Inputs, Selection]:
    """Two domains of 12 items, quotas, two conflict clusters, one of them across the domains: one part."""
    rng = np.random.default_rng(7)
    ids = [f"q{i:02}" for i in range(24)]
    scores = np.rint(rng.random((24, 6)) * 10) / 10 * (rng.random((24, 6)) < 0.5)
    inputs = Inputs(
        matrix=build_matrix(ids, list("uvwxyz"), scores, np.array([3.0, 2, 2, 1, 1, 1])),
        strata={item: "even" if i % 2 else "odd" for i, item in enumerate(ids)},
        domains={item: "art" if i < 12 else "law" for i, item in enumerate(ids)},
        quotas=tuple(
            Quota(domain=domain, k=3, stratum=name, lower=1, upper=2)
            for domain in ("art", "law")
            for name in ("even", "odd")
        ),
        conflicts=(("q00", "q01"), ("q01", "q02"), ("q05", "q17")),
        exclude=frozenset({"q03"}),
        must=frozenset({"q04"}),
    )
    return inputs, select(inputs, improve=improve)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def changed(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 + 0.001
    return {"clusters": "pairwise", "greedy": "repaired", "online": "dual", "dual": "online"}.get(
        value, value + "x"
    )


def test_a_fresh_selection_holds() -> None:
    inputs, document = story()
    assert verify(document, inputs).faults == ()
    assert [tuple(one.sizes) for one in document.domains] == [("art", "law")]


@pytest.mark.parametrize("improve", [False, True])
def test_every_single_field_is_checked_even_when_the_seal_is_forged(improve: bool) -> None:
    inputs, document = story(improve)
    whole = document.model_dump(mode="json")
    unseen = []
    for path, value in leaves(whole):
        copy = json.loads(json.dumps(whole))
        inner = copy
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = changed(value)
        try:
            forged = Selection.model_validate(copy)
        except ValueError:
            continue  # refused when it is read
        if path != ("seal",):
            forged = seal(forged)
        given = replace(inputs, conflict_mode=forged.conflict_mode)
        try:
            # other thresholds may bound as well, and names of files are no claim
            if verify(forged, given).holds and not {"thresholds", "by", "domain_by"} & set(path):
                unseen.append((path, value))
        except UsageError:
            continue
    assert unseen == []


def test_changing_a_field_breaks_the_seal() -> None:
    inputs, document = story()
    forged = document.model_copy(update={"objective": document.objective})
    assert verify(forged, inputs).holds
    forged = document.model_copy(update={"objective": document.objective + 1})
    assert any(fault.startswith("seal") for fault in verify(forged, inputs).faults)


def test_a_better_looking_set_that_is_not_greedys_is_refused() -> None:
    inputs, document = story()
    part = document.domains[0]
    spare = next(
        i for i in inputs.matrix.item_ids[:12] if i not in {*part.item_ids, "q03", "q00", "q01", "q02"}
    )
    forged = part.model_copy(update={"item_ids": (*part.item_ids[:-1], spare)})
    other = seal(document.model_copy(update={"domains": (forged, *document.domains[1:])}))
    faults = verify(other, inputs).faults
    assert any("should have been picked before" in fault or "items, not" in fault for fault in faults)


def test_other_scores_or_weights_are_refused() -> None:
    inputs, document = story()
    levels = inputs.matrix.levels.copy()
    levels[20, 0] = 1000 - levels[20, 0]
    faults = verify(document, replace(inputs, matrix=replace(inputs.matrix, levels=levels))).faults
    assert any(fault.startswith("inputs.support") for fault in faults)
    weights = inputs.matrix.weights[::-1].copy()
    faults = verify(document, replace(inputs, matrix=replace(inputs.matrix, weights=weights))).faults
    assert any(fault.startswith("inputs.anchors") for fault in faults)


def test_a_file_that_was_used_must_be_given_again() -> None:
    inputs, document = story()
    with pytest.raises(UsageError, match="--conflicts"):
        verify(document, replace(inputs, conflicts=()))


def test_a_file_that_was_not_used_is_a_fault() -> None:
    rng = np.random.default_rng(1)
    matrix = build_matrix(["a", "b", "c"], ["u"], rng.random((3, 1)), np.ones(1))
    document = select(Inputs(matrix), 1)
    assert verify(document, Inputs(matrix, exclude=frozenset({"b"}))).faults


def two_domains(conflicts: tuple[tuple[str, str], ...]) -> Inputs:
    """u1 is the best of U and v1 is all that V has."""
    scores = np.array([[1.0, 0.0], [0.9, 0.0], [0.0, 1.0], [0.5, 0.5]])
    return Inputs(
        matrix=build_matrix(["u1", "u2", "v1", "w1"], ["a", "b"], scores, np.ones(2)),
        strata={"u1": "s", "u2": "s", "v1": "t", "w1": "r"},
        domains={"u1": "U", "u2": "U", "v1": "V", "w1": "W"},
        quotas=tuple(Quota(domain=d, k=1, stratum=h) for d, h in (("U", "s"), ("V", "t"), ("W", "r"))),
        conflicts=conflicts,
    )


def test_domains_that_conflicts_join_are_one_problem_and_the_others_stay_apart() -> None:
    inputs = two_domains((("u1", "v1"),))
    document = select(inputs)
    assert sorted(document.item_ids) == ["u2", "v1", "w1"]
    assert [part.domain for part in document.domains] == ["U + V", "W"]
    assert document.domains[1].certificate.guarantee.theorem == "cardinality"
    assert verify(document, inputs).faults == ()


@pytest.mark.parametrize("improve", [False, True])
def test_compiled_code_selects_joined_domains_alike(improve: bool) -> None:
    inputs, document = story(improve)
    assert select(inputs, rules=SelectionRules(compiled_from_items=0), improve=improve) == document


def test_names_of_domains_may_look_like_joined_ones() -> None:
    inputs = two_domains((("u1", "v1"),))
    assert inputs.domains is not None
    named = {"U": "a", "V": "b", "W": "a + b"}
    inputs = replace(
        inputs,
        domains={item: named[name] for item, name in inputs.domains.items()},
        quotas=tuple(q.model_copy(update={"domain": named[q.domain]}) for q in inputs.quotas),
    )
    document = select(inputs)
    assert sorted(document.item_ids) == ["u2", "v1", "w1"]
    assert verify(document, inputs).faults == ()


def test_a_conflict_with_an_excluded_item_joins_nothing() -> None:
    inputs = replace(two_domains((("u1", "v1"),)), exclude=frozenset({"u1"}))
    document = select(inputs)
    assert [part.domain for part in document.domains] == ["U", "V", "W"]
    assert verify(document, inputs).faults == ()


def test_the_verifier_runs_without_the_selector() -> None:
    parts = "problem posing choose greedy bounds repair improve exact domains conflicts cuts certificate"
    code = (
        "import sys, kina_build.selection.verifier.verify\n"
        f"print([m for m in {parts.split()!r} if f'kina_build.selection.{{m}}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_the_reader_states_is_held_against_the_document() -> None:
    inputs, document = story()
    faults = verify(document, inputs, Expected(5, "pairwise")).faults
    assert [fault.split(":")[0] for fault in faults] == ["k", "conflict_mode"]
    assert verify(document, inputs, Expected(6, "clusters")).holds


def test_other_content_is_one_fault_and_not_its_consequences() -> None:
    inputs, document = story()
    other = replace(inputs, matrix=replace(inputs.matrix, weights=inputs.matrix.weights[::-1].copy()))
    assert len(verify(document, other).faults) == 1


def test_a_shortfall_that_is_not_forced_is_refused_and_a_forced_one_shows_why() -> None:
    scores = np.array([[1.0], [0.9], [0.8], [0.7]])
    matrix = build_matrix(["a", "b", "c", "d"], ["u"], scores, np.ones(1))
    inputs = Inputs(matrix, conflicts=(("a", "b"), ("b", "c")))
    document = select(inputs, 3, allow_shortfall=True)
    assert document.domains[0].shortfall == 1
    assert document.domains[0].proof is not None
    assert verify(document, inputs).faults == ()
    part = document.domains[0].model_copy(update={"proof": None})
    assert verify(seal(document.model_copy(update={"domains": (part,)})), inputs).faults
    fewer = select(inputs, 1)
    short = {"k": 3, "shortfall": 2, "lacking": {"": 2}, "sizes": {"": 3}, "proof": document.domains[0].proof}
    forged = fewer.domains[0].model_copy(update=short)
    faults = verify(seal(fewer.model_copy(update={"domains": (forged,)})), inputs).faults
    assert faults == ("proof.size: the cut holds 2 items, not 1",)


def test_a_pairwise_shortfall_that_counting_does_not_show_is_said_to_be_open() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "e")]  # no three of five
    matrix = build_matrix(list("abcde"), ["u"], np.array([[1.0], [0.9], [0.8], [0.7], [0.6]]), np.ones(1))
    inputs = Inputs(matrix, conflicts=tuple(ring), conflict_mode="pairwise")
    document = select(inputs, 3, allow_shortfall=True)
    assert document.domains[0].proof is None
    assert "not shown to be infeasible" in document.certificate.guarantee.statement
    assert verify(document, inputs).faults == ()


def test_a_file_of_the_earlier_form_is_read_and_its_damage_seen(tmp_path: Path) -> None:
    inputs, _ = story()
    inputs = replace(inputs, quotas=(), domains=None, strata=None, conflicts=())
    raw = earlier_form(select(inputs, 4))
    path = tmp_path / "selection.json"
    path.write_text(json.dumps(raw))
    assert verify(read_selection(path), inputs).faults == ()
    path.write_text(json.dumps(raw | {"objective": raw["objective"] + 1}))
    assert verify(read_selection(path), inputs).faults[0].startswith("seal")
    path.write_text(json.dumps(raw | {"domains": []}))
    with pytest.raises(InputError, match="domains"):
        read_selection(path)


def earlier_form(document: Selection) -> dict[str, Any]:
    """Write a selection as the earlier version did: decimals only."""
    raw = document.model_dump(mode="json")
    for name in ("steps", "weight_step", "slack", "files", "by", "domain_by", "seal"):
        del raw[name]
    raw["format"] = 2
    for one in (raw, *raw["domains"]):
        for bound in (one["certificate"], one["certificate"]["tightest"]):
            del bound["steps"]
            bound["ratio"] = one["objective"] / bound["upper_bound"]
    for part in raw["domains"]:
        for name in ("sizes", "steps", "lacking", "proof"):
            del part[name]
        levels = part["thresholds"].get("", {})
        part |= {"withheld": [], "thresholds": {a: n / raw["scale"] for a, n in levels.items()}}
        for row in part["strata"]:
            del row["domain"]
    return raw | {"seal": hashlib.sha256(canonical(raw).encode()).hexdigest()}


@pytest.mark.parametrize("number", ["NaN", "inf", "-Infinity", float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(number: Any) -> None:
    _, document = story()
    for name, value in (("objective", number), ("gains", [number])):
        with pytest.raises(ValueError, match="finite number"):
            Selection.model_validate(document.model_dump() | {name: value})


def star(upper: int | None) -> Domain:
    """Four items of one stratum, two of them wanted; a is in conflict with b and with c."""
    key = ("", "x")
    return Domain(
        ids="abcd",
        columns=(("", "u"),),
        levels=np.ones((4, 1), dtype=np.uint16),
        weights=np.ones(1, dtype=np.int64),
        strata=(key,),
        codes=np.zeros(4, dtype=np.int64),
        quotas={} if upper is None else {key: Quota(stratum="x", lower=0, upper=upper)},
        rivals={"a": frozenset("bc"), "b": frozenset("a"), "c": frozenset("a")},
        must=frozenset(),
        barred=frozenset(),
        asked={"": 2},
        sizes={"": 2},
        lower={},
        position={name: at for at, name in enumerate("abcd")},
    )


def test_a_set_above_an_upper_quota_and_a_clique_of_one_are_faults() -> None:
    assert set_faults(star(2), ["b", "c"]) == []
    assert set_faults(star(1), ["b", "c"]) == ["strata: 'x' has 2 items, not 0 to 1"]
    assert _uppers(star(1)) == {("", "x"): 1}
    assert _uppers(star(9)) == _uppers(star(None)) == {("", "x"): 2}
    assert clique_faults(star(None), [("a", "b")]) == []
    assert clique_faults(star(None), [("d",)]) == ["cliques: ('d',) is no clique"]


def test_quotas_beside_pairs_cost_a_part_of_the_factor() -> None:
    assert worst_case(star(None), pairwise=True).factor == 1 / 3
    assert worst_case(star(1), pairwise=True).factor == 1 / 4
