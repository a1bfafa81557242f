"""A short form chosen by its error on unseen models, with the estimator that goes with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kina_build.config import FidelityRules
from kina_build.errors import Refusal, UsageError
from kina_build.fidelity.estimators import KINDS, fit_line, read_form
from kina_build.fidelity.forms import DRAWS, Method
from kina_build.fidelity.judging import (
    Trial,
    best_of,
    choose,
    compare_random,
    singly,
    try_all,
    try_form,
    try_method,
    ways_to_judge,
)
from kina_build.fidelity.options import ShrinkOptions
from kina_build.fidelity.responses import Indices, Responses, read_families, read_responses_of
from kina_build.progress import Progress, silent
from kina_build.scoring.estimator import Estimator, Kind, LeftOut, digest_items
from kina_build.selection.inputs import read_ids
from kina_build.selection.sharing.draw import Sample, Stratum
from kina_build.selection.sharing.share import Drawn

METHODS: tuple[Method, ...] = ("random", "bins", "spread")


@dataclass(frozen=True)
class Candidate:
    """A method with an estimator, and its error over draws."""

    method: str
    estimator: Kind
    error: float
    """Mean absolute error for models left out singly, in points, over the draws."""
    standard_error: float
    tau: float | None
    draws: int


@dataclass(frozen=True)
class ShortForm:
    """The items of a short form, the estimator, and all that was tried."""

    item_ids: tuple[str, ...]
    estimator: Estimator
    tried: tuple[Candidate, ...]
    """Best first."""
    drawn: Drawn
    """The items as `kina export --selection` takes them."""

    @property
    def report(self) -> dict[str, Any]:
        """Return what is told of it."""
        tried = [vars(one) for one in self.tried]
        return {"item_ids": list(self.item_ids), "tried": tried} | {
            "estimator": self.estimator.model_dump(mode="json", exclude={"strata", "weights"})
        }

    def write(self, path: Path) -> None:
        """Write the items, as `kina sample` does."""
        self.drawn.write(path)

    def __str__(self) -> str:
        """Say what the estimates are worth."""
        return self.estimator.statement


def shrink(
    responses: Responses,
    size: int,
    *,
    method: Method | Literal["auto"] = "auto",
    estimator: Kind | Literal["auto"] = "auto",
    given: Collection[str] | None = None,
    families: Mapping[str, str] | None = None,
    seed: int = 0,
    rules: FidelityRules = FidelityRules(),
    on_progress: Progress = silent,
) -> ShortForm:
    """Choose a short form of a pool by its error for models left out, never by one draw.

    Args:
        responses: of the models that teach.
        size: items of the form; of a given set it is not looked at.
        method: how items are drawn; auto: what has the least error over `rules.seeds` draws, and
            stratified random where nothing is better than it by more than the standard error.
        estimator: auto: the one of least error.
        given: a set of items to judge in place of a draw.
        families: model to family; None: by the letters that names begin with.
        seed: of the form; the draws it is chosen by have seeds of their own.
        rules: settings.
        on_progress: told of each method tried.

    Raises:
        Refusal: more items than the pool has, or fewer than two; or models that all score alike.
        InputError: a given item without responses.
    """
    if np.ptp(responses.whole) == 0:
        raise Refusal(
            f"all {len(responses.models)} models score alike: they teach nothing of models that differ"
        )
    kinds = KINDS if estimator == "auto" else (estimator,)
    seeds = range(rules.seeds)
    if given is not None:
        items = responses.find(tuple(sorted(given)))
        trials = {("given", kind): try_form(responses, items, kind, singly(responses)) for kind in kinds}
        name, kind = min(trials, key=lambda key: trials[key].error)
        groups = ways_to_judge(responses, families)
        ways = [(how, try_form(responses, items, kind, own)) for how, own in groups]
        return _settle(responses, items, (name, kind), trials, ways, seed=seed, rules=rules)
    _check_size(size, responses)
    names = METHODS if method == "auto" else tuple(dict.fromkeys(("random", method)))
    trials = try_all(responses, size, names, kinds, rules, on_progress=on_progress)
    name, kind = choose(trials) if method == "auto" else best_of(trials, method)
    items = DRAWS[name](responses, size, rules.bins, np.random.default_rng(seed))
    ways = [("singly", trials[name, kind])]
    for how, own in ways_to_judge(responses, families)[1:]:
        found = try_method(responses, name, size, (kind,), own, bins=rules.bins, seeds=seeds)
        ways.append((how, found[kind]))
    return _settle(responses, items, (name, kind), trials, ways, seed=seed, rules=rules)


def _check_size(size: int, responses: Responses) -> None:
    count = len(responses.item_ids)
    if not 2 <= size <= count:
        raise Refusal(f"{size} items asked for: a short form of {count} items has 2 to {count}")


def _settle(
    responses: Responses,
    items: Indices,
    chosen: tuple[str, Kind],
    trials: Mapping[tuple[Any, Kind], Trial],
    ways: Sequence[tuple[Any, Trial]],
    *,
    seed: int,
    rules: FidelityRules,
) -> ShortForm:
    method, kind = chosen
    ids = tuple(responses.item_ids[at] for at in items.tolist())
    x, y = read_form(responses, items, kind), responses.whole
    off = 100 * (read_form(responses, items, "plain") - y)
    stratified = kind == "post-stratified"
    left_out = tuple(trial.describe(how, rules.level) for how, trial in ways)
    tried = [
        Candidate(
            name,
            one,
            round(trial.error, 4),
            round(trial.standard_error, 4),
            _mean(trial.taus),
            len(trial.errors),
        )
        for (name, one), trial in trials.items()
    ]
    random = compare_random(responses, items, kind, draws=rules.draws, seed=seed, level=rules.level)
    found = Estimator(
        method=method,
        estimator=kind,
        items=len(ids),
        pool_items=len(responses.item_ids),
        items_sha256=digest_items(ids),
        level=rules.level,
        line=fit_line(x, y, kind, rules.level),
        weights=dict(zip(responses.strata, responses.shares.tolist(), strict=True)) if stratified else {},
        strata={responses.item_ids[at]: responses.strata[responses.stratum[at]] for at in items.tolist()}
        if stratified
        else {},
        left_out=left_out,
        raw_bias=round(float(off.mean()), 4),
        raw_most=round(float(np.abs(off).max()), 4),
        random=random,
        statement=_say(method, kind, len(ids), responses, left_out[0]),
        seed=seed,
    )
    tried.sort(key=lambda one: (one.error, one.method, one.estimator))
    return ShortForm(ids, found, tuple(tried), _as_sample(responses, items, seed))


def _say(method: str, kind: Kind, size: int, responses: Responses, found: LeftOut) -> str:
    words = {
        "random": "stratified random",
        "bins": "random in bins of difficulty",
        "spread": "spread over difficulty",
        "given": "as given",
    }
    return (
        f"{size} of {len(responses.item_ids)} items ({words[method]}), {kind} estimator: for a model that "
        f"taught nothing the estimate is off by {found.error:.2f} points on average ({found.low:.2f} to "
        f"{found.high:.2f}; {len(responses.models)} models, left out one by one)"
    )


def _mean(values: Any) -> float | None:
    return None if np.isnan(values).any() else round(float(values.mean()), 4)


def _as_sample(responses: Responses, items: Indices, seed: int) -> Drawn:
    held = np.bincount(responses.stratum[items], minlength=len(responses.strata)).tolist()
    supply = np.bincount(responses.stratum, minlength=len(responses.strata)).tolist()
    rows = tuple(
        Stratum(name, eligible, selected)
        for name, eligible, selected in zip(responses.strata, supply, held, strict=True)
    )
    return Drawn(Sample(tuple(responses.item_ids[at] for at in items.tolist()), rows, seed))


def shrink_files(
    options: ShrinkOptions, rules: FidelityRules = FidelityRules(), on_progress: Progress = silent
) -> ShortForm:
    """Read the responses and what goes with them, and choose a short form.

    Raises:
        UsageError: neither a size nor a set, or both.
        InputError: a file that cannot be read.
        Refusal: responses with gaps, or of too few models.
    """
    if (options.k is None) == (options.given is None):
        raise UsageError("how many items?", hint="-k N, or --given SET to judge a set that is there")
    return shrink(
        read_responses_of(options),
        options.k or 0,
        method=options.method,
        estimator=options.estimator,
        given=None if options.given is None else read_ids(options.given, "--given"),
        families=None if options.families is None else read_families(options.families),
        seed=options.seed,
        rules=rules,
        on_progress=on_progress,
    )
