"""CPU time and memory of support: what is added to embedding, the reference bank, the calibrators.

Run as `python -m benchmarks.support`. Vectors are drawn, not embedded: the figures are
what the adapters add to the encoder's own time. With `--judge 100000`: so many judge calls
against a scripted endpoint, 200 at once, 5 % of them failing, the driver killed twice.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules, SupportRules
from kina_build.encode.embedding import embed
from kina_build.items.model import Item, Option
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import write_records
from kina_build.support.anchors import Anchor
from kina_build.support.bank.labels import ItemLabel, PairLabel
from kina_build.support.bank.logistic import fit_calibrator, solve_ridge_logistic
from kina_build.support.bank.reference import support_by_bank
from kina_build.support.embedding import (
    EmbeddingPartition,
    make_embedding_partition,
    plan_embedding,
    support_by_embedding,
)
from kina_build.support.partition.files import make_partitions, work_folder
from kina_build.support.partition.pool import partition_pool

DIMENSION = 384
TOPICS = 100


def draw_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Draw a unit vector for each text: texts that begin with the same word are near."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(TOPICS, DIMENSION))
    topics = [int(text.split()[0].removeprefix("topic")) % TOPICS for text in texts]
    vectors = centers[topics] + 1.2 * rng.normal(size=(len(texts), DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def draw_items(count: int, domains: int = 1) -> Iterator[Item]:
    rng = np.random.default_rng(1)
    for number in range(count):
        yield Item(
            item_id=f"q{number:07}",
            field=f"d{number % domains}",
            subfield=f"s{number % 7}",
            question=f"topic{number % TOPICS} " + " ".join(f"w{w}" for w in rng.integers(0, 3000, 20)),
            options=(Option(key="A", answer=f"topic{number % TOPICS}"), Option(key="B", answer="none")),
            correct_answer="A",
        )


def draw_anchors(count: int) -> list[Anchor]:
    return [
        Anchor(anchor_id=f"u{n:04}", kind="item", statement=f"topic{n % TOPICS} statement {n}")
        for n in range(count)
    ]


def draw_labels(items: Sequence[Item]) -> tuple[list[ItemLabel], list[PairLabel]]:
    rng = np.random.default_rng(2)
    singles = [
        ItemLabel(item_id=items[i].item_id, aligned=bool(rng.random() < 0.85))
        for i in rng.choice(len(items), 140, replace=False)
    ]
    pairs = []
    for n, i in enumerate(rng.choice(len(items) - 2 * TOPICS, 80, replace=False)):
        other = items[i + (TOPICS if n % 2 else 1)]
        label = PairLabel(
            item_id=items[i].item_id, other_id=other.item_id, support=bool(n % 2), duplicate=n % 10 == 1
        )
        pairs.append(label)
    return singles, pairs


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result, CPU seconds, and the MiB by which the process's peak memory grew."""
    before = peak_mib()
    start = time.process_time()
    result = work()
    return result, time.process_time() - start, peak_mib() - before


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(name: str, seconds: float, peak: float, note: str) -> None:
    print(f"{name:<44}{seconds:>9.2f} CPU s {peak:>+7.0f} MiB   {note}", flush=True)


def time_embedding() -> None:
    items, anchors = list(draw_items(10_000)), draw_anchors(200)
    kept = {len(items): draw_vectors([i.question for i in items])}
    kept[len(anchors)] = draw_vectors([a.statement for a in anchors])
    _, seconds, peak = timed(lambda: support_by_embedding(items, anchors, lambda texts: kept[len(texts)]))
    show("embedding, 10,000 x 200, beyond the encoder", seconds, peak, "goal: 1 s")


@dataclass
class DrawnEncoder:
    """Vectors drawn for texts, in the place of an encoder."""

    name: str = "drawn"
    revision: str = "1"
    dimension: int = DIMENSION

    def encode(self, texts: Sequence[str], on_progress: Progress = silent) -> NDArray[np.float32]:
        return draw_vectors(texts)


def time_parts(count: int, size: int) -> None:
    """Print what a pool on disk takes to be scored in parts; peaks are those beyond earlier steps."""
    encoder, anchors, rules = DrawnEncoder(), draw_anchors(100), SupportRules(scale=255)
    with tempfile.TemporaryDirectory() as name:
        pool, target = Path(name) / "pool.jsonl", Path(name) / "support"
        write_records(pool, draw_items(count))
        dealt, seconds, peak = timed(
            lambda: partition_pool(pool, work_folder(target), size=lambda _: size, sample=5000)
        )
        show(f"pool of {count:,} cut into parts of {size:,}", seconds, peak, "")
        plan = plan_embedding(
            dealt, anchors, encoder, name="drawn", encoding=DedupRules(), cache=None, rules=rules
        )

        def make(part: EmbeddingPartition) -> None:
            make_embedding_partition(part, lambda texts: embed(texts, encoder))

        _, seconds, peak = timed(lambda: make_partitions(plan, make, target))
        show("  scored part by part, vectors drawn", seconds, peak, f"{len(anchors)} anchors")


def time_bank(count: int) -> None:
    items, anchors = list(draw_items(count)), draw_anchors(20)
    singles, pairs = draw_labels(items)
    vectors = draw_vectors([*(i.question for i in items), *(a.statement for a in anchors)])
    found, seconds, peak = timed(
        lambda: support_by_bank(
            items, anchors, item_labels=singles, pair_labels=pairs, embed=lambda _: vectors,
            rules=SupportRules(bank_alignment=0.6),
        )
    )  # fmt: skip
    domain = next(iter(found.report["domains"].values()))
    share = domain["pairs_scored"] / (count * (count - 1) / 2)
    note = f"{domain['pairs_scored']:,} pairs scored, {share:.1%} of all; bank {domain['bank']}"
    show(f"reference bank, {count:,} items, B = 200", seconds, peak, note)


def time_calibrators() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(140, 7))
    labels = rng.random(140) < 0.6
    members = np.arange(140).reshape(-1, 1)
    rules = SupportRules()
    _, ours, peak = timed(
        lambda: fit_calibrator(
            "abcdefg", features, labels=labels, members=members, rules=rules, rng=np.random.default_rng(0)
        )
    )
    show("calibrator, 140 labels, 200 refits", ours, peak, "ours")
    try:
        start = time.process_time()
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        print("scikit-learn is not installed: no comparison")
        return
    load = time.process_time() - start
    weights = np.random.default_rng(0).integers(0, 3, size=(200, 140)).astype(float)

    def theirs() -> NDArray[np.float64]:
        model = LogisticRegression(C=1.0, tol=1e-8, max_iter=500)
        return np.array([model.fit(features, labels, sample_weight=row).coef_[0] for row in weights])

    all_theirs, seconds, peak = timed(theirs)
    show("the same by scikit-learn", seconds, peak, f"{seconds / ours:.1f} x ours; its import {load:.1f} s")
    design = np.column_stack([np.ones(140), features])
    same = solve_ridge_logistic(design, labels.astype(float), weights, 1.0)[:, 1:]
    print(f"largest difference of a coefficient: {np.abs(all_theirs - same).max():.1e}")


def time_judge(calls: int) -> None:
    from tests.live import judging

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        judging.lay_out(folder, calls, concurrency=200)
        with judging.judge_endpoint(folder) as url:
            done = judging.judge_through(folder, url, calls, kills=2, limit_s=3600)
            counts = judging.told(url)
    happened = counts["counts"]
    unheard = {name: happened.get(name, 0) for name in ("slow", "dropped", "malformed")}
    print(
        f"{calls:,} judge calls planned, 200 at once, 5 % failing, driver killed twice:\n"
        f"  {done.wall_s:.0f} s, {done.cpu_s:.0f} CPU s of the drivers, {done.peak_mb:.0f} MB at most\n"
        f"  {happened['calls']:,} calls arrived for {counts['keys']:,} requests: {dict(happened)}\n"
        f"  billed {happened['billed']:,}, pairs sold {counts['pairs']:,} of {2 * calls:,}, "
        f"sold twice {counts['pairs_sold_twice']}\n"
        f"  given again, which an endpoint without keys would have billed anew: {happened['given again']}, "
        f"of them at most {sum(unheard.values())} whose reply never arrived ({unheard}), "
        f"the rest open when the driver was killed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", type=int, metavar="CALLS", help="time judge calls instead")
    given = parser.parse_args()
    if given.judge:
        time_judge(given.judge)
        return
    time_parts(200_000, 25_000)
    time_embedding()
    for count in (1_000, 10_000):
        time_bank(count)
    time_calibrators()


if __name__ == "__main__":
    main()
