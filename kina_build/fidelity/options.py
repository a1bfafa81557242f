"""Options of the commands about short forms and the difficulty of items."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kina_build.options import Role, argument, option, seed, setting

RESPONSES = (
    "scores.jsonl of `kina score` or `kina results`, or a matrix: item_id, discipline, one column a model."
)


@dataclass(frozen=True, kw_only=True)
class ResponseOptions:
    """What models scored, and the strata of the items."""

    responses: Path = argument(RESPONSES)
    strata: Path | None = option(
        None, help="Rows of item_id, stratum, or a pool; default: the disciplines.", role=Role.input
    )
    by: str = option("subfield", help="Field of a pool that is the stratum.")


@dataclass(frozen=True, kw_only=True)
class ShrinkOptions(ResponseOptions):
    """Options of `kina shrink`."""

    k: int | None = option(None, "-k", help="Items of the short form.", min=2)
    method: Literal["auto", "random", "bins", "spread"] = option(
        "auto",
        help="How items are drawn: stratified random; random in bins of difficulty; spread over difficulty; "
        "auto: the one of least error, random where none is better.",
    )
    estimator: Literal["auto", "plain", "linear", "post-stratified"] = option(
        "auto", help="How a score on the form becomes one on the pool; auto: the one of least error."
    )
    given: Path | None = option(
        None,
        help="Judge this set (a selection.json, or rows of item_id) in place of a draw.",
        role=Role.input,
    )
    families: Path | None = option(
        None,
        help="Rows of model, family; default: the letters that a model's name begins with.",
        role=Role.input,
    )
    bins: int | None = setting("fidelity.bins", help="Bins of difficulty inside a stratum.", min=2)
    seed: int = seed()
    output: Path | None = option(
        None, "-o", help="Write the items, for `kina export --selection`.", role=Role.output
    )
    write_estimator: Path | None = option(
        None, help="Write estimator.json, for `kina export --estimator` and `--estimate`.", role=Role.output
    )


@dataclass(frozen=True, kw_only=True)
class DifficultyOptions(ResponseOptions):
    """Options of `kina difficulty`."""

    output: Path | None = option(None, "-o", help="Write a row an item as JSON Lines.", role=Role.output)
