"""Figures and tables: they read values and return drawings, and never train."""

from fedmgda.report._demo import Curve, demo_figure
from fedmgda.report._partition import partition_heatmap

__all__ = ["Curve", "demo_figure", "partition_heatmap"]
