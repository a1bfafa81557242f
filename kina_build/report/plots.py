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
    lost: bool = False
    """It counts what is gone, beside bars of what is left."""


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


@dataclass(frozen=True)
class Dot:
    """One point of a scatter plot."""

    label: str
    across: float
    up: float
    flagged: bool = False
    """Whether it is drawn as one to look at."""


@dataclass(frozen=True)
class DotPlot:
    """Points on two axes."""

    title: str
    across: str
    """Header of the horizontal axis, which runs from 0 to 1."""
    up: str
    """Header of the vertical axis, which runs from -1 to 1."""
    flag: str
    """What a flagged point is."""
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Tile:
    """One rectangle of a treemap, in a box 100 wide and 100 high."""

    label: str
    inside: str
    """The larger part that it belongs to."""
    count: int
    x: float
    y: float
    width: float
    height: float


def tile(counts: Sequence[tuple[str, str, int]]) -> tuple[Tile, ...]:
    """Lay counts out as a treemap: larger parts side by side, what they hold one above the other.

    Args:
        counts: (larger part, part, count), counts above 0.
    """
    inside: dict[str, list[tuple[str, int]]] = {}
    for whole, part, count in counts:
        inside.setdefault(whole, []).append((part, count))
    total = sum(count for _, _, count in counts) or 1
    tiles, x = [], 0.0
    for whole, parts in inside.items():
        sum_inside = sum(count for _, count in parts)
        width, y = 100 * sum_inside / total, 0.0
        for part, count in parts:
            height = 100 * count / sum_inside
            tiles.append(
                Tile(part, whole, count, round(x, 3), round(y, 3), round(width, 3), round(height, 3))
            )
            y += height
        x += width
    return tuple(tiles)


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
