"""The verifier: what select writes holds, and no field of it can be changed unseen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kina_build.errors import UsageError
from kina_build.selection.certificate import seal_of
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.records import Quota, Selection
from kina_build.selection.verify import verify
from kina_build.support.matrix import build_matrix


def story(improve: bool = False) -> tuple[Inputs, Selection]:
    """Two domains of 12 items, quotas, two conflict clusters, one of them across the domains."""
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
    assert {one.domain for one in document.domains} == {"art", "law"}


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
            forged = forged.model_copy(update={"seal": seal_of(forged)})
        given = replace(inputs, conflict_mode=forged.conflict_mode)
        try:
            if verify(forged, given).holds:
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
    faults = verify(document.model_copy(update={"domains": (forged, *document.domains[1:])}), inputs).faults
    assert any("should have been picked before" in fault or "has" in fault for fault in faults)


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


def test_cross_domain_conflicts_are_withheld_and_verified() -> None:
    scores = np.array([[1.0, 0.0], [0.2, 0.0], [1.0, 0.0], [0.3, 0.1]])
    inputs = Inputs(
        matrix=build_matrix(["a1", "a2", "b1", "b2"], ["u", "v"], scores, np.ones(2)),
        strata=dict.fromkeys(["a1", "a2", "b1", "b2"], "s"),
        domains={"a1": "a", "a2": "a", "b1": "b", "b2": "b"},
        quotas=(Quota(domain="a", k=1, stratum="s"), Quota(domain="b", k=1, stratum="s")),
        conflicts=(("a1", "b1"),),
    )
    document = select(inputs)
    assert document.item_ids == ("a1", "b2")
    assert document.domains[1].withheld == ("b1",)
    assert document.certificate.guarantee.theorem == "none"
    assert document.certificate.upper_bound >= 2.0  # the best without the withholding
    assert verify(document, inputs).faults == ()


@pytest.mark.parametrize("number", ["NaN", "inf", "-Infinity", float("nan"), float("inf")])
def test_a_number_that_is_none_is_refused(number: Any) -> None:
    _, document = story()
    for name, value in (("objective", number), ("gains", [number])):
        with pytest.raises(ValueError, match="finite number"):
            Selection.model_validate(document.model_dump() | {name: value})
