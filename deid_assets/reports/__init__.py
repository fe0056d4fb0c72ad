"""Reports for people.

HTML pages, plots and tables made of counts, labels and digests, never of note text.
"""

from deid_assets.reports.plots import labels_png, leaderboard_png, recall_png
from deid_assets.reports.release import (
    Audited,
    CheckResult,
    Component,
    ProvenanceStep,
    Quarantined,
    Received,
    ReleaseOutcome,
    ReleaseSummary,
    release_html,
)
from deid_assets.reports.tables import comparison_md, labels_md, leaderboard_md, scores_md

__all__ = [
    "Audited",
    "CheckResult",
    "Component",
    "ProvenanceStep",
    "Quarantined",
    "Received",
    "ReleaseOutcome",
    "ReleaseSummary",
    "comparison_md",
    "labels_md",
    "labels_png",
    "leaderboard_md",
    "leaderboard_png",
    "recall_png",
    "release_html",
    "scores_md",
]
