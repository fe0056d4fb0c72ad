"""Turn raw clinical notes into de-identified corpora, and show how each was made."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deid_assets.core.detector import Detector, Failed
from deid_assets.core.errors import DeidError
from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap, Phi, Profile
from deid_assets.core.span import DisjointSpans, Span, SpanSet

if TYPE_CHECKING:
    from deid_assets.api import deidentify, deidentify_notes

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
    "deidentify",
    "deidentify_notes",
]


def __getattr__(name: str) -> Any:
    """Load the functions that de-identify at first use: they import most of the package."""
    if name in {"deidentify", "deidentify_notes"}:
        return getattr(import_module("deid_assets.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
