"""The plot of a simulation: two distribution functions of released quality, with their band."""

from __future__ import annotations

import io

import numpy as np

from kina_build.errors import Refusal
from kina_review.economics.dominance import ecdf
from kina_review.economics.simulate import Comparison

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
