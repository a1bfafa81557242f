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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.config import FidelityRules
from kina_build.fidelity.estimators import KINDS, apply_line, fit_line, read_form, tau
from kina_build.fidelity.forms import DRAWS
from kina_build.fidelity.responses import Responses
from kina_build.fidelity.shrink import choose, shrink, try_all

SHARED = Path("../shared/data/mmlu_pro")
SIZES = (100, 300, 899)
SPLITS, DRAWN, BINS = 20, 5, 5
CHOSEN_SPLITS = 10
"""Splits on which the chosen method is measured: each tries all methods on the 13 that teach."""


def read_mmlu_pro() -> Responses:
    """Read the letters of 26 models, with the categories as strata."""
    items, rows = (
        [json.loads(line) for line in (SHARED / name).open(encoding="utf-8")]
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
