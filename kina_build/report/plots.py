"""Plots as plain data: what is drawn, on which scale, and what the table behind it says.

Templates turn them into small inline SVGs that follow the page's colours and width; text
stays text, so that a phone, a screen reader and a printer can all use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """One bar of a bar plot."""

    label: str
    value: float
    note: str = ""
    link: str = ""


@dataclass(frozen=True)
class BarPlot:
    """Bars from a common zero."""

    title: str
    unit: str
    """What a value counts: column header of the table."""
    bars: tuple[Bar, ...]
    top: float
    """Value at full width."""
    digits: int = 0


@dataclass(frozen=True)
class Span:
    """One row of an interval plot: a point between two bounds, and wider bounds around."""

    label: str
    low: float
    middle: float
    high: float
    outer_low: float | None = None
    outer_high: float | None = None


@dataclass(frozen=True)
class SpanPlot:
    """Intervals on a common axis."""

    title: str
    middle: str
    """What the point is: column header of the table."""
    inner: str
    """What the inner bounds are."""
    spans: tuple[Span, ...]
    start: float
    stop: float
    outer: str = ""
    digits: int = 4

    def place(self, value: float) -> float:
        """Return a value's place on the axis, 0 to 100."""
        width = self.stop - self.start
        return round(100 * (value - self.start) / width, 3) if width else 50.0


@dataclass(frozen=True)
class LinePlot:
    """One rising line, and a level that it is measured against."""

    title: str
    across: str
    """Header of the horizontal axis."""
    up: str
    values: tuple[float, ...]
    """At 1, 2, ... across."""
    level: float | None = None
    level_name: str = ""

    @property
    def top(self) -> float:
        """Return the value at full height."""
        return max([*self.values, self.level or 0.0]) or 1.0

    @property
    def points(self) -> str:
        """Return the line in a box 100 wide and 100 high, y downwards."""
        count = len(self.values)
        return " ".join(
            f"{100 * (i + 1) / count:.3f},{100 - 100 * value / self.top:.3f}"
            for i, value in enumerate(self.values)
        )

    @property
    def level_height(self) -> float:
        """Return the level's y in the same box."""
        return round(100 - 100 * (self.level or 0.0) / self.top, 3)


def bars(
    title: str, unit: str, rows: Iterable[tuple[str, float]], *, top: float | None = None, digits: int = 0
) -> BarPlot:
    """Make a bar plot of (label, value) rows."""
    found = tuple(Bar(label, value) for label, value in rows)
    return BarPlot(title, unit, found, top or max((bar.value for bar in found), default=0) or 1, digits)


def span_axis(spans: Sequence[Span]) -> tuple[float, float]:
    """Return an axis that holds all bounds of some spans, with a little air."""
    lows = [span.low if span.outer_low is None else span.outer_low for span in spans]
    highs = [span.high if span.outer_high is None else span.outer_high for span in spans]
    air = (max(highs) - min(lows)) * 0.03
    return min(lows) - air, max(highs) + air
