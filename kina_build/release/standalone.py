"""Recompute every figure of a release from its folder alone, with nothing but Python.

    python verify.py FOLDER

It reads the rows, `release.json`, `README.md`, `SHA256SUMS` and `evidence/`, counts and adds up in
whole numbers, and compares. Nothing in the folder is trusted, this file in it included: who does
not trust the folder takes the file from the package kina-build, or compares its sha256.

F(S) is the sum over the anchors of weight times the best level of any item of S. For any
thresholds t >= 0, F(T) <= sum weight * t + sum over the items of T of sum weight * max(level - t, 0);
the largest right-hand side over all T that the quotas and sizes allow is an upper bound on every F(T).
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pprint
import re
import struct
import sys
import unicodedata
import uuid
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

FORMAT = 2
"""Of the evidence: from 2 on it tells what rounding may have moved, and shares have two decimals."""
INSTANCE = "evidence/instance.json"
SUPPORT = "evidence/support.npz"
JUDGED = "evidence/judged.json"
VERIFIER = "evidence/verify.py"
EVIDENCE = (INSTANCE, SUPPORT, JUDGED, VERIFIER)
BESIDE = ("changes.json", "estimator.json")
"""What some releases have beside their data."""
SPLITS = ("test", "dev")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMESPACE = uuid.UUID("5b0b0c39-7bd5-5a0e-9c55-4f0d1a3c0a10")
"""Of the canaries."""
TYPES = {"<i8": "q", "<i4": "i", "<u4": "I", "<u2": "H", "|u1": "B"}
"""Types of whole numbers in .npy, and what struct calls them."""
PLACES = 9
"""Decimals of a printed objective."""
Z_95 = 1.959963984540054
"""Two-sided 95 % point of the normal distribution, for Wilson's interval."""
BY_GIT = (".git", ".gitattributes")
"""What a clone adds to a folder."""
NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.]*\w)")
"""A number of a text: matches "36" and "99.6" of "36 of them, 99.6 %.", nothing of "C4" and "1.0.0"."""
KINA_EXTRAS = {
    "explanation": "explanation",
    "question_source": "source",
    "question_material": "material",
    "license": "license",
    "language": "language",
}
"""Fields of the KINA form to columns of the rows, where they are given."""
OPINIONS = {"accept", "revise", "reject", "escalate"}
FIELD_TYPES = {"answer_index": "sc:Integer", "several": "sc:Boolean"}
"""Types of the columns in the Croissant file that are no texts."""
FIELD_LISTS = ("choices", "option_explanations")
CONTEXT = "4077c3dbf7d57bdc9b0224f72e9298144b1c76315ce23a068271f3f844899296"
"""sha256 of the JSON-LD context of Croissant."""
HIDDEN = re.compile(r"salted:[0-9a-f]{32}")
"""Name of an item that is not shown."""
REFUSAL = "{} items have several right answers: ask and mark them with kina run and kina score"
SHOTS, REFUSED = "fewshot_split: @shots@", "    raise NotImplementedError(@refusal@)"
HARNESS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "harness/lm_eval/task.py": (
        "e0b2182f4666a80934440647dbfcc98c8692c412d0c39dff08b41a59f6e7817b",
        (
            "    lm_eval --include_path harness/lm_eval --tasks @name@_mc --model ...",
            "SPLITS = @open@",
            REFUSED,
        ),
    ),
    "harness/lm_eval/@name@_mc.yaml": (
        "6b85dbf0c8489f99724c060af7739e47b10a5a9c0d23fdd4ac99623b5309fa35",
        (
            "# @name@, version @version@: the likeliest letter. Written by kina-build.",
            "task: @name@_mc",
            "test_split: @scored@",
            SHOTS,
            '  version: "@version@"',
            '  content_hash: "@content_hash@"',
            '  canary: "@canary@"',
        ),
    ),
    "harness/lm_eval/@name@_gen.yaml": (
        "83144fd2945055c00c1f1705187c9b96104fe430857080e28f05a0d87203806b",
        (
            '# @name@, version @version@: a free reply that ends in "Answer: X". Written by kina-build.',
            "task: @name@_gen",
            "test_split: @scored@",
            '  version: "@version@"',
            '  content_hash: "@content_hash@"',
            '  prompt_version: "@prompt@"',
            '  canary: "@canary@"',
        ),
    ),
    "harness/inspect_ai/@name@.py": (
        "7c1d389d357300d92301347757dff5f95048168333257918f95ff6e893d25fee",
        (
            '"""@name@, version @version@, as an inspect-ai task; written by kina-build.',
            "    inspect eval harness/inspect_ai/@name@.py --model ...",
            'def @name@(split: str = "@scored@") -> Task:',
            REFUSED,
            (
                '        dataset=json_dataset(str(RELEASE / f"{split}.jsonl"), '
                'sample_fields=to_sample, name="@name@"),'
            ),
            '        version="@version@",',
            '            "content_hash": "@content_hash@",',
            '            "prompt_version": "@prompt@",',
            '            "canary": "@canary@",',
        ),
    ),
    "harness/lighteval/@name@.py": (
        "3b4059c2422712333b2de9b96e3cf64f991e4eacc78315a8f6409fc57d93e8d8",
        (
            '"""@name@, version @version@, as a lighteval task; written by kina-build.',
            '    lighteval accelerate "model_name=..." "@name@|0" --custom-tasks harness/lighteval/@name@.py',
            '(then the task is called "community|@name@|0|0").',
            REFUSED,
            '        "name": "@name@",',
            '        "hf_avail_splits": @counts@,',
            '        "evaluation_splits": ["@scored@"],',
            '        "few_shots_split": @pshots@,',
            '        "version": "@version@",',
        ),
    ),
}
"""Harness file to the sha256 of its text with these lines as they stand here, and to the lines.

A line that only some releases have (SHOTS, REFUSED) is left out.
"""
UNPROVEN = "## Stated by the author, not derivable"
"""Heading of the card's only section whose numbers nobody can derive."""


class Unsound(ValueError):
    """Evidence that is not what it has to be."""


def need(holds: bool, what: str) -> None:
    """Refuse evidence.

    Raises:
        Unsound: the condition does not hold.
    """
    if not holds:
        raise Unsound(what)


def read_npz(path: Path) -> dict[str, Sequence[int]]:
    """Read the arrays of an uncompressed .npz file of whole numbers."""
    found: dict[str, Sequence[int]] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            need(info.compress_type == zipfile.ZIP_STORED, f"{path.name}: {info.filename} is compressed")
            need(info.file_size <= path.stat().st_size, f"{path.name}: {info.filename} is cut")
            found[info.filename.removesuffix(".npy")] = _array(archive.read(info), info.filename)
    return found


def _array(data: bytes, name: str) -> Sequence[int]:
    need(data[:8] == b"\x93NUMPY\x01\x00", f"{name}: not an array of version 1")
    (length,) = struct.unpack("<H", data[8:10])
    head = ast.literal_eval(data[10 : 10 + length].decode("latin-1"))
    code, shape = TYPES.get(str(head["descr"])), head["shape"]
    need(code is not None and len(shape) == 1, f"{name}: not a list of whole numbers")
    return struct.unpack(f"<{shape[0]}{code}", data[10 + length :])


class Instance:
    """The support of a release's items and of those it was chosen from, as `evidence/` holds it."""

    def __init__(self, folder: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]], private: set[str]):
        told = read_json(folder / INSTANCE)
        need(told["format"] in {1, FORMAT}, f"{INSTANCE}: format {told['format']} is not {FORMAT}")
        self.full = told["full"] is True
        self.scale, self.weight_unit = whole(told["scale"], 1), whole(told["weight_unit"], 1)
        self.weight_step = whole(told.get("weight_step", 1), 1)
        self.slack = whole(told["slack"]) if told["format"] == FORMAT else None
        self.weights = [whole(weight) for weight in told["anchors"]["weights"]]
        need(len(set(told["anchors"]["ids"])) == len(self.weights), "an anchor stands twice")
        self.names: list[str] = [str(name) for name in told["items"]["ids"]]
        need(len(set(self.names)) == len(self.names), "an item stands twice")
        self.split = [None if name is None else str(name) for name in told["items"]["split"]]
        self.stratum = [str(name) for name in told["items"]["stratum"]]
        self.domain = [str(name) for name in told["items"]["domain"]]
        lengths = {len(self.names), len(self.split), len(self.stratum), len(self.domain)}
        need(len(lengths) == 1, f"{INSTANCE}: the columns of the items differ in length")
        self._read_levels(read_npz(folder / SUPPORT))
        self._check_released(rows, private)
        self.domains = [Domain(self, one) for one in told["domains"]]
        names = [one.name for one in self.domains]
        need(len(set(names)) == len(names) and set(self.domain) <= set(names), "domains do not fit the items")

    @property
    def unit(self) -> int:
        """Return how many steps make one unit of the objective, or weight_step units."""
        return self.scale * self.weight_unit

    def _read_levels(self, arrays: Mapping[str, Sequence[int]]) -> None:
        starts, self.anchor, self.level = arrays["indptr"], arrays["indices"], arrays["data"]
        need(len(starts) == len(self.names) + 1 and starts[0] == 0, f"{SUPPORT}: not a row an item")
        need(starts[-1] == len(self.anchor) == len(self.level), f"{SUPPORT}: the arrays do not fit")
        need(all(0 < level <= self.scale for level in self.level), f"{SUPPORT}: a level beyond the scale")
        for row, (start, stop) in enumerate(pairwise(starts)):
            own = self.anchor[start:stop]
            rising = all(one < other for one, other in pairwise(own))
            inside = not own or (own[0] >= 0 and own[-1] < len(self.weights))
            need(
                start <= stop and rising and inside,
                f"{SUPPORT}: row {row} names anchors twice or unknown ones",
            )
        self.starts = starts

    def _check_released(self, rows: Mapping[str, Sequence[Mapping[str, Any]]], private: set[str]) -> None:
        """Hold the evidence to the rows: each released item stands in it, under its split."""
        need(set(self.split) <= {None, *rows}, f"{INSTANCE}: names a split that the release does not have")
        unshown = [name for name, where in zip(self.names, self.split, strict=True) if where is None]
        need(all(map(HIDDEN.fullmatch, unshown)), f"{INSTANCE}: an item that is not released has a name")
        for split, kept in rows.items():
            told = [name for name, where in zip(self.names, self.split, strict=True) if where == split]
            ids = [row["id"] for row in kept]
            hidden = all(map(HIDDEN.fullmatch, told))
            fits = len(told) == len(ids) and hidden if split in private else sorted(told) == sorted(ids)
            need(fits, f"{INSTANCE}: its items of {split} are not those of {split}.jsonl")

    def pairs(self, row: int) -> Iterator[tuple[int, int]]:
        """Yield the anchors of an item and its levels."""
        start, stop = self.starts[row], self.starts[row + 1]
        return zip(self.anchor[start:stop], self.level[start:stop], strict=True)

    def value(self, rows: Iterable[int], folds: int = 1) -> int:
        """Return the objective of some items: each anchor counts through its best items, so many of them."""
        held: list[list[int]] = [[] for _ in self.weights]
        for row in rows:
            for anchor, level in self.pairs(row):
                held[anchor].append(level)
        tops = (sum(sorted(levels)[-folds:]) for levels in held)
        return sum(top * weight for top, weight in zip(tops, self.weights, strict=True))

    def prices(self, rows: Iterable[int], thresholds: Sequence[int]) -> dict[int, int]:
        """Return what each item weighs above thresholds."""
        weights = self.weights
        return {
            row: sum(
                weights[anchor] * (level - thresholds[anchor])
                for anchor, level in self.pairs(row)
                if level > thresholds[anchor]
            )
            for row in rows
        }


class Domain:
    """What was asked of one domain, and what is released of it."""

    def __init__(self, instance: Instance, told: Mapping[str, Any]):
        self.instance, self.name, self.asked = instance, str(told["name"]), whole(told["k"])
        self.short = told["short"] is True
        self.folds = whole(told.get("folds", 1), 1)
        self.rows = [row for row, name in enumerate(instance.domain) if name == self.name]
        self.released = [row for row in self.rows if instance.split[row] is not None]
        self.quotas: dict[str, tuple[int, int | None]] = {
            str(stratum): (whole(lower), None if upper is None else whole(upper))
            for stratum, lower, upper in told["quotas"]
        }
        own = set(self.rows)
        self.must = [whole(row) for row in told["must"]]
        self.cliques = [[whole(row) for row in group] for group in told["cliques"]]
        members = [row for group in self.cliques for row in group]
        need(
            len(set(members)) == len(members) and {*members, *self.must} <= own,
            "cliques or must-include items",
        )
        self.clique = {row: number for number, group in enumerate(self.cliques) for row in group}
        together = Counter(self.clique[row] for row in self.released if row in self.clique)
        need(all(count == 1 for count in together.values()), "two released items are in conflict")
        self.thresholds = {
            str(kind): [whole(level, most=instance.scale) for level in levels]
            for kind, levels in told["thresholds"].items()
        }
        need(all(len(t) == len(instance.weights) for t in self.thresholds.values()), "thresholds an anchor")

    def counts(self, rows: Iterable[int]) -> Counter[str]:
        """Count items by stratum."""
        return Counter(self.instance.stratum[row] for row in rows)

    def limits(self, size: int, held: Mapping[str, int] | None) -> dict[str, tuple[int, int]]:
        """Return the least and most items of each stratum.

        Args:
            size: of the sets that are bounded.
            held: where given, no stratum is asked for more than this: what fell out is not asked for.
        """
        found = {}
        for name in {*self.quotas, *(self.instance.stratum[row] for row in self.rows)}:
            lower, upper = self.quotas.get(name, (0, None))
            lower = 0 if self.short else lower if held is None else min(lower, held.get(name, 0))
            found[name] = (lower, size if upper is None else min(upper, size))
        return found

    def bound(self, size: int, thresholds: Sequence[int], held: Mapping[str, int] | None) -> int:
        """Bound the objective of every set of a size from above."""
        prices = self.instance.prices(self.rows, thresholds)
        total = sum(prices[row] for row in self.dearest(size, prices, held))
        weights = self.instance.weights
        return total + self.folds * sum(t * weight for t, weight in zip(thresholds, weights, strict=True))

    def dearest(self, size: int, prices: Mapping[int, int], held: Mapping[str, int] | None) -> list[int]:
        """Choose the items of the largest price sum that sizes, quotas and cliques allow.

        Items are taken by falling price while the quotas can still be met, the first of each
        clique and stratum only: the dearest base of a matroid. Conflicts beyond that are dropped,
        which can only raise the bound.
        """
        stratum, limits = self.instance.stratum, self.limits(size, held)
        chosen = [] if held is not None and not set(self.must) <= set(self.released) else list(self.must)
        counts, seen = self.counts(chosen), set[tuple[int, str]]()
        free = size - sum(max(counts[name], lower) for name, (lower, _) in limits.items())
        for row in sorted(set(self.rows).difference(chosen), key=prices.__getitem__, reverse=True):
            cell, (lower, upper) = (self.clique.get(row, -1), stratum[row]), limits[stratum[row]]
            reserved = counts[stratum[row]] < lower
            if (
                prices[row] == 0
                or counts[stratum[row]] >= upper
                or not (reserved or free > 0)
                or cell in seen
            ):
                continue
            if cell[0] >= 0:
                seen.add(cell)
            free -= 0 if reserved else 1
            counts[stratum[row]] += 1
            chosen.append(row)
        return chosen

    def figures(self) -> dict[str, Any]:
        """Return the figures of this domain."""
        held = self.counts(self.released)
        value = self.instance.value(self.released, self.folds)
        found: dict[str, Any] = {"domain": self.name, "asked": self.asked, "released": len(self.released)}
        found |= {"value": value, "bound_asked": None, "bound_released": None}
        found |= {"folds": self.folds} if self.folds > 1 else {}
        if self.instance.full:
            found["bound_asked"] = self.bound(self.asked, self.thresholds["asked"], None)
            found["bound_released"] = self.bound(len(self.released), self.thresholds["released"], held)
            need(
                value <= min(found["bound_asked"], found["bound_released"]),
                "a bound lies below the objective",
            )
        return found

    def quota_figures(self) -> list[dict[str, Any]]:
        """Return what was asked of each stratum and what is released of it."""
        held = self.counts(self.released)
        return [
            {
                "domain": self.name,
                "stratum": name,
                "lower": lower,
                "upper": upper,
                "released": held[name],
                "short": max(0, lower - held[name]),
            }
            for name, (lower, upper) in sorted(self.quotas.items())
        ]


def choose_figures(instance: Instance) -> dict[str, Any]:
    """Return the figures of how well the released items, and each split's, cover the anchors."""
    domains = [domain.figures() for domain in instance.domains]

    def total(name: str) -> int | None:
        values = [one[name] for one in domains]
        return None if None in values else sum(values)

    splits = {}
    for split in [name for name in SPLITS if name in instance.split]:
        parts = [[row for row in one.released if instance.split[row] == split] for one in instance.domains]
        values = [instance.value(rows, one.folds) for one, rows in zip(instance.domains, parts, strict=True)]
        splits[split] = {"items": sum(map(len, parts)), "value": sum(values)}
    folded = any(one.folds > 1 for one in instance.domains)
    plain = {"coverage": sum(instance.value(one.released) for one in instance.domains)} if folded else {}
    if instance.slack is not None:
        plain |= {"slack": instance.slack * sum(one.folds for one in instance.domains)}
    if instance.weight_step > 1:
        plain |= {"weight_step": instance.weight_step}
    return plain | {
        "unit": instance.unit,
        "eligible": len(instance.names) if instance.full else None,
        "asked": total("asked"),
        "released": total("released"),
        "value": total("value"),
        "bound_asked": total("bound_asked"),
        "bound_released": total("bound_released"),
        "splits": splits,
        "domains": domains,
        "quotas": [row for domain in instance.domains for row in domain.quota_figures()],
    }


def judge_figures(
    judged: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]], private: set[str]
) -> dict[str, Any]:
    """Count decisions and audit findings by item, over all and over the released ones."""
    found: dict[str, Any] = {"decisions": None, "audit": None, "audit_released": None}
    for kind in ("decisions", "audit", "opinions"):
        _check_judged(judged.get(kind) or (), kind, rows, private)
    if judged["decisions"] is not None:
        kinds = Counter(str(decision) for _, decision, _ in judged["decisions"])
        found["decisions"] = {kind: kinds[kind] for kind in sorted(kinds)}
    if judged["audit"] is not None:
        need(
            all(type(flawed) is bool for _, flawed, _ in judged["audit"]), f"{JUDGED}: findings are yes or no"
        )
        found["audit"] = audit_figures([flawed for _, flawed, _ in judged["audit"]])
        own = [flawed for _, flawed, split in judged["audit"] if split is not None]
        found["audit_released"] = audit_figures(own)
    if judged.get("opinions") is not None:
        words = {kind for _, counts, _ in judged["opinions"] for kind in counts}
        need(words <= OPINIONS, f"{JUDGED}: opinions of another kind")
        own = [counts for _, counts, split in judged["opinions"] if split is not None]
        found["agreement_released"] = agreement_figures(own)
    return found


def _check_judged(
    judged: Sequence[Any], kind: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], private: set[str]
) -> None:
    """Hold judgements to the rows: each item once, and where it says it is."""
    need(
        len({str(name) for name, _, _ in judged}) == len(judged), f"{JUDGED}: an item stands twice in {kind}"
    )
    ids = {split: {row["id"] for row in kept} for split, kept in rows.items()}
    for name, _, split in judged:
        need(
            name in ids.get(split, ())
            if split in rows and split not in private
            else bool(HIDDEN.fullmatch(name)),
            f"{JUDGED}: {name} is not in {split}",
        )
    for split in private & ids.keys():
        count = sum(where == split for _, _, where in judged)
        need(count <= len(ids[split]), f"{JUDGED}: more items of {split} than it has")


def agreement_figures(items: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """Count how far reviewers agree on some items: equal pairs of opinions, and Krippendorff's alpha.

    alpha = 1 - (n - 1) (n - sum o_cc) / (n^2 - sum n_c^2) for names (Krippendorff 2004, chapter 11), with
    o_cc the pairs of equal opinions, each item weighing as many opinions as it has.

    Args:
        items: opinion to the number of reviewers who hold it, item by item.

    Returns:
        Items with two opinions or more, pairs, equal ones, and alpha as a fraction; None without a value.
    """
    held = [[whole(count) for count in counts.values()] for counts in items]
    judged = [counts for counts in items if sum(counts.values()) > 1]
    pairs = sum(sum(counts) * (sum(counts) - 1) // 2 for counts in held)
    equal = sum(count * (count - 1) // 2 for counts in held for count in counts)
    total: Counter[str] = Counter()
    matched = Fraction(0)
    for counts in judged:
        total.update(counts)
        matched += Fraction(sum(n * (n - 1) for n in counts.values()), sum(counts.values()) - 1)
    n = sum(total.values())
    chance = n * n - sum(count * count for count in total.values())
    alpha = 1 - (n - 1) * (n - matched) / chance if chance else None
    told = None if alpha is None else [alpha.numerator, alpha.denominator]
    return {"items": len(judged), "pairs": pairs, "equal": equal, "alpha": told}


def audit_figures(flawed: Sequence[bool]) -> dict[str, Any]:
    """Count findings of an audit."""
    return {"audited": len(flawed), "flawed": sum(flawed)}


def derive(
    folder: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]], private: set[str]
) -> dict[str, Any]:
    """Derive the figures of a release from its rows and its evidence.

    Args:
        folder: of the release.
        rows: by split.
        private: splits whose answers are kept apart.

    Returns:
        Under "selection" and "review" what the evidence shows; None where it has nothing.

    Raises:
        Unsound: the evidence is not what it has to be.
    """
    found: dict[str, Any] = {"selection": None, "review": None}
    try:
        if (folder / INSTANCE).exists():
            found["selection"] = choose_figures(Instance(folder, rows, private))
        if (folder / JUDGED).exists():
            found["review"] = judge_figures(read_json(folder / JUDGED), rows, private)
    except Unsound:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OSError, SyntaxError) as error:
        raise Unsound(f"evidence: cannot be read: {error}") from None
    except (zipfile.BadZipFile, struct.error, RecursionError, MemoryError, NotImplementedError) as error:
        raise Unsound(f"evidence: cannot be read: {error}") from None
    return found


def share(value: int, bound: int, digits: int = 2) -> str:
    """Write value / bound in percent, rounded down."""
    parts = 100 * 10**digits * value // bound if bound else 100 * 10**digits
    return f"{parts // 10**digits}.{parts % 10**digits:0{digits}d} %"


def reached(found: Mapping[str, Any], bound: str) -> str:
    """Write what share of a bound the release reaches at least, after what rounding may have moved.

    Args:
        found: figures of the released set; those of evidence of format 1 tell no slack.
        bound: name of the bound among them.
    """
    slack = found.get("slack", 0)
    return share(max(0, found["value"] - slack), found[bound] + slack, _digits(found))


def part_of(found: Mapping[str, Any], split: str) -> str:
    """Write the share of the released set's objective that a split has by itself."""
    return share(found["splits"][split]["value"], found["value"], _digits(found))


def _digits(found: Mapping[str, Any]) -> int:
    return 2 if "slack" in found else 1


def amount(found: Mapping[str, Any], value: int, *, up: bool = False) -> str:
    """Write an objective with PLACES decimals, rounded down; or a bound, rounded up, with the slack."""
    unit = found["unit"]
    scaled = (value + found.get("slack", 0) * up) * found.get("weight_step", 1) * 10**PLACES
    steps = -(-scaled // unit) if up else scaled // unit
    return f"{steps // 10**PLACES}.{steps % 10**PLACES:0{PLACES}d}"


def bounds_of(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name the sizes that the release is compared with: as asked and, where items fell, as released."""
    sizes = [("asked", "bound_asked"), ("released", "bound_released")]
    return sizes[:1] if found["asked"] == found["released"] else sizes


def selection_lines(found: Mapping[str, Any]) -> list[str]:
    """Write the figures of the released set as the card has them."""
    own = amount(found, found["value"])
    lines = [
        "| set | questions | objective | no set has more than | share of that |",
        "|---|---:|---:|---:|---:|",
    ]
    for size, bound in bounds_of(found):
        if found[bound] is not None:
            most = amount(found, found[bound], up=True)
            name = f"the release, against any {found[size]} questions"
            lines.append(f"| {name} | {found['released']} | {own} | {most} | {reached(found, bound)} |")
    if found["bound_asked"] is None:
        lines.append(f"| the release | {found['released']} | {own} | - | - |")
    for split, one in found["splits"].items():
        of_all = f"{part_of(found, split)} of the release"
        lines.append(f"| {split} | {one['items']} | {amount(found, one['value'])} | - | {of_all} |")
    return lines


def quota_lines(found: Mapping[str, Any]) -> list[str]:
    """Write which quotas are short, by name, and how many are met."""
    short = [row for row in found["quotas"] if row["short"]]
    met = len(found["quotas"]) - len(short)
    lines = []
    folds = sorted({one.get("folds", 1) for one in found["domains"]})
    if folds[-1:] > [1]:
        told = f"- objective: each anchor counts through its {' or '.join(map(str, folds))} best questions"
        lines.append(f"{told}; through the best alone it is {amount(found, found['coverage'])}")
    lines += [f"- quotas met: {met} of {len(found['quotas'])}"] if found["quotas"] else []
    for row in short:
        name = " / ".join(filter(None, (row["domain"], row["stratum"])))
        lines.append(f"- short: {plain(name)}: {row['released']} of {row['lower']}")
    for row in found["domains"]:
        if row["released"] < row["asked"]:
            name = plain(row["domain"]) or "the selection"
            lines.append(f"- short: {name}: {row['released']} of {row['asked']} questions asked for")
    return lines


def audit_line(found: Mapping[str, Any]) -> str:
    """Write what an audit found, with Wilson's 95 % interval."""
    low, high = wilson(found["flawed"], found["audited"])
    rate = 100 * found["flawed"] / found["audited"] if found["audited"] else 0.0
    return (
        f"{found['flawed']} of {found['audited']} were flawed: {rate:.1f} %"
        f" (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
    )


def agreement_line(found: Mapping[str, Any]) -> str:
    """Write how far reviewers agree."""
    rate = 100 * found["equal"] / found["pairs"] if found["pairs"] else 0.0
    alpha = found["alpha"]
    told = "none, as all opinions are equal" if alpha is None else f"{alpha[0] / alpha[1]:.3f}"
    return (
        f"{found['equal']} of {found['pairs']} pairs of opinions on {found['items']} questions are equal"
        f" ({rate:.1f} %), Krippendorff's alpha {told}"
    )


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    if not count:
        return 0.0, 1.0
    share_, square = hits / count, Z_95**2
    middle = (share_ + square / (2 * count)) / (1 + square / count)
    half = Z_95 / (1 + square / count) * (share_ * (1 - share_) / count + square / (4 * count**2)) ** 0.5
    return (0.0 if not hits else middle - half), (1.0 if hits == count else middle + half)


def plain(text: str) -> str:
    """Write a name on one line, with no sign that Markdown or HTML would obey."""
    text = " ".join(text.split())
    return "".join(sign if sign.isalnum() or sign in " /.,-()" else f"&#{ord(sign)};" for sign in text)


def chosen_lines(figures: Mapping[str, Any]) -> list[str]:
    """Write the lines of the card about how the questions were chosen."""
    found = figures.get("selection")
    return [*selection_lines(found), "", *quota_lines(found)] if found else []


def checked_lines(figures: Mapping[str, Any]) -> list[str]:
    """Write the lines of the card about how the questions were checked."""
    review, lines = figures.get("review"), []
    if review and review["decisions"] is not None:
        told = ", ".join(f"{plain(kind)} {count}" for kind, count in review["decisions"].items())
        lines.append(f"- reviewers' decisions: {told}")
    if review and review.get("agreement_released"):
        told = agreement_line(review["agreement_released"])
        lines.append(f"- reviewers' agreement on the questions of this release: {told}")
    if review and review["audit"]:
        lines.append(f"- audit, of accepted questions drawn at random: {audit_line(review['audit'])}")
        lines.append(f"- audit, of those in this release: {audit_line(review['audit_released'])}")
    return lines


def card_lines(figures: Mapping[str, Any]) -> list[str]:
    """Write every line of the card that rests on the evidence."""
    return list(filter(None, [*chosen_lines(figures), *checked_lines(figures)]))


def _ways(row: Mapping[str, Any]) -> int:
    """Return how many answers can be given: where several options are right, any set of them."""
    size = len(row["choices"])
    return 2**size - 1 if row.get("several") else size


def count_rows(rows: Sequence[Mapping[str, Any]], private: bool) -> dict[str, Any]:
    """Count what one split holds, as release.json states it."""
    sizes = [len(row["choices"]) for row in rows]
    letters = Counter(row["answer"] for row in rows)
    paths = Counter(map(path_of, rows))
    return {
        "items": len(rows),
        "private": private,
        "by_path": dict(paths),
        "option_counts": dict(Counter(map(str, sizes))),
        "key_letters": {} if private else {one: letters[one] for one in LETTERS[: max(sizes, default=0)]},
        "chance": sum(1 / _ways(row) for row in rows) / len(rows) if rows else None,
    }


def content_hash(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hash what the rows say, whatever their order."""
    total = hashlib.sha256()
    for row in sorted(rows, key=lambda row: str(row["id"])):
        said = {k: v for k, v in row.items() if k != "canary" and v not in (None, "", []) and v is not False}
        content = {k: nfc(v) for k, v in said.items()}
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        total.update(text.encode() + b"\n")
    return total.hexdigest()


def nfc(value: Any) -> Any:
    """Compose the texts in a value."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    return [nfc(one) for one in value] if isinstance(value, list) else value


def sum_faults(folder: Path) -> list[str]:
    """Compare a folder with its SHA256SUMS; links, strangers and missing files are faults."""
    present, faults = {}, []
    for name, kind in entries(folder):
        if kind == "file":
            present[name] = folder / name
        elif kind != "folder":
            faults.append(f"{name}: is a {kind}")
    stated = {}
    for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        checksum, _, name = line.partition("  ")
        stated[name] = checksum
    present.pop("SHA256SUMS", None)
    faults += [f"{name}: missing" for name in sorted(stated.keys() - present.keys())]
    faults += [f"{name}: not listed in SHA256SUMS" for name in sorted(present.keys() - stated.keys())]
    for name in sorted(stated.keys() & present.keys()):
        with present[name].open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != stated[name]:
                faults.append(f"{name}: content differs from SHA256SUMS")
    return faults


def seal_faults(record: Mapping[str, Any], folder: Path) -> list[str]:
    """Compare release.json with its own seal, and the files with the digests that it names."""
    if record["format"] not in (2, 3, 4):
        return [f"release.json: format {record['format']} is none whose figures can be derived here"]
    body = {name: value for name, value in record.items() if name != "seal"}
    told = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    sealed = hashlib.sha256(told.encode()).hexdigest() == record["seal"]
    faults = [] if sealed else ["release.json was changed after it was sealed"]
    named = {**record["files"], **record.get("derived", {})}
    for name, kind in entries(folder):
        if kind == "file" and name in named:
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != named[name]:
                    faults.append(f"{name}: is not the file that release.json names")
        elif kind == "file" and record["format"] > 2 and name not in ("release.json", "SHA256SUMS"):
            faults.append(f"{name}: release.json does not name it")
    return faults


def copy_faults(folder: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Compare the rows in the form of the KINA benchmark with the rows."""
    faults = []
    for split, kept in rows.items():
        name = _kina_name(split)
        told = [said_in_kina(one) for one in (read_json(folder / name) if kept else [])]
        if told != [said_in_kina(kina_of(row)) for row in kept]:
            faults.append(f"{name}: says something else than {split}.jsonl")
    return faults


def _kina_name(split: str) -> str:
    return "KINA.json" if split == SPLITS[0] else f"KINA.{split}.json"


def kina_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Write a row in the form of the KINA benchmark."""
    why = row.get("option_explanations") or [""] * len(row["choices"])
    options = zip(LETTERS, row["choices"], why, strict=False)
    return {
        "index": row["id"],
        "discipline": path_of(row),
        "question": row["question"],
        "correct_answer": row["answer"],
        "options": [{"key": key, "answer": text, "explanation": told} for key, text, told in options],
        **{name: row.get(column) for name, column in KINA_EXTRAS.items()},
    }


def said_in_kina(entry: Mapping[str, Any]) -> list[Any]:
    """List what an entry of the KINA form says: blanks say nothing, and rows name no source of an option."""
    options = [{k: v for k, v in one.items() if v and k != "source"} for one in entry["options"]]
    rest = {k: v for k, v in entry.items() if v and k not in ("index", "options")}
    return [str(entry["index"]), options, rest]


def stated_faults(
    folder: Path, record: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Hold what release.json states of licences, languages, selection, review and changes to the rest."""
    every = [row for kept in rows.values() for row in kept]
    faults = [
        f"release.json: its {column}s are not those of the rows"
        for column in ("license", "language")
        if Counter(row.get(column, "") for row in every) != Counter(record[f"{column}s"])
    ]
    known, figures = record["provenance"], record["figures"]
    told, found = known["selection"], figures.get("selection")
    if told and found and whole(told["items"]) < found["released"]:
        faults.append("release.json: fewer items were selected than are released")
    review = figures.get("review")  # none where no evidence travels
    if review and known["review"] and known["review"].get("decisions") != review["decisions"]:
        faults.append("release.json: its decisions are not those of the evidence")
    if review and known["audit"] and not _is_audit(known["audit"], review["audit"]):
        faults.append("release.json: its audit is not that of the evidence")
    return faults + change_faults(folder, record, rows)


def _is_audit(told: Mapping[str, Any], found: Mapping[str, int] | None) -> bool:
    if not found or {name: told[name] for name in found} != found:
        return False
    rate = found["flawed"] / found["audited"] if found["audited"] else 0.0
    meant = dict(zip(("low", "high"), wilson(found["flawed"], found["audited"]), strict=True)) | {
        "rate": rate
    }
    return all(abs(told[name] - value) < 10**-PLACES for name, value in meant.items())


def change_faults(
    folder: Path, record: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Compare changes.json with release.json, and where it says that rows went with the rows."""
    earlier = record["earlier"]
    if not earlier:
        return []
    told = read_json(folder / "changes.json")
    kept = {split: [row["id"] for row in own] for split, own in rows.items() if own}
    fits = set(told["rows"]) == set(kept)
    for split, ids in kept.items() if fits else ():
        place = {item_id: number for number, item_id in enumerate(ids)}
        meant = [
            {"id": one["id"], "old_row": number, "new_row": place.get(one["id"])}
            for number, one in enumerate(told["rows"][split])
        ]
        fits &= told["rows"][split] == meant
    said = {name: value for name, value in told.items() if name != "rows"}
    if fits and said == {"from": earlier["version"], **earlier["difference"]}:
        return []
    return ["changes.json: is not what follows from release.json and the rows"]


def croissant_faults(
    folder: Path, record: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Hold the Croissant file to name, version and licences, to the files' digests and the rows' columns."""
    told, sizes = read_json(folder / "croissant.json"), ", ".join(f"{len(v)} {k}" for k, v in rows.items())
    meant = {
        "name": record["name"],
        "version": record["version"],
        "description": f"{record['title']}: multiple-choice questions ({sizes}). Canary {record['canary']}.",
        "license": sorted(name for name in record["licenses"] if name),
        "keywords": ["benchmark", "multiple choice", record["canary"]],
        "url": record["url"],
        "datePublished": record["published"],
    }
    faults = [f"croissant.json: {name} is another" for name, v in meant.items() if told.get(name) != v]
    data = {n for split, kept in rows.items() if kept for n in (f"{split}.jsonl", f"data/{split}.parquet")}
    data |= {_kina_name(split) for split, kept in rows.items() if kept}
    if set(record["files"]) - {*BESIDE, *EVIDENCE} != data:
        faults.append("release.json: its files are not those of such a release")
    listed = {one["contentUrl"]: (one["sha256"], one["@id"], one["name"]) for one in told["distribution"]}
    if listed != {name: (record["files"].get(name), name, name) for name in data}:
        faults.append("croissant.json: its files are not the data files")
    private = {split for split, count in record["counts"].items() if count["private"]}
    sets = [_record_set(split, kept[0], split in private) for split, kept in rows.items() if kept]
    if told["recordSet"] != sets:
        faults.append("croissant.json: its fields are not the columns of the rows")
    context = json.dumps(told["@context"], sort_keys=True).encode()
    if hashlib.sha256(context).hexdigest() != CONTEXT or told["@type"] != "sc:Dataset":
        faults.append("croissant.json: its context is not that of the specification")
    return faults


def _record_set(split: str, row: Mapping[str, Any], private: bool) -> dict[str, Any]:
    columns = [name for name in row if not (private and name in ("answer", "answer_index"))]
    fields = [_field(split, name) for name in columns]
    key = {"@id": f"{split}/id"}
    return {"@type": "cr:RecordSet", "@id": split, "name": split, "key": key, "field": fields}


def _field(split: str, column: str) -> dict[str, Any]:
    field = {
        "@type": "cr:Field",
        "@id": f"{split}/{column}",
        "name": f"{split}/{column}",
        "dataType": FIELD_TYPES.get(column, "sc:Text"),
        "source": {"fileObject": {"@id": f"{split}.jsonl"}, "extract": {"column": column}},
    }
    return field | ({"isArray": True, "arrayShape": "-1"} if column in FIELD_LISTS else {})


def code_faults(folder: Path, record: Mapping[str, Any]) -> list[str]:
    """Compare the harness files with what the package writes: nobody's code but its own may stand there."""
    open_ = [split for split in record["counts"] if _is_open(record, split)]
    scored = next((split for split in SPLITS if split in open_), "")
    shots = SPLITS[1] if scored == SPLITS[0] and SPLITS[1] in open_ else None
    several = [len(one["item_ids"]) for one in record["exemptions"] if one["rule"] == "several_keys"]
    words = REFUSAL.format(sum(several))
    values = {name: str(record[name]) for name in ("name", "version", "content_hash", "canary")}
    values |= {"scored": scored, "shots": str(shots), "pshots": repr(shots), "open": repr(open_)}
    values |= {"counts": repr(list(record["counts"])), "prompt": record["prompt_version"]}
    values |= {"refusal": pprint.pformat(words)}
    left = {name for name, kind in entries(folder) if kind == "file" and name.startswith("harness/")}
    faults = []
    for pattern, (digest, lines) in HARNESS.items() if scored else ():
        name = _fill(pattern, values)
        text = "\n" + (folder / name).read_text(encoding="utf-8")
        for line in lines:
            absent = (line == SHOTS and shots is None) or (line == REFUSED and not sum(several))
            if not absent:
                text = text.replace(
                    f"\n{_fill(line, values)}\n", "\n" if line in (SHOTS, REFUSED) else f"\n{line}\n", 1
                )
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            faults.append(f"{name}: is not what the package writes")
        left.discard(name)
    return faults + [f"{name}: is no harness file of the package" for name in sorted(left)]


def _is_open(record: Mapping[str, Any], split: str) -> bool:
    count = record["counts"].get(split)
    return count is not None and count["items"] > 0 and not count["private"]


def _fill(line: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        line = line.replace(f"@{name}@", value)
    return line


def path_of(row: Mapping[str, Any]) -> str:
    """Join the taxonomy of a row."""
    return " / ".join(filter(None, map(row.get, ("discipline", "field", "subfield"))))


def card_faults(
    card: str, figures: Mapping[str, Any], record: Mapping[str, Any], rows: Mapping[str, Sequence[Any]]
) -> list[str]:
    """Tell what a card lacks of the figures, and which numbers of it come from nowhere."""
    lines = card.split("\n")
    faults = [f"README.md lacks the line {line!r}" for line in card_lines(figures) if line not in lines]
    strange = set(card_numbers(card)) - known_numbers(figures, record, rows)
    return faults + [f"README.md: no evidence gives the number {one}" for one in sorted(strange)]


def card_numbers(card: str) -> list[str]:
    """List the numbers of a card's text, but for its header, code, and what the author states."""
    text = card.split("---\n", 2)[-1]
    before, _, rest = text.partition(f"\n{UNPROVEN}\n")
    _, heading, after = rest.partition("\n## ")
    return NUMBER.findall(re.sub(r"```.*?```|`[^`\n]*`", "", before + heading + after, flags=re.DOTALL))


def known_numbers(
    figures: Mapping[str, Any], record: Mapping[str, Any], rows: Mapping[str, Sequence[Any]]
) -> set[str]:
    """Gather the numbers that a card may show: figures, counts of rows and lists, and those in names."""
    every = [row for kept in rows.values() for row in kept]
    counts = {split: count_rows(kept, False) for split, kept in rows.items()}
    known, earlier = record["provenance"], record["earlier"] or {}
    lists = [record["withheld"], record["taken_down"], record["letters"]["kept"]]
    lists += [one["item_ids"] for one in record["exemptions"]]
    lists += [one for one in earlier.get("difference", {}).values() if isinstance(one, (list, dict))]
    corrected = len(known["corrected_keys"]) + known.get("corrected_private", 0)
    tallies = [Counter(row.get(name, "") for row in every) for name in ("license", "language")]
    tallies += [Counter(one["reason"].partition(":")[0] for one in record["withheld"])]
    tallies += [Counter(one["by_path"]) for one in counts.values()]
    numbers = [0, len(every), corrected, len({path for one in counts.values() for path in one["by_path"]})]
    numbers += [len(one) for one in lists] + [n for tally in tallies for n in tally.values()]
    chances = [f"{100 * one['chance']:.1f}" for one in counts.values() if one["chance"] is not None]
    selected = (known["selection"] or {}).get("items", 0)
    names = [
        record[name] for name in ("name", "title", "version", "published", "made_with", "url", "creators")
    ]
    names += [record["withheld"], record["exemptions"], known["filter_models"], earlier.get("version")]
    names += map(list, tallies)
    told = [*card_lines(figures), *map(str, numbers), *chances, str(selected), *leaves([counts, names])]
    return {one for text in told for one in NUMBER.findall(" ".join(text.split()))}


def leaves(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a value, names of entries included."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves(one)
    elif value is not None:
        yield str(value)


def entries(folder: Path) -> list[tuple[str, str]]:
    """List what lies in a folder, at any depth, with its kind: file, folder, link or special file."""
    found, left = [], [""]
    while left:
        below = left.pop()
        with os.scandir(folder / below) as listed:
            for entry in listed:
                name = f"{below}/{entry.name}" if below else entry.name
                if name in BY_GIT:
                    continue
                if entry.is_symlink():
                    found.append((name, "link"))
                elif entry.is_dir():
                    found.append((name, "folder"))
                    left.append(name)
                else:
                    found.append((name, "file" if entry.is_file() else "special file"))
    return sorted(found)


def whole(value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a whole number of evidence.

    Raises:
        Unsound: it is none, or out of its range.
    """
    if type(value) is not int or value < least or (most is not None and value > most):
        raise Unsound(f"{value!r} is not a whole number from {least}{f' to {most}' if most else ''}")
    return value


def read_json(path: Path) -> Any:
    """Read a JSON document."""
    return json.loads(path.read_text(encoding="utf-8"))


def faults_of(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Check a release folder; return its figures and everything that is not as it says."""
    faults = sum_faults(folder)
    record = read_json(folder / "release.json")
    faults += seal_faults(record, folder)
    need(set(record["counts"]) <= set(SPLITS), "release.json names a split other than test and dev")
    private = {split for split, count in record["counts"].items() if count["private"]}
    rows: dict[str, list[dict[str, Any]]] = {}
    for split, count in record["counts"].items():
        path = folder / f"{split}.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n") if count["items"] else []
        rows[split] = [json.loads(line) for line in lines if line]
        if count != (counted := count_rows(rows[split], split in private)):
            faults.append(f"release.json: {split} holds {counted}")
    content = content_hash(row for kept in rows.values() for row in kept)
    if content != record["content_hash"]:
        faults.append(f"release.json: the content hash of the rows is {content}")
    canary = str(uuid.uuid5(NAMESPACE, f"{record['name']} {record['version']} {content}"))
    if canary != record["canary"] or any(row["canary"] != canary for kept in rows.values() for row in kept):
        faults.append(f"the canary of this name, version and content is {canary}")
    faults += copy_faults(folder, rows) + stated_faults(folder, record, rows)
    faults += croissant_faults(folder, record, rows) + code_faults(folder, record)
    own, shipped = Path(__file__).read_bytes(), folder / VERIFIER
    if shipped.exists() and shipped.read_bytes() != own:
        faults.append(f"{VERIFIER}: is not the file that is checking now")
    figures = derive(folder, rows, private)
    if record["figures"] != figures:
        faults.append("release.json: its figures are not those of the evidence")
    card = (folder / "README.md").read_text(encoding="utf-8")
    told = {name: str(record[name]) for name in ("content_hash", "canary", "version")}
    faults += [f"README.md does not name the {name}" for name, text in told.items() if text not in card]
    return figures, faults + card_faults(card, figures, record, rows)


def main(arguments: Sequence[str]) -> int:
    """Check the folder that is named, print its figures, and leave with 1 where anything differs."""
    if len(arguments) != 1:
        print("usage: python verify.py FOLDER", file=sys.stderr)
        return 2
    try:
        figures, faults = faults_of(Path(arguments[0]))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        print(f"not sound: {error}", file=sys.stderr)
        return 1
    print(json.dumps(figures, indent=1, ensure_ascii=True))
    for line in card_lines(figures):
        print(ascii(line)[1:-1])
    for fault in faults:
        print(f"fault: {ascii(fault)[1:-1]}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
