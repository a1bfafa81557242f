"""Every soak, one after the other: python -m tests.soak [NAME...]."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from tests.selection.forger import forger
from tests.soak.counts import Soak, go_on
from tests.soak.fuzz import fuzz
from tests.soak.laws import ROUNDS, laws, property_files
from tests.soak.money import money
from tests.soak.mutants import MUTANTS, mutants

SOAKS: Mapping[str, tuple[Soak, int]] = {
    "money": (money, 2_000),
    "forger": (forger, 400),
    "mutants": (mutants, len(MUTANTS)),
    "laws": (laws, ROUNDS * len(property_files())),
    "fuzz": (fuzz, 100_000),
}
"""Name of a soak, its function (seed, first, last, jobs), and how many cases a full run has."""


def main() -> int:
    """Run the soaks that are named, or all; exit 1 where a law did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SOAKS, []], help="default: all")
    parser.add_argument("--cases", type=int, help="run up to this many; default: the full run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    codes = [
        go_on(name, SOAKS[name][0], given.seed, given.cases or SOAKS[name][1], given.jobs)
        for name in given.names or SOAKS
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
