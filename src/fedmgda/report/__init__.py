"""Figures and tables: they read values and return drawings, and never train."""

from fedmgda.report._demo import Curve, demo_figure

__all__ = ["Curve", "demo_figure"]
