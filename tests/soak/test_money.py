"""A fixed sample of the histories of money; `make soak` plays 2,000."""

from __future__ import annotations

import pytest

from tests.soak.money import play


@pytest.mark.parametrize("seed", range(16))
def test_no_history_of_commands_loses_or_doubles_money(seed: int) -> None:
    play(seed)
