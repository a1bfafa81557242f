"""What a set is worth once its anchors are full: fill by centrality, r-fold coverage, spread.

    python -m benchmarks.saturation --data DIR --into DIR

MMLU-Redux: all its questions, 48 anchors that are names of its subjects; how many of the 57
subjects K items reach, and how alike they are (mean cosine of an item's text and the nearest
other one's), beside 100 random sets. MMLU-Pro: 899 of its items, 200 items as anchors, three
draws of them; how far the mean of the 26 recorded models lies off, in points.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real import kina
from kina_build.config import SelectionRules, SupportRules
from kina_build.encode import default_cache, embed, item_text, load_encoder
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.selection.inputs import Inputs
from kina_build.selection.posing import split
from kina_build.selection.solver.choose import choose
from kina_build.support.anchors import Anchor
from kina_build.support.embedding import support_by_embedding
from kina_build.support.matrix import SupportMatrix
from kina_build.support.spread import add_spread

DRAWS = 100
SHARES = (0.25, 0.5, 0.75)
PICKS_ONLY = SelectionRules(dual_rounds=0)
NEAR = SupportRules().spread_near

Way = tuple[SupportMatrix, int | None]
"""Support, and the items that count for an anchor: None is the rule of `kina select`."""


def embed_all(texts: Sequence[str]) -> Any:
    return embed(texts, load_encoder("all-MiniLM-L6-v2"), default_cache())


def ways(items: Sequence[Item], anchors: Sequence[Anchor]) -> dict[str, Way]:
    """Return the ways of going on past saturation."""
    plain = support_by_embedding(items, anchors, embed_all, all_domains=True)
    found: dict[str, Way] = {"fill": (plain, 1), "r-fold": (plain, None)}
    for share in SHARES:
        wide = add_spread(plain, items, embed_all, share, NEAR)
        found[f"spread {share}"] = (wide, None)
    return found


def pick(way: Way, size: int, exclude: frozenset[str] = frozenset()) -> tuple[list[int], int]:
    """Return the rows that are picked, and r."""
    choice = choose(split(Inputs(way[0], exclude=exclude), size)[""], PICKS_ONLY, folds=way[1])
    return sorted(choice.picks.items), choice.problem.folds


def alike(vectors: Any, rows: Sequence[int]) -> float:
    """Return the mean cosine of an item and the nearest other one of a set."""
    cosines = vectors[rows] @ vectors[rows].T
    np.fill_diagonal(cosines, -1)
    return float(cosines.max(axis=1).mean())


def band(values: Sequence[float]) -> str:
    low, high = np.percentile(values, [5, 95])
    return f"{np.mean(values):8.3f} ({low:.3f} to {high:.3f})"


def measure_redux(data: Path) -> None:
    flags = "--map correct_answer=answer --name-as subfield --cut-prefix mmlu_ --encoding mac_roman"
    kina(f"import -q {flags} -o pool.jsonl", *sorted((data / "mcq" / "mmlu_redux").glob("mmlu_*.csv")))
    items = sorted(read_pool(Path("pool.jsonl")), key=lambda item: item.item_id)
    subject = np.array([item.subfield for item in items])
    names = sorted(set(subject.tolist()))[:48]
    anchors = [Anchor(anchor_id=name, kind="concept", statement=name.replace("_", " ")) for name in names]
    vectors = embed_all([item_text(item) for item in items])
    rng, found = np.random.default_rng(0), ways(items, anchors)
    print(f"MMLU-Redux: {len(items)} items of {len(set(subject.tolist()))} subjects, {len(anchors)} anchors")
    for size in (48, 100, 300):
        sets = [rng.choice(len(items), size, replace=False) for _ in range(DRAWS)]
        reached = band([len(set(subject[rows].tolist())) for rows in sets])
        print(f"K {size:3} random       subjects {reached}  alike {band([alike(vectors, r) for r in sets])}")
        for name, way in found.items():
            rows, folds = pick(way, size)
            told = f"subjects {len(set(subject[rows].tolist())):8}  alike {alike(vectors, rows):8.3f}"
            print(f"K {size:3} {name:12} {told}  r {folds}", flush=True)


def measure_pro(data: Path, seeds: int) -> None:
    source = data / "mmlu_pro" / "items.jsonl"
    flags = "--map item_id=question_id --map discipline= --map subfield=category -o pro.jsonl"
    kina(f"import -q {flags}", "--set", "field=MMLU-Pro", source)
    items = sorted(read_pool(Path("pro.jsonl")), key=lambda item: item.item_id)
    right = read_right(data / "mmlu_pro", [item.item_id for item in items])
    whole, rng = right.mean(axis=1), np.random.default_rng(0)
    strata = np.array([item.subfield for item in items])
    drawn = [off(right, whole, draw_stratified(strata, 899, rng)) for _ in range(DRAWS)]
    names = ("bias", "error", "calibrated")
    told = "  ".join(f"{name} {band([one[at] for one in drawn])}" for at, name in enumerate(names))
    print(f"MMLU-Pro: {len(items)} items, 899 taken\nstratified random  {told}")
    for seed in range(seeds):
        order = sorted(items, key=lambda item: hashlib.sha256(f"{seed} {item.item_id}".encode()).hexdigest())
        anchors = [
            Anchor(anchor_id=f"a{i.item_id}", kind="item", statement=f"{i.question} {i.correct_text}")
            for i in order[:200]
        ]
        bank = frozenset(item.item_id for item in order[:200])
        for name, way in ways(items, anchors).items():
            rows, folds = pick(way, 899, bank)
            bias, error, line = off(right, whole, rows)
            told = f"bias {bias:+6.2f}  error {error:5.2f}  calibrated {line:5.2f}"
            print(f"anchors {seed} {name:12} {told}  r {folds}", flush=True)


def read_right(folder: Path, item_ids: Sequence[str]) -> Any:
    """Return which model answered which item right, shape (models, items)."""
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().split("\n") if line]
    place = {str(row["question_id"]): at for at, row in enumerate(rows)}
    key = np.array([row["answer"] for row in rows])
    answers: list[Mapping[str, Any]] = [
        json.loads(line) for line in (folder / "answers.jsonl").read_text().split("\n") if line
    ]
    table = np.array([np.array(list(row["answers"])) == key for row in answers])
    return table[:, [place[item_id] for item_id in item_ids]]


def draw_stratified(strata: Any, size: int, rng: np.random.Generator) -> list[int]:
    """Draw each stratum's share, rounded at random."""
    order = rng.permutation(len(strata))
    by_stratum = order[np.argsort(strata[order], kind="stable")]
    steps = rng.random() + np.arange(size)
    return by_stratum[(steps * len(strata) / size).astype(int) % len(strata)].tolist()


def off(right: Any, whole: Any, rows: Sequence[int]) -> tuple[float, float, float]:
    """Return by how many points scores on a set lie off: on average, in size, and by the others' line.

    The line from the set's scores to the whole is fitted without the model whose error is taken.
    """
    part = right[:, rows].mean(axis=1)
    gap, left = 100 * (part - whole), []
    for model in range(len(part)):
        rest = np.arange(len(part)) != model
        slope, start = np.polyfit(part[rest], whole[rest], 1)
        left.append(100 * abs(slope * part[model] + start - whole[model]))
    return float(gap.mean()), float(np.abs(gap).mean()), float(np.mean(left))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True, help="folder of the public corpora")
    parser.add_argument("--into", type=Path, default=Path("saturation"), help="folder to work in")
    parser.add_argument("--seeds", type=int, default=10, help="draws of 200 anchors of MMLU-Pro")
    parser.add_argument("--only", choices=["redux", "pro"], help="one half of the run")
    given = parser.parse_args()
    data = given.data.resolve()
    given.into.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(given.into):
        if given.only != "pro":
            measure_redux(data)
        if given.only != "redux":
            measure_pro(data, given.seeds)


if __name__ == "__main__":
    main()
