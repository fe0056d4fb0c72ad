"""Turn raw clinical notes into de-identified corpora, and show how each was made."""

from deid_assets.core.detector import Detector, Failed
from deid_assets.core.errors import DeidError
from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap, Phi, Profile
from deid_assets.core.span import DisjointSpans, Span, SpanSet

__version__ = "0.1.0"
__all__ = [
    "DeidError",
    "Detector",
    "DisjointSpans",
    "Failed",
    "LabelMap",
    "Note",
    "Phi",
    "Profile",
    "Span",
    "SpanSet",
    "__version__",
]
