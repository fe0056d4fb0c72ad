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
    from deid_assets.component import DeidPipelineComponent
    from deid_assets.defs.build import build_definitions

_LOADED = {
    "DeidPipelineComponent": "deid_assets.component",
    "build_definitions": "deid_assets.defs.build",
    "deidentify": "deid_assets.api",
    "deidentify_notes": "deid_assets.api",
}
"""Names that are loaded at first use, with their modules: they import most of the package."""

__version__ = "0.1.0"
__all__ = [
    "DeidError",
    "DeidPipelineComponent",
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
    "build_definitions",
    "deidentify",
    "deidentify_notes",
]


def __getattr__(name: str) -> Any:
    """Load what imports most of the package."""
    if name in _LOADED:
        return getattr(import_module(_LOADED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is loaded at first use too: Dagster looks for components here."""
    return sorted({*globals(), *__all__})
