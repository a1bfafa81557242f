"""How far estimates lie from the pool's scores for models that taught nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kina_build.config import FidelityRules
from kina_build.fidelity.estimators import apply_line, fit_line, predict_left_out, read_form, tau
from kina_build.fidelity.forms import DRAWS, Method
from kina_build.fidelity.responses import Floats, Indices, Responses
from kina_build.progress import Progress, silent
from kina_build.scoring.estimator import BesideRandom, Kind, LeftOut

How = Literal["singly", "by family", "weakest to strongest"]
STRONGEST = 0.3
"""Share of the models, the strongest, that the weaker ones are asked to foretell."""
FAMILY = re.compile(r"[^\W\d_]+")
"""The letters that a model's name begins with: "llama" of "llama-2-13b"; nothing of "01-yi"."""


@dataclass(frozen=True)
class Trial:
    """Estimates for models left out, over several draws."""

    estimates: Floats
    """Shape (draws, models tested)."""
    truth: Floats
    """Their scores on the pool."""

    @property
    def errors(self) -> Floats:
        """Return the mean absolute error of each draw, in points."""
        return np.asarray(100 * np.abs(self.estimates - self.truth).mean(axis=1))

    @property
    def error(self) -> float:
        """Return the mean over draws, in points."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """Return the standard error of that mean over draws."""
        return float(self.errors.std(ddof=1) / np.sqrt(len(self.errors))) if len(self.errors) > 1 else 0.0

    @property
    def taus(self) -> Floats:
        """Return Kendall's tau of each draw."""
        return np.asarray(tau(self.estimates, self.truth))

    def describe(self, how: How, level: float) -> LeftOut:
        """Put the figures into their record."""
        from scipy.stats import t

        own = 100 * np.abs(self.estimates - self.truth).mean(axis=0)
        count = len(own)
        half = (
            float(t.ppf((1 + level) / 2, count - 1) * own.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0
        )
        found = self.taus
        return LeftOut(
            how=how,
            models=count,
            error=round(float(own.mean()), 4),
            low=round(max(0.0, float(own.mean()) - half), 4),
            high=round(float(own.mean()) + half, 4),
            bias=round(float(100 * (self.estimates - self.truth).mean()), 4),
            tau=None if np.isnan(found).any() else round(float(found.mean()), 4),
        )


def families(models: Sequence[str], given: Mapping[str, str] | None = None) -> Indices:
    """Number the families of models: as given, else by the letters that their names begin with."""
    names = [_family(model) if given is None else given.get(model, model) for model in models]
    codes: Indices = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1].astype(np.int64)
    return codes


def _family(model: str) -> str:
    match = FAMILY.match(model.rpartition("/")[2])
    return match[0].lower() if match else model


def try_method(
    responses: Responses,
    method: Method,
    size: int,
    kinds: Sequence[Kind],
    groups: Sequence[Indices],
    *,
    bins: int,
    seeds: Sequence[int],
) -> dict[Kind, Trial]:
    """Leave out group after group; the others choose the items, fit the line and foretell the group.

    Args:
        responses: of all models.
        method: how a form is drawn.
        size: items of a form.
        kinds: estimators to try on the same draws.
        groups: positions of models that are left out together; disjoint.
        bins: of a stratum, where the method looks at difficulty.
        seeds: one a draw; every group is left out of each.
    """
    tested = np.concatenate(groups)
    found: dict[Kind, Floats] = {kind: np.empty((len(seeds), len(tested))) for kind in kinds}
    for row, seed in enumerate(seeds):
        at = 0
        for group in groups:
            taught = responses.of(np.setdiff1d(np.arange(len(responses.models)), group))
            items = DRAWS[method](taught, size, bins, np.random.default_rng(seed))
            for kind in kinds:
                found[kind][row, at : at + len(group)] = foretell(responses, group, items, kind)
            at += len(group)
    return {kind: Trial(estimates, responses.whole[tested]) for kind, estimates in found.items()}


def try_form(responses: Responses, items: Indices, kind: Kind, groups: Sequence[Indices]) -> Trial:
    """Leave out group after group, on one given form."""
    tested = np.concatenate(groups)
    estimates = np.concatenate([foretell(responses, group, items, kind) for group in groups])
    return Trial(estimates[None, :], responses.whole[tested])


def foretell(responses: Responses, group: Indices, items: Indices, kind: Kind) -> Floats:
    """Estimate the pool's scores of some models by a line through all others."""
    rest = np.setdiff1d(np.arange(len(responses.models)), group)
    x, y = read_form(responses, items, kind), responses.whole
    line = fit_line(x[rest], y[rest], kind, 0.95)
    return apply_line(line, x[group], kind)[0]


def singly(responses: Responses) -> list[Indices]:
    """Leave out one model at a time."""
    return [np.array([at]) for at in range(len(responses.models))]


def by_family(responses: Responses, given: Mapping[str, str] | None = None) -> list[Indices]:
    """Leave out one family at a time; none where fewer than three models would be left to teach."""
    codes = families(responses.models, given)
    groups = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    return groups if len(groups) > 1 and max(map(len, groups)) <= len(codes) - 3 else []


def strongest(responses: Responses) -> list[Indices]:
    """Leave out the strongest models together."""
    count = max(1, round(STRONGEST * len(responses.models)))
    order = np.argsort(responses.whole, kind="stable")
    return [np.sort(order[-count:])] if len(order) - count >= 3 else []


def compare_random(
    responses: Responses, items: Indices, kind: Kind, *, draws: int, seed: int, level: float
) -> BesideRandom:
    """Set a form beside stratified random forms of its size, all with the same estimator."""
    rng = np.random.default_rng(seed)
    drawn = [DRAWS["random"](responses, len(items), 1, rng) for _ in range(draws)]
    x = np.stack([read_form(responses, form, kind) for form in drawn])
    y = responses.whole
    theirs = Trial(predict_left_out(x, y, kind), y)
    own = predict_left_out(read_form(responses, items, kind)[None, :], y, kind)
    ours = Trial(own, y)
    taus, mine = theirs.taus, float(ours.taus[0])
    tied = bool(np.isnan(mine) or np.isnan(taus).any())
    low, high = np.quantile(theirs.errors, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return BesideRandom(
        draws=draws,
        seed=seed,
        error=round(theirs.error, 4),
        low=round(low, 4),
        high=round(high, 4),
        tau=None if tied else round(float(taus.mean()), 4),
        beaten_error=round(float((theirs.errors > ours.error).mean()), 4),
        beaten_tau=None if tied else round(float((taus < mine).mean()), 4),
    )


def try_all(
    responses: Responses,
    size: int,
    names: Sequence[Method],
    kinds: Sequence[Kind],
    rules: FidelityRules = FidelityRules(),
    *,
    on_progress: Progress = silent,
) -> dict[tuple[Any, Kind], Trial]:
    """Leave every model out of every method and estimator, over `rules.seeds` draws."""
    trials: dict[tuple[Any, Kind], Trial] = {}
    alone = singly(responses)
    for done, name in enumerate(names, start=1):
        found = try_method(responses, name, size, kinds, alone, bins=rules.bins, seeds=range(rules.seeds))
        trials |= {(name, kind): trial for kind, trial in found.items()}
        on_progress(done, len(names))
    return trials


def choose(trials: Mapping[tuple[Any, Kind], Trial]) -> tuple[Any, Kind]:
    """Choose the method and estimator of least error; stratified random where it is as good.

    Another method is taken only if its error is below random's by more than the standard error of
    the difference over the draws.
    """
    base = best_of(trials, "random")
    best = min(trials, key=lambda key: trials[key].error)
    apart = float(np.hypot(trials[base].standard_error, trials[best].standard_error))
    return best if trials[best].error < trials[base].error - apart else base


def best_of(trials: Mapping[tuple[Any, Kind], Trial], method: str) -> tuple[Any, Kind]:
    """Choose the estimator of least error for a method."""
    return min((key for key in trials if key[0] == method), key=lambda key: trials[key].error)


def ways_to_judge(
    responses: Responses, families: Mapping[str, str] | None
) -> list[tuple[Any, list[Indices]]]:
    """Return how models are left out, singly first, and the groups that each way leaves out."""
    ways = [
        ("singly", singly(responses)),
        ("by family", by_family(responses, families)),
        ("weakest to strongest", strongest(responses)),
    ]
    return [(how, groups) for how, groups in ways if groups]
