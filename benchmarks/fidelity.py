"""Measure what short forms of MMLU-Pro say of models they have not seen, all seeds fixed before.

    python -m benchmarks.fidelity              everything, about ten minutes
    python -m benchmarks.fidelity methods      some parts

20 random splits of the 26 models into 13 that teach and 13 unseen, 5 draws of everything drawn, at
100, 300 and 899 of 12,032 items; then the 18 weakest teach and the 8 strongest are foretold.
Errors are mean absolute differences in points between estimate and score on the whole pool.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.config import FidelityRules
from kina_build.fidelity.estimators import KINDS, apply_line, fit_line, predict_left_out, read_form, tau
from kina_build.fidelity.forms import DRAWS
from kina_build.fidelity.irt import fit, probability
from kina_build.fidelity.judging import choose, try_all
from kina_build.fidelity.responses import Responses
from kina_build.fidelity.shrink import shrink

SHARED = Path("../shared/data/mmlu_pro")
SIZES = (100, 300, 899)
SPLITS, DRAWN, BINS = 20, 5, 5
CHOSEN_SPLITS = 10
"""Splits on which the chosen method is measured: each tries all methods on the 13 that teach."""


def read_mmlu_pro(folder: Path = SHARED) -> Responses:
    """Read the letters of 26 models, with the categories as strata."""
    items, rows = (
        [json.loads(line) for line in (folder / name).open(encoding="utf-8")]
        for name in ("items.jsonl", "answers.jsonl")
    )
    right = np.array([item["answer"] for item in items])
    scores = np.stack([np.array(list(row["answers"])) == right for row in rows]).astype(float)
    names, codes = np.unique(np.array([item["category"] for item in items]), return_inverse=True)
    ids = tuple(str(item["question_id"]) for item in items)
    return Responses(tuple(row["model"] for row in rows), ids, scores, tuple(names.tolist()), codes)


def split(responses: Responses, number: int) -> tuple[Responses, Responses]:
    """Return 13 models that teach and 13 unseen."""
    order = np.random.default_rng(1000 + number).permutation(len(responses.models))
    return responses.of(np.sort(order[:13])), responses.of(np.sort(order[13:]))


def foretell(taught: Responses, unseen: Responses, items: Any, kind: Any) -> tuple[float, float, float]:
    """Return error, share of unseen models inside the interval, and tau."""
    line = fit_line(read_form(taught, items, kind), taught.whole, kind, 0.95)
    told, low, high = apply_line(line, read_form(unseen, items, kind), kind)
    inside = (low <= unseen.whole) & (unseen.whole <= high)
    return 100 * np.abs(told - unseen.whole).mean(), inside.mean(), float(tau(told, unseen.whole))


def measure_methods(responses: Responses) -> None:
    """Print every method with every estimator: error, coverage of the interval, tau, ratio to random."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for number in range(SPLITS):
        taught, unseen = split(responses, number)
        for size in SIZES:
            for seed in range(DRAWN):
                for method, draw in DRAWS.items():
                    items = draw(taught, size, BINS, np.random.default_rng([number, seed, size]))
                    for kind in KINDS:
                        found.setdefault((size, method, kind), []).append(
                            foretell(taught, unseen, items, kind)
                        )
    print(f"{SPLITS} splits x {DRAWN} draws: error, 95 % interval covers, tau, error / random's")
    for (size, method, kind), rows in found.items():
        error, inside, rank = np.mean(rows, axis=0)
        base = np.mean([row[0] for row in found[size, "random", kind]])
        print(
            f"  K {size:3} {method:7} {kind:16} {error:5.2f}  {inside:6.1%}  {rank:.3f}  {error / base:.3f}"
        )


def measure_choice(responses: Responses) -> None:
    """Print the error of what `kina shrink` would choose by the teachers alone, beside stratified random."""
    rules = FidelityRules(seeds=DRAWN)
    print(f"chosen by 13 teachers, {CHOSEN_SPLITS} splits x {DRAWN} draws: error on the unseen")
    for size in SIZES:
        ours, theirs, ranks, picked = [], [], [], []
        for number in range(CHOSEN_SPLITS):
            taught, unseen = split(responses, number)
            trials = try_all(taught, size, tuple(DRAWS), KINDS, rules)
            method, kind = choose(trials)
            base = min((key for key in trials if key[0] == "random"), key=lambda key: trials[key].error)
            picked.append(f"{method}/{kind}")
            for seed in range(DRAWN):
                rng = [number, seed, size]
                own = DRAWS[method](taught, size, BINS, np.random.default_rng(rng))
                other = DRAWS["random"](taught, size, BINS, np.random.default_rng(rng))
                mine, plain = foretell(taught, unseen, own, kind), foretell(taught, unseen, other, base[1])
                ours.append(mine[0])
                theirs.append(plain[0])
                ranks.append(mine[2] - plain[2])
        apart = np.array(ours) - np.array(theirs)
        by_split = apart.reshape(CHOSEN_SPLITS, DRAWN).mean(axis=1)
        spread = by_split.std(ddof=1) / np.sqrt(CHOSEN_SPLITS)
        counts = {name: picked.count(name) for name in sorted(set(picked))}
        print(
            f"  K {size:3} chosen {np.mean(ours):.2f}, random {np.mean(theirs):.2f}, difference "
            f"{apart.mean():+.3f} +- {spread:.3f}; tau {np.mean(ranks):+.4f}; {counts}",
            flush=True,
        )


def measure_strongest(responses: Responses) -> None:
    """Print the 18 weakest foretelling the 8 strongest; coverage is shown, not promised."""
    order = np.argsort(responses.whole, kind="stable")
    taught, unseen = responses.of(np.sort(order[:18])), responses.of(np.sort(order[18:]))
    print(f"18 weakest teach, 8 strongest foretold, {SPLITS * DRAWN} draws: error, covers, tau")
    for size in SIZES:
        for method, draw in DRAWS.items():
            for kind in KINDS:
                rows = [
                    foretell(
                        taught, unseen, draw(taught, size, BINS, np.random.default_rng([seed, size])), kind
                    )
                    for seed in range(SPLITS * DRAWN)
                ]
                error, inside, rank = np.mean(rows, axis=0)
                print(f"  K {size:3} {method:7} {kind:16} {error:5.2f}  {inside:6.1%}  {rank:.3f}")


Recipe = Callable[[Responses, int, np.random.Generator], tuple[Any, Any]]
"""Teaching models, items to choose, random numbers: to positions and the weight of each."""


def anchor_points(taught: Responses, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Cluster items by which models get them right; the item nearest to a centre stands for its cluster.

    As "anchor points" of tinyBenchmarks (arXiv 2402.14992), with k-means in place of its variants.
    """
    from scipy.cluster.vq import kmeans2

    answers = taught.scores.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster may end empty: it then has no point
        centres, labels = kmeans2(answers, size, iter=10, minit="points", seed=rng)
    sizes = np.bincount(labels, minlength=size)
    held = np.flatnonzero(sizes)
    away = ((answers - centres[labels]) ** 2).sum(axis=1)
    nearest = [int(np.flatnonzero(labels == at)[away[labels == at].argmin()]) for at in held]
    return np.array(nearest), sizes[held] / sizes.sum()


def most_discriminating(taught: Responses, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Take the items that go best with the score on all items."""
    centred = taught.scores - taught.scores.mean(axis=0)
    whole = taught.whole - taught.whole.mean()
    spread = np.sqrt((centred**2).sum(axis=0))
    with_whole = np.divide(whole @ centred, spread, out=np.zeros_like(spread), where=spread > 0)
    return _even(np.argsort(-with_whole, kind="stable")[:size])


def most_informative(taught: Responses, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Take the items of most 2PL information over the abilities of the teaching models."""
    found = fit(taught.scores, "2PL", fit(taught.scores, "1PL"))
    chance = probability(found)
    information = (found.slope**2 * chance * (1 - chance)).sum(axis=0)
    return _even(np.argsort(-information, kind="stable")[:size])


def luckiest(taught: Responses, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Take the best of 300 stratified random draws, by the teachers' own leave-one-out error."""
    drawn = [DRAWS["random"](taught, size, BINS, rng) for _ in range(300)]
    x = np.stack([read_form(taught, items, "linear") for items in drawn])
    off = np.abs(predict_left_out(x, taught.whole, "linear") - taught.whole).mean(axis=1)
    return _even(drawn[int(off.argmin())])


def stratified(taught: Responses, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw at random, each stratum in proportion."""
    return _even(DRAWS["random"](taught, size, BINS, rng))


def _even(items: Any) -> tuple[Any, Any]:
    return items, np.full(len(items), 1 / len(items))


PEERS: dict[str, Recipe] = {
    "stratified random": stratified,
    "best of 300 draws": luckiest,
    "anchor points": anchor_points,
    "2PL information": most_informative,
    "discrimination": most_discriminating,
}


def try_recipe(
    recipe: Recipe, taught: Responses, unseen: Responses, size: int, seed: Sequence[int]
) -> tuple[float, float]:
    """Return the error on unseen models in points, and tau; a line is fitted to the teachers' scores."""
    items, weights = recipe(taught, size, np.random.default_rng(seed))
    x, other = taught.scores[:, items] @ weights, unseen.scores[:, items] @ weights
    told, _, _ = apply_line(fit_line(x, taught.whole, "linear", 0.95), other, "linear")
    return 100 * float(np.abs(told - unseen.whole).mean()), float(tau(told, unseen.whole))


def compare_recipes(
    responses: Responses,
    sizes: Sequence[int] = SIZES,
    splits: int = SPLITS,
    recipes: Mapping[str, Recipe] = PEERS,
) -> list[dict[str, Any]]:
    """Try recipes of the literature on models they have not seen: a row a split, size and recipe."""
    rows = []
    for number in range(splits):
        taught, unseen = split(responses, number)
        for size in sizes:
            for name, recipe in recipes.items():
                error, rank = try_recipe(recipe, taught, unseen, size, [number, size])
                rows.append({"split": number, "size": size, "recipe": name, "error": error, "tau": rank})
    return rows


def measure_peers(responses: Responses) -> None:
    """Print recipes of the literature beside stratified random, all calibrated by a line."""
    rows = compare_recipes(responses)
    print(f"{SPLITS} splits, 13 models teach, 13 unseen: error, tau")
    for size in SIZES:
        for name in PEERS:
            own = [row for row in rows if row["size"] == size and row["recipe"] == name]
            error, rank = (float(np.mean([row[key] for row in own])) for key in ("error", "tau"))
            print(f"  K {size:3} {name:18} {error:5.2f}  {rank:.3f}")


def measure_forms(responses: Responses) -> None:
    """Print what `kina shrink` says of the whole table at each size."""
    for size in SIZES:
        form = shrink(responses, size)
        random = form.estimator.random
        assert random is not None
        print(f"  {form}")
        print(f"    beats {random.beaten_error:.0%} of {random.draws} random forms for error", flush=True)


PARTS: dict[str, Callable[[Responses], None]] = {
    "methods": measure_methods,
    "choice": measure_choice,
    "strongest": measure_strongest,
    "peers": measure_peers,
    "forms": measure_forms,
}


def main(names: Sequence[str] = ()) -> None:
    """Measure the parts that are named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; none: all")
    wanted = parser.parse_args(names or None).parts or list(PARTS)
    responses = read_mmlu_pro()
    for name in wanted:
        PARTS[name](responses)


if __name__ == "__main__":
    main()
