"""Small lies in a copy of the code, each of which one test file of its room must catch.

A mutant is one text of one file replaced: a comparison turned, a bound moved by one, a rounding
changed. Where rooms promise most (ledger, seal, rows, verifier, quotas, letters), a mutant that no
test of the room notices is a promise that nobody holds the code to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.soak.counts import ROOT, Row

COPIED = ("kina_build", "review", "tests", "benchmarks", "pyproject.toml")
"""What a test of a room reads of the tree."""
PATIENCE_S = 300
"""Seconds that a test file may take on a mutant; one that hangs on it has noticed it."""


@dataclass(frozen=True)
class Mutant:
    """One text of the code replaced, and the test file that must fail."""

    file: str
    old: str
    """Stands once in the file."""
    new: str
    test: str

    @property
    def name(self) -> str:
        """Say what is changed, on one line."""
        told = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}: {' -> '.join(told)}"


def _of(file: str, test: str, *changes: tuple[str, str]) -> tuple[Mutant, ...]:
    return tuple(Mutant(file, old, new, f"tests/{test}") for old, new in changes)


MUTANTS: tuple[Mutant, ...] = (
    *_of(
        "review/kina_review/pay/book/ledger.py",
        "review/test_ledger.py",
        ("if beyond > head.count:", "if beyond > head.count + 1:"),
        ("[mark] if mark and mark.count else []", "[mark] if mark and mark.count > 1 else []"),
        ("mark is None and not renewed", "mark is None and renewed"),
        ("if lines and not self._is_sealed():", "if not self._is_sealed():"),
    ),
    *_of(
        "review/kina_review/pay/book/opening.py",
        "review/test_ledger.py",
        ("if mark is None or mark.count:", "if mark is None:"),
    ),
    *_of(
        "review/kina_review/pay/book/seal.py",
        "review/test_ledger.py",
        ("if row[0] != seq or row[-1] != last:", "if row[0] != seq:"),
        (".count < head.count:", ".count > head.count:"),
        ("OTHERS = 0o077", "OTHERS = 0o007"),
        ('text = f"{before}\\n{encode(values)}".encode()', "text = encode(values).encode()"),
        ("if key else hashlib.sha256(text)", "if key and not before else hashlib.sha256(text)"),
        ("if found is None or not hmac", "if found is None and not hmac"),
    ),
    *_of(
        "review/kina_review/pay/differences.py",
        "review/test_posting.py",
        ("if before.rule != after.rule and", "if before.rule != after.rule and before.amount_minor and"),
        (
            "(before.amount_minor, before.reason) != (after.amount_minor, after.reason)",
            "before.amount_minor != after.amount_minor",
        ),
        ("known.get(rule.name, text) != text", 'known.get(rule.name, text) == ""'),
    ),
    *_of(
        "review/kina_review/tournament/contest.py",
        "review/test_contest.py",
        ("if best < Fraction(rule.bar)", "if best <= Fraction(rule.bar)"),
        ("scores[reviewer] >= Fraction(rule.bar)", "scores[reviewer] > Fraction(rule.bar)"),
        ("half = rule.bonus_minor // 2", "half = (rule.bonus_minor + 1) // 2"),
        (".digest()[0] & 1", ".digest()[0] >> 7"),
    ),
    *_of(
        "review/kina_review/tournament/settlement.py",
        "review/test_contest.py",
        ("rule.currency), rule.base_minor + bonus)", "rule.currency), rule.base_minor)"),
        ("if finding is None or not finding.flawed:", "if finding is None:"),
    ),
    *_of(
        "review/kina_review/tournament/payrules.py",
        "review/test_rounds.py",
        ("if _begin(rule) <= moment", "if _begin(rule) < moment"),
    ),
    *_of(
        "review/kina_review/money.py",
        "review/test_money.py",
        ("if abs(minor) > MOST_MINOR", "if abs(minor) >= MOST_MINOR"),
        ("key=lambda key: -(pool_minor", "key=lambda key: +(pool_minor"),
        (
            "max(0, min(due_minor, limit_minor - already_minor))",
            "min(due_minor, limit_minor - already_minor)",
        ),
    ),
    *_of(
        "kina_build/rows/strict.py",
        "rows/test_strict.py",
        ("abs(int(text)) > LARGEST", "abs(int(text)) >= LARGEST"),
        ("digits > len(str(LARGEST))", "digits >= len(str(LARGEST))"),
        ("for _ in range(most):", "for _ in range(most + 1):"),
        ("if len(made) < len(pairs):", "if len(made) < len(pairs) - 1:"),
    ),
    *_of(
        "kina_build/rows/source.py",
        "rows/test_source.py",
        ("if most < 0:", "if most <= 0:"),
        ("setdefault(path, source.digest) != source.digest", "setdefault(path, source.digest) is None"),
    ),
    *_of("kina_build/rows/tables.py", "rows/test_tables.py", ("> len(columns):", "> len(columns) + 1:")),
    *_of("kina_build/rows/npz.py", "support/test_npz.py", ("size > room:", "size >= room:")),
    *_of(
        "kina_build/selection/verifier/recompute.py",
        "selection/test_verify.py",
        ("(needed or claimed < self", "(needed or claimed <= self"),
        ("central[top].argmax()", "central[top].argmin()"),
        ("if not least <= count <= most:", "if not least <= count:"),
        ("if len(group) < 2:", "if len(group) < 1:"),
        ("order = np.argsort(-prices", "order = np.argsort(prices"),
        ("parts = k + 2 if quotas else k + 1", "parts = k + 1 if quotas else k + 2"),
    ),
    *_of(
        "kina_build/selection/verifier/recount.py",
        "selection/test_verify.py",
        ("if (-lacks, len(held)) > best:", "if (-lacks, len(held)) >= best:"),
        ("else min(size, quota.upper)", "else max(size, quota.upper)"),
    ),
    *_of(
        "kina_build/selection/sharing/draw.py",
        "selection/test_parts.py",
        ("(counts[name] - ideal[name], name)", "(ideal[name] - counts[name], name)"),
        ("if total > most:", "if total >= most:"),
        ("[(-gain, name, step)", "[(gain, name, step)"),
        ("min(floor, strata[name], left)", "min(floor, strata[name])"),
        ("math.ceil(rules.stratum_spread", "math.floor(rules.stratum_spread"),
        ("upper=math.ceil(share))", "upper=math.floor(share))"),
    ),
    *_of(
        "kina_build/scoring/replies/optiontext.py",
        "scoring/test_letters.py",
        (
            "longest = max((len(texts[place]) for place in heads)",
            "longest = min((len(texts[place]) for place in heads)",
        ),
        (
            "longest = max((len(texts[place]) for place in ends)",
            "longest = min((len(texts[place]) for place in ends)",
        ),
        ("inside.count(opened) > inside.count(closed)", "inside.count(opened) < inside.count(closed)"),
    ),
    *_of(
        "kina_build/scoring/replies/mentions.py",
        "scoring/test_letters.py",
        ('.islower() or match[0][0] in "([{"', ".islower()"),
    ),
    *_of(
        "kina_build/scoring/replies/claims.py",
        "scoring/test_letters.py",
        ("opened = start > 0 and", "opened = start < 0 and"),
    ),
    *_of(
        "kina_build/scoring/replies/outcome.py",
        "scoring/test_letters.py",
        ("return named is not None and named != letter", "return named is not None and named == letter"),
        ("if len(found) > 1:", "if len(found) > 2:"),
    ),
    *_of(
        "kina_build/scoring/replies/extract.py",
        "scoring/test_letters.py",
        ("claim.span[0] > len(reading.text) // 2", "claim.span[0] < len(reading.text) // 2"),
    ),
    *_of(
        "kina_build/scoring/replies/labels.py",
        "scoring/test_letters.py",
        ("if 0 <= place < len(NUMBERED) else", "if 0 < place < len(NUMBERED) else"),
    ),
    *_of(
        "kina_build/items/checking/quantities.py",
        "items/test_rules.py",
        ("abs(power) > LARGEST_EXPONENT or bits", "bits"),
        (" or bits * abs(power) > LARGEST_BITS:", ":"),
        ("abs(power) > LARGEST_EXPONENT", "abs(power) >= LARGEST_EXPONENT"),
    ),
    *_of(
        "kina_build/support/matrix.py",
        "support/test_matrix.py",
        ("steps = np.rint(weights * unit)", "steps = np.floor(weights * unit)"),
        ("np.array([round(w * unit / step)", "np.array([int(w * unit / step)"),
        ("whole[tiny] = 1", "whole[tiny] = 0"),
        ("weight_sum / total) - 1e-9", "weight_sum / total) + 1e-9"),
        ("levels = np.rint(", "levels = np.floor("),
    ),
)
"""Every mutant; the number of a case of this soak is its place here."""


def mutants(seed: int, first: int, last: int, jobs: int = 1) -> Iterator[tuple[int, list[Row]]]:
    """Run the test file of each mutant from `first` up to `last`, one after the other."""
    with tempfile.TemporaryDirectory(prefix="kina-mutants-") as name:
        tree = Path(name) / "tree"
        copy_tree(tree)
        for number in range(first, min(last, len(MUTANTS))):
            law = find_broken_law(tree, MUTANTS[number])
            row = {"law": law, "place": MUTANTS[number].name, "case": number, "seed": seed}
            yield number, [row | {"line": f"pytest {MUTANTS[number].test}"}] if law else []


def copy_tree(tree: Path) -> None:
    """Copy what the tests read, without what earlier runs left."""
    litter = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info", "build", "node_modules")
    tree.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=litter)
        else:
            shutil.copy(ROOT / name, tree / name)


def apply(text: str, mutant: Mutant) -> str:
    """Return the text of a mutant's file with its change.

    Raises:
        ValueError: what it replaces does not stand there once.
    """
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: stands {text.count(mutant.old)} times in the file")
    return text.replace(mutant.old, mutant.new)


def find_broken_law(tree: Path, mutant: Mutant) -> str:
    """Return which law does not hold of a mutant: its test file fails on it, and runs."""
    target = tree / mutant.file
    whole, then = target.read_text(encoding="utf-8"), target.stat().st_mtime
    target.write_text(apply(whole, mutant), encoding="utf-8")
    # byte code is kept by whole seconds: each mutant of a file needs a time of its own
    os.utime(target, (then, then - 10 * (1 + MUTANTS.index(mutant))))
    try:
        code = run_tests(tree, mutant.test)
    finally:
        target.write_text(whole, encoding="utf-8")
        os.utime(target, (then, then))
    return {0: "a mutant is caught by a test of its room", 1: ""}.get(
        code, f"its test runs: exit code {code}"
    )


def run_tests(tree: Path, test: str) -> int:
    """Run a test file on a tree up to its first failure; return the exit code of pytest."""
    words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", test]
    paths = os.pathsep.join([str(tree), str(tree / "review")])
    shared = os.environ.get("KINA_SHARED_DATA", str(ROOT.parent / "shared" / "data"))
    known = {"PYTHONPATH": paths, "KINA_SHARED_DATA": shared}
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tree,
            env=os.environ | known,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1
    return done.returncode
