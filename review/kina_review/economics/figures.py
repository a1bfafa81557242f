"""A simulation for people: its figures, and the plot of released quality under both schemes."""

from __future__ import annotations

import io
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from kina_build.config import check_section
from kina_build.errors import Refusal
from kina_review.economics.dominance import ecdf
from kina_review.economics.options import SimulateOptions
from kina_review.economics.simulate import Comparison, Outcome, Population, collusion_threshold

POINTS = 400


def draw_comparison(comparison: Comparison) -> str:
    """Return an SVG of F_flat and F_tournament; equal comparisons give equal bytes.

    Raises:
        Refusal: a scheme released nothing.
    """
    if not comparison.flat.released or not comparison.tournament.released:
        raise Refusal("one of the schemes released no item: there is nothing to draw")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    flat, tournament = comparison.flat.quality, comparison.tournament.quality
    grid = np.linspace(min(flat[0], tournament[0]), max(flat[-1], tournament[-1]), POINTS)
    with mpl.rc_context({"svg.hashsalt": "kina-build", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.add_subplot()
        for sample, label, colour in (
            (flat, f"flat pay ({comparison.flat.high_rate:.0%} high effort)", "#8a6d3b"),
            (tournament, f"tournament ({comparison.tournament.high_rate:.0%} high effort)", "#1f6f8b"),
        ):
            share = ecdf(sample, grid)
            half = comparison.dominance.band / 2
            axes.fill_between(
                grid,
                np.clip(share - half, 0, 1),
                np.clip(share + half, 0, 1),
                color=colour,
                alpha=0.2,
                linewidth=0,
            )
            axes.plot(grid, share, color=colour, label=label)
        verdict = "holds" if comparison.dominance.holds else "is contradicted"
        axes.set_title(f"Released quality at equal budget: dominance {verdict}", fontsize="medium")
        axes.set_xlabel("mean quality of an item's two reviews")
        axes.set_ylabel("share of released items at or below")
        axes.legend(loc="upper left", frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def report_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison's figures as plain values; what is undefined is None."""
    dominance = {
        key: value if isinstance(value, bool) or math.isfinite(value) else None
        for key, value in asdict(comparison.dominance).items()
    }
    return {
        "flat": _outcome(comparison.flat),
        "tournament": _outcome(comparison.tournament),
        "dominance": dominance,
        "flat_pay": comparison.flat_pay,
        "b_coal": collusion_threshold(comparison.population),
        "population": comparison.population.model_dump(),
        "seed": comparison.seed,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    keys = ("high_rate", "mean_quality", "reviews", "released", "spend", "tie_rate", "shirking_pairs")
    values = {key: getattr(outcome, key) for key in keys}
    return {key: None if value != value else value for key, value in values.items()}  # noqa: PLR0124  NaN


def population_of(options: SimulateOptions) -> Population:
    """Return the population that the options describe, with its own numbers where they say none.

    Raises:
        ConfigError: a number out of bounds.
    """
    given = {name: getattr(options, name, None) for name in Population.model_fields}
    told = {name: value for name, value in given.items() if value is not None}
    return check_section(Population, told, "option")
