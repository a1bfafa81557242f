"""Time selection against submodlib and apricot, in one process, and measure the certified gap.

    python -m benchmarks.selection              everything, about five minutes
    python -m benchmarks.selection gaps large   some parts

CPU seconds of one thread, so that a busy machine does not blur them; compile time apart.
Every time holds the whole job from the scores to the picks. The scores of the peers are
transposed, weighted and cast for them outside the clock.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import itertools
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.config import SelectionRules
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import split
from kina_build.selection.solver.choose import choose
from kina_build.selection.solver.exact import solve
from kina_build.selection.solver.gains import StandingGains
from kina_build.selection.solver.greedy import pick_greedily
from kina_build.selection.solver.problem import Problem
from kina_build.selection.verifier.verify import verify
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import write_support
from kina_build.support.sparse import from_pairs


def draw_judge(items: int, anchors: int, seed: int = 0) -> SupportMatrix:
    """Draw judge-like support: 85 % zeros, steps of .1, latent topics of about eight anchors."""
    rng = np.random.default_rng(seed)
    topics = max(4, anchors // 8)
    # the anchors' topics do not depend on the seed: pools of different seeds are parts of one
    anchor_topic = np.random.default_rng(anchors).integers(0, topics, anchors)
    item_topic = rng.integers(0, topics, items)
    quality = rng.beta(2, 3, items).astype(np.float32)
    elsewhere = max(0.0, (0.15 - 0.75 / topics) / (1 - 1 / topics))
    levels = np.empty((items, anchors), dtype=np.uint16)
    for at in range(0, items, 20_000):
        rows = slice(at, min(items, at + 20_000))
        same = item_topic[rows, None] == anchor_topic[None, :]
        listed = rng.random(same.shape, dtype=np.float32) < np.where(same, 0.75, elsewhere)
        drawn = rng.random(same.shape, dtype=np.float32)
        score = np.where(same, 0.35 + 0.65 * drawn, 0.75 * drawn**2) * (0.45 + 0.55 * quality[rows, None])
        levels[rows] = np.where(listed, np.clip(np.rint(score * 10), 1, 10) * 100, 0)
    return with_names(levels)


def draw_smooth(items: int, anchors: int, seed: int = 0, dimension: int = 32) -> SupportMatrix:
    """Draw cosine-like support: clipped cosines of clustered vectors, dense."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(8, anchors // 10), dimension)).astype(np.float32)

    def cluster(count: int, spread: float) -> Any:
        noise = rng.standard_normal((count, dimension)).astype(np.float32)
        vectors = centres[rng.integers(0, len(centres), count)] + spread * noise
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    goal, levels = cluster(anchors, 0.7), np.empty((items, anchors), dtype=np.uint16)
    for at in range(0, items, 20_000):
        count = min(items, at + 20_000) - at
        levels[at : at + count] = np.rint(np.clip(cluster(count, 0.9) @ goal.T, 0, 1) * 1000)
    return with_names(levels)


def with_names(levels: Any) -> SupportMatrix:
    items, anchors = levels.shape
    weights = np.random.default_rng(1).gamma(2.0, 1.0, anchors)
    steps = np.rint(weights / weights.sum() * 1_000_000).astype(np.int64)
    names = tuple(f"q{i:07}" for i in range(items)), tuple(f"u{u:04}" for u in range(anchors))
    return SupportMatrix(*names, levels, 1000, steps, 1_000_000)


def clock(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the least CPU seconds of some runs, and the last result."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        spent.append(time.process_time() - start)
    return min(spent), result


def pose(matrix: SupportMatrix, size: int) -> Problem:
    return split(Inputs(matrix), size)[""]


def pick(matrix: SupportMatrix, size: int, standing: StandingGains | None = None) -> list[int]:
    return list(pick_greedily(pose(matrix, size), standing=standing).items)


def measure_memory(work: Callable[[], Any]) -> int:
    """Return the most bytes that a piece of work holds at once beyond what there was."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def pick_submodlib(weighted: Any, size: int) -> Callable[[], list[int]]:
    from submodlib import FacilityLocationFunction

    kernel = np.ascontiguousarray(weighted.T, dtype=np.float32)
    count, anchors = weighted.shape
    function = FacilityLocationFunction(
        n=count, mode="dense", separate_rep=True, n_rep=anchors, sijs=kernel, pybind_mode="array"
    )
    options = {"optimizer": "LazyGreedy", "stopIfZeroGain": False, "show_progress": False}
    return lambda: [item for item, _ in function.maximize(budget=size, **options)]


def pick_apricot(weighted: Any, size: int) -> Callable[[], list[int]]:
    from apricot import FacilityLocationSelection

    table = np.ascontiguousarray(weighted, dtype=np.float64)

    def work() -> list[int]:
        chooser = FacilityLocationSelection(size, metric="ignore", optimizer="lazy")
        return chooser.fit(table).ranking.tolist()

    return work


PEERS = {"submodlib": pick_submodlib, "apricot": pick_apricot}


def race(name: str, matrix: SupportMatrix, sizes: list[int], peers: list[str]) -> None:
    """Print our time, and each peer's with its ratio, its objective over ours and its distinct items.

    The ratio after the stroke is that of picking again from scores already indexed.
    """
    weighted = matrix.levels.astype(np.float64) * (matrix.weights / matrix.unit)
    spent, standing = clock(lambda: StandingGains(pose(matrix, 1), SelectionRules().block_items))
    print(f"{name}: index of the scores {spent:.2f} s, {standing.lists.size / 2**20:.0f} MB")
    for size in sizes:
        ours, items = clock(lambda size=size: pick(matrix, size), repeats=3)
        again, same = clock(lambda size=size: pick(matrix, size, standing), repeats=3)
        extra = measure_memory(lambda size=size: pick(matrix, size)) / matrix.levels.nbytes
        value = weighted[items].max(axis=0).sum()
        print(f"  K {size:4}  kina {ours:.3f} s (extra memory {extra:.1%}), indexed {again:.3f} s", end="")
        print("" if items == same else "  OTHER PICKS")
        for peer in peers:
            spent, theirs = time_peer(peer, weighted, size)
            if theirs is None:
                print(f"    {peer}: not installed")
                continue
            share, distinct = weighted[theirs].max(axis=0).sum() / value, len(set(theirs))
            ratio = f"x{spent / ours:.0f} / x{spent / again:.0f}"
            print(f"    {peer} {spent:.3f} s  {ratio}  F {share:.5f}  distinct {distinct}", flush=True)


def time_peer(peer: str, weighted: Any, size: int) -> tuple[float, list[int] | None]:
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clock(PEERS[peer](weighted, size))
    except ImportError:
        return 0.0, None


def race_domains(count: int = 300) -> None:
    """Print what many small domains take together."""
    matrices = [draw_judge(2000, 40, seed) for seed in range(count)]
    rules = SelectionRules(compiled_from_items=0)  # as select does where the domains together are many
    ours, _ = clock(lambda: [pick_greedily(pose(matrix, 20), rules) for matrix in matrices], repeats=3)
    print(f"{count} domains of 2000 x 40, K 20: kina {ours:.2f} s")
    tables = [matrix.levels.astype(np.float64) * (matrix.weights / matrix.unit) for matrix in matrices]
    runs = [time_peer("submodlib", table, 20) for table in tables]
    if runs[0][1] is not None:
        theirs = sum(spent for spent, _ in runs)
        print(f"    submodlib {theirs:.2f} s  x{theirs / ours:.1f}")


def measure_gaps() -> None:
    """Print the certified gap on four shapes, and a certified run over one greedy of submodlib."""
    measure_gap(draw_judge(2000, 40), 20)
    measure_gap(draw_judge(10_000, 200), 50)
    judge = draw_judge(100_000, 500)
    spent = measure_gap(judge, 100)
    measure_gap(judge, 30)
    weighted = judge.levels.astype(np.float64) * (judge.weights / judge.unit)
    peer, found = time_peer("submodlib", weighted, 100)
    if found is not None:
        print(f"the certified run at K 100 took {spent / peer:.2f} x submodlib's greedy ({peer:.2f} s)")


def measure_gap(matrix: SupportMatrix, size: int) -> float:
    """Print what a certified and improved run takes and how small its gap is; return its seconds."""
    problem = pose(matrix, size)
    spent, choice = clock(lambda: choose(problem, improve=True))
    value, greedy = choice.picks.value, choice.greedy.value
    items, anchors = matrix.levels.shape
    gap, online = 1 - value / choice.tight.value, 1 - value / choice.online.value
    line = f"{items:7} x {anchors:3} K {size:4}  {spent:6.2f} s  certified gap {gap:7.3%}"
    print(f"{line} (online bound {online:6.2%})  over greedy {value / greedy - 1:+.2%}", flush=True)
    return spent


def measure_large() -> None:
    """Print what `kina select` takes from a file, at 100,000 and at 1,000,000 items of 200 anchors."""
    spent = []
    for items in (100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            write_support(Path(folder, "support.npz"), draw_judge(items, 200))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            command = [sys.executable, "-c", "from kina_build.cli.main import run; run()", "select"]
            options = ["--support", "support.npz", "-k", "100", "-o", "selection.json", "--quiet"]
            subprocess.run([*command, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            wall = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        used = f"{wall:5.1f} s, CPU {cpu:5.1f} s, {after.ru_maxrss / 2**20:.2f} GB"
        print(f"{items:9} x 200 K 100 from a file: {used}", flush=True)
        spent.append(cpu)
    print(f"ten times the items cost {spent[1] / spent[0]:.1f} times the CPU")


def draw_near(items: int, near: int, seed: int = 0) -> SupportMatrix:
    """Draw each item as an anchor that some items support, as `kina support --spread` makes them."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate([rng.choice(items, near, replace=False) for _ in range(items)])
    values = rng.integers(200, 1001, len(columns)).astype(np.uint16)
    levels = from_pairs((items, items), np.repeat(np.arange(items), near), columns, values)
    return with_names(levels)


def race_sparse() -> None:
    """Time greedy, bound and verifier over pairs against the same over the plain array."""
    pairs = draw_near(20_000, 20)
    plain = replace(pairs, levels=pairs.levels[:])
    for size in (100, 1000):
        spent = {}
        for name, matrix in (("pairs", pairs), ("plain", plain)):
            greedy, picked = clock(functools.partial(pick, matrix, size), 3)
            most = measure_memory(functools.partial(pick, matrix, size)) / 1e6
            spent[name] = (greedy, picked)
            print(
                f"20,000 x 20,000, 20 near, K {size}, {name}: {greedy:.4f} CPU s, +{most:.1f} MB", flush=True
            )
        assert spent["pairs"][1] == spent["plain"][1]
        print(f"  the plain array takes {spent['plain'][0] / spent['pairs'][0]:.1f} times as long")
        inputs = Inputs(pairs)
        chosen, document = clock(functools.partial(select, inputs, size, folds=1))
        checked, verdict = clock(functools.partial(verify, document, inputs))
        print(f"  selected and certified in {chosen:.2f} CPU s, verified in {checked:.2f}: {verdict}")


def measure_exact() -> None:
    """Print, for the 81 judge-like instances, what HiGHS proves and what whole numbers show."""
    instances = itertools.product((1, 2, 3), (1000, 2000, 5000), (40, 80, 100), (50, 20, 10))
    told = [_measure_exact(*instance) for instance in instances]
    print(
        f"{len(told)} instances: proven by HiGHS {sum(one for one, _ in told)}, "
        f"in whole numbers {sum(one for _, one in told)}"
    )


def _measure_exact(seed: int, items: int, anchors: int, size: int) -> tuple[bool, bool]:
    problem = pose(draw_judge(items, anchors, seed), size)
    spent, chosen = clock(lambda: choose(problem, exact=True, folds=1))
    by_solver = solve(problem, chosen.picks.items, chosen.tight).proven
    value, bound = chosen.picks.value, chosen.tight.value
    gap = f"gap {100 * (1 - value / bound):.3f} %, {spent:.1f} CPU s, proven by HiGHS: {by_solver}"
    print(f"seed {seed} {items} x {anchors} K {size}: {gap}, in whole numbers: {value == bound}", flush=True)
    return by_solver, value == bound


PARTS: dict[str, Callable[[], None]] = {
    "small": lambda: race("judge 10,000 x 200", draw_judge(10_000, 200), [50], list(PEERS)),
    "peers": lambda: race("judge 100,000 x 500", draw_judge(100_000, 500), [10, 100, 1000], list(PEERS)),
    "smooth": lambda: race("smooth 100,000 x 500", draw_smooth(100_000, 500), [100], ["submodlib"]),
    "domains": race_domains,
    "gaps": measure_gaps,
    "large": measure_large,
    "sparse": race_sparse,
    "exact": measure_exact,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; none: all")
    names = parser.parse_args().parts or [name for name in PARTS if name != "exact"]
    tiny = pose(draw_judge(5000, 16), 3)
    choose(tiny, improve=True)  # compiles
    pick_greedily(tiny, standing=StandingGains(tiny, SelectionRules().block_items))
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    main()
