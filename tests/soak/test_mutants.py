"""The table of mutants fits the code as it is; `make soak` runs the tests on each."""

from __future__ import annotations

import pytest

from tests.soak.counts import ROOT
from tests.soak.mutants import MUTANTS, Mutant, apply


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_changes_stands_once_and_still_parses(mutant: Mutant) -> None:
    compile(apply((ROOT / mutant.file).read_text(encoding="utf-8"), mutant), mutant.file, "exec")
    assert (ROOT / mutant.test).is_file()
