"""Plots as data."""

from __future__ import annotations

import pytest

from kina_build.report.plots import LinePlot, Span, SpanPlot, bars, span_axis


def test_bars_fill_the_width_with_the_largest():
    plot = bars("t", "items", [("a", 3), ("b", 12)])
    assert plot.top == 12
    assert bars("t", "items", []).top == 1
    assert bars("t", "share", [("a", 0.2)], top=1.0).top == 1.0


def test_an_axis_holds_all_bounds():
    start, stop = span_axis([Span("a", 0.4, 0.5, 0.6), Span("b", 0.3, 0.5, 0.5, 0.1, 0.9)])
    assert start < 0.1
    assert stop > 0.9


def test_places_run_from_0_to_100():
    plot = SpanPlot("t", "m", "i", (), 10, 20)
    assert (plot.place(10), plot.place(15), plot.place(20)) == (0, 50, 100)
    assert SpanPlot("t", "m", "i", (), 1, 1).place(1) == 50


def test_a_line_rises_to_its_level():
    plot = LinePlot("t", "x", "y", (1.0, 2.0), level=4.0)
    assert plot.points == "50.000,75.000 100.000,50.000"
    assert plot.level_height == 0
    assert LinePlot("t", "x", "y", (0.0,)).top == pytest.approx(1)
