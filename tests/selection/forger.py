"""A forger of certificates: documents edited field by field, and the truth of what would be printed.

The truth comes from trying every set of a small instance in fractions, without any code of the
selector or the verifier: a case is a fault where certify would exit 0 and a printed statement is
false, or where it falls over.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from kina_build.config import SelectionRules
from kina_build.errors import KinaError
from kina_build.selection.domains import select
from kina_build.selection.figures import figures_of
from kina_build.selection.guarantees import STATEMENTS
from kina_build.selection.inputs import Inputs, sort_pairs
from kina_build.selection.reading import read_selection, restate, seal
from kina_build.selection.records import Quota, Selection
from kina_build.selection.verifier.verify import verify
from kina_build.support.rows import Score, matrix_from_scores

QUICK = SelectionRules(dual_rounds=1, dual_steps=12, search_rounds=3)
EDITS_A_WORLD = 25
Path_ = tuple[Any, ...]


@dataclass(frozen=True)
class World:
    """An instance as people give it."""

    scores: Mapping[tuple[str, str], float]
    weights: Mapping[str, float]
    items: tuple[str, ...]
    strata: Mapping[str, str]
    domains: Mapping[str, str] | None
    quotas: tuple[Quota, ...]
    pairs: tuple[tuple[str, str], ...]
    mode: Any
    must: frozenset[str]
    exclude: frozenset[str]
    size: int | None

    def inputs(self) -> Inputs:
        """Return what kina reads."""
        rows = [Score(item, anchor, score, 1) for (item, anchor), score in self.scores.items()]
        return Inputs(
            matrix=matrix_from_scores(rows, self.weights, "scores"),
            strata=self.strata,
            domains=self.domains,
            quotas=self.quotas,
            conflicts=sort_pairs(self.pairs),
            conflict_mode=self.mode,
            must=self.must,
            exclude=self.exclude,
        )


def draw_world(rng: random.Random) -> World:
    """Draw an instance of 4 to 9 items, some with two or three domains, some with long decimals."""
    items = tuple(f"q{n}" for n in range(rng.randint(4, 9)))
    anchors = [f"u{n}" for n in range(rng.randint(1, 4))]
    digits = rng.choice([1, 1, 2, 8])
    scores = {(i, a): round(rng.random(), digits) for i in items for a in anchors if rng.random() < 0.7}
    for item in items:
        scores.setdefault((item, anchors[0]), 0.0)
    weights = {
        a: rng.choice([1.0, 2.0, 3.0, rng.random() + 0.1, float(rng.randint(1, 10**9))]) for a in anchors
    }
    count = rng.choice([0, 0, 2, 3])
    domains = {i: f"d{rng.randrange(count)}" for i in items} if count else None
    strata = {i: rng.choice("ab") for i in items}
    quotas = [
        Quota(
            domain="" if domains is None else name,
            k=None if domains is None else 1 + len(name) % 2 + (name == "d1"),
            stratum=stratum,
            lower=rng.choice([0, 0, 1]),
            upper=rng.choice([None, 2, 3]),
        )
        for name in (sorted(set(domains.values())) if domains else [""])
        for stratum in "ab"
    ]
    if domains is None and rng.random() < 0.4:
        quotas = []
    pairs = [tuple(rng.sample(items, 2)) for _ in range(rng.choice([0, 1, 3, 6]))]
    must = frozenset(rng.sample(items, rng.choice([0, 0, 1])))
    exclude = frozenset(rng.sample(items, rng.choice([0, 0, 1]))) - must
    size = None if domains else rng.randint(1, min(5, len(items)))
    mode = rng.choice(["clusters", "pairwise"])
    found = tuple((one, other) for one, other in pairs)
    return World(scores, weights, items, strata, domains, tuple(quotas), found, mode, must, exclude, size)


class Truth:
    """What holds of an instance, by trying every set."""

    def __init__(self, world: World, mode: str) -> None:
        self.world = world
        self.rivals = self._rivals(mode)
        self.weights = {a: Fraction(repr(w)) for a, w in world.weights.items()}
        self.scores = {pair: Fraction(repr(s)) for pair, s in world.scores.items()}
        barred = set(world.exclude)
        barred |= {j for i in world.must for j in self.rivals[i]} - world.must
        self.open = [i for i in world.items if i not in barred]

    def _rivals(self, mode: str) -> dict[str, set[str]]:
        near: dict[str, set[str]] = {i: set() for i in self.world.items}
        for one, other in self.world.pairs:
            near[one].add(other)
            near[other].add(one)
        if mode == "clusters":
            for middle, one, other in itertools.product(self.world.items, repeat=3):
                if one != other and middle in near[one] and middle in near[other]:
                    near[one].add(other)
                    near[other].add(one)
            for middle, one, other in itertools.product(self.world.items, repeat=3):
                if one != other and middle in near[one] and middle in near[other]:
                    near[one].add(other)
                    near[other].add(one)
        return near

    def home(self, item: str) -> str:
        return "" if self.world.domains is None else self.world.domains[item]

    def value(self, items: Iterable[str], folds: Mapping[str, int]) -> Fraction:
        """Return the objective of a set, as given; anchors count as many items as their domain says."""
        chosen = list(items)
        zero = Fraction(0)
        total = zero
        for name in {self.home(i) for i in chosen}:
            own = [i for i in chosen if self.home(i) == name]
            for a, w in self.weights.items():
                levels = sorted((self.scores.get((i, a), zero) for i in own), reverse=True)
                total += w * sum(levels[: folds.get(name, 1)], zero)
        return total

    def sets(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
        """Yield the sets that keep conflicts, upper quotas and must, and no size above what is asked."""
        upper = {(q.domain, q.stratum): q.upper for q in self.world.quotas}
        most = min(len(self.open), sum(sizes.values()))
        for count in range(most + 1):
            for chosen in itertools.combinations(self.open, count):
                held = Counter(map(self.home, chosen))
                cells = Counter((self.home(i), self.world.strata[i]) for i in chosen)
                if (
                    self.world.must <= set(chosen)
                    and all(held[name] <= sizes.get(name, 0) for name in held)
                    and all((upper.get(k) is None or n <= (upper[k] or 0)) for k, n in cells.items())
                    and not any(o in self.rivals[i] for i, o in itertools.combinations(chosen, 2))
                ):
                    yield chosen

    def lacks(self, chosen: Iterable[str]) -> int:
        """Return the items lacking to the lower quotas."""
        cells = Counter((self.home(i), self.world.strata[i]) for i in chosen)
        return sum(max(0, q.lower - cells[q.domain, q.stratum]) for q in self.world.quotas)

    def fills(self, chosen: Iterable[str], lower: Mapping[tuple[str, str], int]) -> bool:
        """Tell whether a set meets lower quotas."""
        cells = Counter((self.home(i), self.world.strata[i]) for i in chosen)
        return all(cells[key] >= least for key, least in lower.items())


def false_statements(document: Selection, world: World) -> list[str]:
    """Return what is printed of a document that passed and does not hold."""
    truth = Truth(world, document.conflict_mode)
    said = figures_of(document.model_dump(mode="json"))
    chosen = document.item_ids
    found = []
    names = sorted({q.domain for q in world.quotas if q.k is not None}) or [""]
    asked = {
        n: next((q.k or 0 for q in world.quotas if q.domain == n and q.k is not None), -1) for n in names
    }
    if asked == {"": -1}:
        asked = {"": sum(part.k for part in document.domains)}  # its own word, printed as such
    fits = list(truth.sets(asked))
    if tuple(sorted(chosen)) not in {tuple(sorted(one)) for one in fits}:
        return [f"{chosen} breaks a constraint"]
    short = sum(asked.values()) - len(chosen)
    lacks = truth.lacks(chosen)
    fewest = min(map(truth.lacks, fits))
    lower = {(q.domain, q.stratum): q.lower for q in world.quotas}
    for part in document.domains:
        for row in part.strata:
            lower[row.domain, row.stratum] = lower.get((row.domain, row.stratum), 0) - row.shortfall
    fits = [one for one in fits if truth.fills(one, lower)]
    best = (fewest, -max(map(len, fits)))
    guarantee = document.certificate.guarantee
    open_question = any("not shown" in part.certificate.guarantee.statement for part in document.domains)
    if (short or lacks) and not open_question and (lacks, -len(chosen)) != best:
        found.append(f"a shortfall of {short} and {lacks}, but the least is {best}")
    if not (short or lacks) and "cannot be met" in guarantee.statement:
        found.append("a shortfall is claimed of a full set")
    alike = [one for one in fits if len(one) == len(chosen) and _counts(truth, one) == _counts(truth, chosen)]
    folds = {name: part.folds for part in document.domains for name in part.sizes}
    optimum = max(truth.value(one, folds) for one in alike)
    value = truth.value(chosen, folds)
    found += _false_coverage(document, truth, alike)
    if Fraction(said.bound) < optimum:
        found.append(f"no set exceeds {said.bound}, but one has {float(optimum)}")
    if Fraction(said.share.rstrip(" %")) / 100 > (value / optimum if optimum else 1):
        found.append(f"at least {said.share} of the optimum, but {float(value / optimum)}")
    slack = Fraction(said.rounding) if said.rounding else Fraction(0)
    if abs(Fraction(said.objective) - value) > slack + value / 10**5:
        found.append(f"objective {said.objective}, but {float(value)}")
    if guarantee.factor and Fraction(guarantee.factor) * optimum > value + slack + Fraction(1, 10**9):
        found.append(f"the factor {guarantee.factor} does not hold")
    return found


def _false_coverage(document: Selection, truth: Truth, alike: Iterable[tuple[str, ...]]) -> list[str]:
    """Return what is printed of F, where another objective was maximised, and does not hold."""
    said = document.coverage
    if said is None:
        told = any(part.folds > 1 for part in document.domains)
        return ["F is not told where another objective was maximised"] if told else []
    optimum, value = max(truth.value(one, {}) for one in alike), truth.value(document.item_ids, {})
    unit = Fraction(document.scale * document.weight_unit, document.weight_step)
    slack = Fraction(document.slack) / unit
    found = []
    if abs(Fraction(said.steps) / unit - value) > slack:
        found.append(f"F {said.objective}, but {float(value)}")
    if Fraction(said.upper_steps) / unit + slack < optimum:
        found.append(f"no set covers more than {said.upper_bound}, but one has {float(optimum)}")
    if Fraction(said.ratio) > (value / optimum if optimum else 1) + Fraction(1, 10**9):
        found.append(f"F is at least {said.ratio} of the best, but {float(value / optimum)}")
    if not math.isclose(said.objective, said.steps / unit, rel_tol=1e-9, abs_tol=1e-12):
        found.append(f"F is {said.objective} and {said.steps} steps")
    return found


def _counts(truth: Truth, items: Iterable[str]) -> Counter[str]:
    return Counter(map(truth.home, items))


def forge(document: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Edit one field, or two."""
    copied: dict[str, Any] = copy.deepcopy(dict(document))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = rng.choice(list(_paths(copied)))
        _edit(copied, path, rng)
    return copied


def _paths(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from _paths(one, (*path, key))


def _edit(document: Any, path: Path_, rng: random.Random) -> None:
    home = document
    for key in path[:-1]:
        home = home[key]
    key, old = path[-1], home[path[-1]]
    siblings = list(home.values()) if isinstance(home, dict) else list(home)
    scale = document.get("scale", 1000)
    numbers = [
        0,
        -1,
        1,
        scale if isinstance(scale, int) else 1000,
        1001,
        2**53,
        2**63,
        2**64,
        math.nan,
        0.5,
        1e308,
    ]
    near = [old + 1, old - 1, old * 2, -old] if isinstance(old, int | float) else []
    other = [str(old), None, [old], {"x": old}, True, "", [], {}]
    choice = rng.randrange(6)
    if choice == 0 and isinstance(old, list):
        rng.shuffle(old)
    elif choice == 1:
        if isinstance(home, dict):
            del home[key]
        else:
            home.pop(key)
    elif choice == 2 and isinstance(home, list):
        home.insert(key, copy.deepcopy(old))
    elif choice == 3:
        home[key] = copy.deepcopy(rng.choice(siblings))
    elif choice == 4:
        home[key] = rng.choice(other)
    else:
        home[key] = rng.choice(near or numbers) if rng.random() < 0.6 else rng.choice(numbers)


def pretend_short(document: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Claim that more was asked for and cannot be had, in all fields alike, with some cut or none."""
    copied: dict[str, Any] = copy.deepcopy(dict(document))
    part = rng.choice(copied["domains"])
    name = rng.choice(list(part["sizes"]))
    part["k"] += 1
    part["sizes"][name] += 1
    part["shortfall"] += 1
    part["lacking"][name] = part["lacking"].get(name, 0) + 1
    cells = [[row["domain"], row["stratum"]] for row in part["strata"]] or [[name, ""]]
    cuts = [
        {
            "domains": [d for d in part["sizes"] if rng.random() < 0.3],
            "strata": [cell for cell in cells if rng.random() < 0.6],
        }
        for _ in range(2)
    ]
    shown = rng.random() < 0.7
    part["proof"] = dict(zip(("lower", "size"), cuts, strict=True)) if shown else None
    statement = STATEMENTS["shortfall" if shown else "unshown"]
    claim = {"theorem": "none", "factor": 0.0, "k": None, "statement": statement}
    part["certificate"]["guarantee"] = claim
    if len(copied["domains"]) > 1:
        claim = claim | {"statement": f"the weakest of {len(copied['domains'])} domains: {statement}"}
    copied["certificate"]["guarantee"] = claim
    return copied


def cheat(world: World, rng: random.Random) -> World:
    """Edit an input instead: a score, a weight, a quota, a conflict."""
    scores, weights = dict(world.scores), dict(world.weights)
    what = rng.randrange(4)
    if what == 0:
        scores[rng.choice(list(scores))] = rng.choice([0.0, 1.0, 0.5])
    elif what == 1:
        weights[rng.choice(list(weights))] *= rng.choice([0.5, 2.0, 1e9])
    elif what == 2 and world.quotas:
        at = rng.randrange(len(world.quotas))
        quota = world.quotas[at].model_copy(update={"lower": 1, "upper": rng.choice([1, 2, None])})
        return replace(world, quotas=(*world.quotas[:at], quota, *world.quotas[at + 1 :]))
    else:
        return replace(world, pairs=(*world.pairs, tuple(rng.sample(world.items, 2))))  # type: ignore[arg-type]
    return replace(world, scores=scores, weights=weights)


def run_world(seed: int, number: int) -> list[dict[str, Any]]:
    """Draw one instance, forge its document again and again, and return what should not have passed."""
    rng = random.Random(f"{seed} {number}")
    world = draw_world(rng)
    try:
        how: dict[str, Any] = {"allow_shortfall": True, "improve": rng.random() < 0.3}
        folds = rng.choice([None, None, None, 1, 2, 3])
        made = select(world.inputs(), world.size, QUICK, folds=folds, **how)
    except KinaError:
        return []
    faults = [f"untouched: {one}" for one in verify(made, world.inputs()).faults]
    faults += [f"untouched: {one}" for one in false_statements(made, world)]
    whole = json.loads(made.model_dump_json())
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(EDITS_A_WORLD):
            faults += _try(whole, world, rng, Path(folder) / "selection.json")
    return [{"law": law, "place": "certify", "case": number, "seed": seed} for law in faults]


def _try(whole: Mapping[str, Any], world: World, rng: random.Random, file: Path) -> list[str]:
    given, forged = world, dict(whole)
    if rng.random() < 0.2:
        given = cheat(world, rng)
        inputs = given.inputs()
        forged |= {"inputs": inputs.digests, "slack": inputs.matrix.slack}
        forged |= {"weight_unit": inputs.matrix.weight_unit, "weight_step": inputs.matrix.weight_step}
    if rng.random() < 0.2:
        forged = pretend_short(forged, rng)
    elif given is world or rng.random() < 0.5:
        forged = forge(forged, rng)
    file.write_text(json.dumps(forged), encoding="utf-8")
    try:
        document = read_selection(file)
        if rng.random() < 0.8:
            document = seal(document)
        inputs = replace(given.inputs(), conflict_mode=document.conflict_mode)
        verdict = verify(restate(document, inputs.matrix), inputs)
    except KinaError:
        return []
    except Exception as error:  # noqa: BLE001  anything else is a fault in kina
        return [f"fell over: {error!r}"]
    return false_statements(document, given) if verdict.holds else []


def forger(seed: int, first: int, last: int, jobs: int = 1) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Run the worlds from `first` up to `last`, not included, each with its forgeries."""
    for number in range(first, last):
        yield number, run_world(seed, number)
