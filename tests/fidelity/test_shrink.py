"""Short forms: drawn by method, judged by models that taught nothing, applied to a new model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_build.config import FidelityRules
from kina_build.errors import InputError, Refusal
from kina_build.fidelity.estimators import (
    KINDS,
    apply_line,
    fit_line,
    predict_left_out,
    read_form,
    tau,
)
from kina_build.fidelity.forms import DRAWS
from kina_build.fidelity.judging import choose, families, foretell, singly, try_method
from kina_build.fidelity.responses import Responses
from kina_build.fidelity.shrink import shrink
from kina_build.scoring.estimator import estimate, read_estimator

QUICK = FidelityRules(seeds=3, draws=20)


def draw_responses(models: int = 12, items: int = 240, seed: int = 0) -> Responses:
    """Models of rising ability answer items of all difficulties in three strata of unlike size."""
    rng = np.random.default_rng(seed)
    ability, hardness = np.linspace(-1.5, 1.5, models), rng.normal(0, 1.2, items)
    chance = 1 / (1 + np.exp(hardness - ability[:, None]))
    scores = (rng.random(chance.shape) < chance).astype(float)
    stratum = np.repeat([0, 1, 2], [items // 2, items // 3, items - items // 2 - items // 3])
    names = tuple(f"{'ab'[at % 2]}{at:02}" for at in range(models))
    return Responses(names, tuple(f"q{at:03}" for at in range(items)), scores, ("x", "y", "z"), stratum)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 120), st.integers(0, 5))
def test_every_method_draws_the_size_once_each_and_in_proportion(size: int, seed: int) -> None:
    taught = draw_responses()
    for draw in DRAWS.values():
        items = draw(taught, size, 5, np.random.default_rng(seed))
        assert len(set(items.tolist())) == size
        counts = np.bincount(taught.stratum[items], minlength=3)
        assert (np.abs(counts - size * taught.shares) < 1.001).all()


def test_bins_and_spread_balance_difficulty_better_than_chance() -> None:
    taught = draw_responses()
    off = {
        name: np.mean(
            [
                abs(
                    taught.scores[:, draw(taught, 30, 5, np.random.default_rng(s))].mean()
                    - taught.scores.mean()
                )
                for s in range(30)
            ]
        )
        for name, draw in DRAWS.items()
    }
    assert off["bins"] < off["random"] / 2
    assert off["spread"] < off["random"] / 2


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_out_at_once_is_leaving_out_one_by_one(kind: Any) -> None:
    responses = draw_responses()
    items = np.arange(0, 240, 7)
    x, y = read_form(responses, items, kind), responses.whole
    slow = [foretell(responses, group, items, kind)[0] for group in singly(responses)]
    assert predict_left_out(x, y, kind) == pytest.approx(np.array(slow), abs=1e-12)


def test_tau_is_that_of_scipy() -> None:
    from scipy.stats import kendalltau

    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 5, 9).astype(float), rng.integers(0, 5, 9).astype(float)
    assert float(tau(one, other)) == pytest.approx(kendalltau(one, other).statistic)
    assert np.isnan(tau(np.ones(4), np.arange(4.0)))


def test_a_whole_pool_estimates_itself() -> None:
    responses = draw_responses()
    every = np.arange(240)
    for kind in KINDS:
        x = read_form(responses, every, kind)
        line = fit_line(x, responses.whole, kind, 0.95)
        middle, low, high = apply_line(line, x, kind)
        assert middle == pytest.approx(responses.whole)
        assert high - low == pytest.approx(np.zeros(12), abs=1e-9)


def test_intervals_cover_what_they_say() -> None:
    hits = []
    for seed in range(40):
        responses = draw_responses(models=20, seed=seed)
        taught, tested = responses.of(np.arange(0, 20, 2)), responses.of(np.arange(1, 20, 2))
        items = DRAWS["random"](taught, 40, 5, np.random.default_rng(seed))
        for kind in KINDS:
            line = fit_line(read_form(taught, items, kind), taught.whole, kind, 0.95)
            _, low, high = apply_line(line, read_form(tested, items, kind), kind)
            hits.append(((low <= tested.whole) & (tested.whole <= high)).mean())
    assert 0.93 <= np.mean(hits) <= 0.97


def test_random_is_taken_where_nothing_is_better() -> None:
    class Told:
        def __init__(self, error: float) -> None:
            self.error, self.standard_error = error, 0.1

    trials: dict[Any, Any] = {("random", "linear"): Told(2.0), ("bins", "plain"): Told(1.95)}
    assert choose(trials) == ("random", "linear")
    trials["bins", "plain"] = Told(1.5)
    assert choose(trials) == ("bins", "plain")


def test_what_is_left_out_teaches_nothing() -> None:
    responses = draw_responses()
    group = [np.array([11])]
    before = try_method(responses, "bins", 30, ("linear",), group, bins=5, seeds=[1])["linear"]
    changed = responses.scores.copy()
    changed[11, :120] = 1 - changed[11, :120]
    other = Responses(responses.models, responses.item_ids, changed, responses.strata, responses.stratum)
    items = DRAWS["bins"](responses.of(np.arange(11)), 30, 5, np.random.default_rng(1))
    assert float(before.estimates[0, 0]) == pytest.approx(
        float(foretell(responses, group[0], items, "linear")[0])
    )
    after = try_method(other, "bins", 30, ("linear",), group, bins=5, seeds=[1])["linear"]
    assert float(after.estimates[0, 0]) == pytest.approx(float(foretell(other, group[0], items, "linear")[0]))


def test_the_estimate_of_a_new_model_is_that_of_the_line(tmp_path: Path) -> None:
    responses = draw_responses()
    for kind in KINDS:
        form = shrink(responses, 36, method="bins", estimator=kind, rules=QUICK)
        form.estimator.write(tmp_path / "estimator.json")
        read = read_estimator(tmp_path / "estimator.json")
        place = {item_id: at for at, item_id in enumerate(responses.item_ids)}
        items = np.array([place[item_id] for item_id in form.item_ids])
        x = read_form(responses, items, kind)
        middle, low, high = apply_line(read.line, x, kind)
        for at in (0, 7):
            own = {i: float(responses.scores[at, place[i]]) for i in form.item_ids}
            found = estimate(read, responses.models[at], own)
            assert found.estimate == pytest.approx(float(middle[at]))
            assert (found.low, found.high) == pytest.approx((max(0.0, low[at]), min(1.0, high[at])))
    with pytest.raises(Refusal, match="other items"):
        estimate(read, "m", {"q000": 1.0})


def test_families_are_read_from_names() -> None:
    assert families(["org/Llama-2-13b", "llama-3", "01-yi", "Qwen2"]).tolist() == [1, 1, 0, 2]
    assert families(["a", "b"], {"a": "x", "b": "x"}).tolist() == [0, 0]


def test_the_command_writes_items_and_estimator(kina: Any, tmp_path: Path) -> None:
    responses = draw_responses(models=8, items=60)
    rows = [
        {"item_id": i, "model": m, "score": responses.scores[a, b], "discipline": "xyz"[responses.stratum[b]]}
        for a, m in enumerate(responses.models)
        for b, i in enumerate(responses.item_ids)
    ]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "kina.toml").write_text("[fidelity]\nseeds = 2\ndraws = 10\n")
    line = ("shrink", "scores.jsonl", "-k", 12, "-o", "short.json", "--write-estimator", "estimator.json")
    told = kina(*line)
    assert told.exit_code == 0, told.output
    assert "for a model that taught nothing the estimate is off by" in told.stdout
    assert "10 stratified random forms" in told.stdout
    held = json.loads((tmp_path / "short.json").read_text())
    assert len(held["item_ids"]) == 12
    given = json.loads(kina("shrink", "scores.jsonl", "--given", "short.json", "--json").stdout)
    assert given["estimator"]["method"] == "given"
    assert sorted(given["item_ids"]) == sorted(held["item_ids"])
    assert kina("shrink", "scores.jsonl").exit_code == 2
    assert kina("shrink", "scores.jsonl", "-k", 61).exit_code == 1
    (tmp_path / "gaps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    gap = kina("shrink", "gaps.jsonl", "-k", 12)
    assert gap.exit_code == 1
    assert "1 scores are missing" in gap.stderr


def test_a_given_item_without_responses_is_named() -> None:
    with pytest.raises(InputError, match="'nowhere' has no responses"):
        shrink(draw_responses(), 0, given=["nowhere"], rules=QUICK)


def test_models_that_all_score_alike_promise_no_error_of_zero() -> None:
    drawn = draw_responses(items=60)
    ones = np.ones_like(drawn.scores)
    alike = Responses(drawn.models, drawn.item_ids, ones, drawn.strata, drawn.stratum)
    with pytest.raises(Refusal, match="all 12 models score alike"):
        shrink(alike, 20, rules=QUICK)
