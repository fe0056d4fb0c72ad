"""Everything an evaluation says, as one JSON document.

``docs/evaluation.md`` describes its fields.
"""

from deid_assets.extending.scoring import AnnotatedNotes
from deid_evaluation.report.build import SCHEMA, VERSION, ReportOptions, build_report
from deid_evaluation.report.corpus import ProfiledNotes, System, groups_of

__all__ = [
    "SCHEMA",
    "VERSION",
    "AnnotatedNotes",
    "ProfiledNotes",
    "ReportOptions",
    "System",
    "build_report",
    "groups_of",
]
