"""Empty plots in the look of the others, and their PNG."""

from deid_assets.reports.plots import FILL, GRID, INK, MUTED, blank, png

__all__ = ["FILL", "GRID", "INK", "MUTED", "blank", "png"]
