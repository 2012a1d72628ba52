"""One look for all figures."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fedmgda._errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COLORS", "figure_style"]

COLORS = ("#4477aa", "#ccbb44", "#ee6677", "#228833", "#66ccee", "#aa3377", "#bbbbbb", "#222222")
"""Told apart by colour-blind readers (Paul Tol's bright scheme)."""


@contextmanager
def figure_style() -> Iterator[Any]:
    """Give matplotlib's figure module, off screen, with our settings while the block runs."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 (optional, and slow to import)
        from matplotlib import figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Figures need matplotlib; install it with: pip install 'fedmgda[report]'."
        ) from error
    settings: Any = {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "legend.frameon": False,
    }
    with mpl.rc_context(settings):
        yield figure
