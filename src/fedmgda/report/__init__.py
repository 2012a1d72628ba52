"""Figures and tables: they read values and return drawings, and never train."""

from fedmgda.report._curves import Panel, Series, draw_curves, series_of_runs
from fedmgda.report._demo import Curve, demo_figure
from fedmgda.report._dots import Dot, DotPanel, draw_dots
from fedmgda.report._partition import partition_heatmap
from fedmgda.report._style import write_picture
from fedmgda.report._violins import Violin, draw_violins

__all__ = [
    "Curve",
    "Dot",
    "DotPanel",
    "Panel",
    "Series",
    "Violin",
    "demo_figure",
    "draw_curves",
    "draw_dots",
    "draw_violins",
    "partition_heatmap",
    "series_of_runs",
    "write_picture",
]
