"""Empty plots in the look of the others, their PNG, and the page of an experiment."""

from deid_assets.reports.plots import DPI, FILL, GRID, INK, MUTED, blank, png
from deid_assets.reports.study import Section, study_html

__all__ = ["DPI", "FILL", "GRID", "INK", "MUTED", "Section", "blank", "png", "study_html"]
