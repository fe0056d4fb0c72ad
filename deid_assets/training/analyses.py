"""What a plugin says of a trained tagger beside its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANALYSES = "deid_assets.analyses"
"""Entry points: functions of a model folder, the annotated notes that it is judged on, and its
answers for them.
"""


@dataclass(frozen=True, slots=True)
class TaggerAnalysis:
    """Tables, pictures and a page, none with text of notes.

    Args:
        tables: Name to Markdown.
        pictures: Name to title and PNG.
        page: HTML, whole.
    """

    tables: Mapping[str, str]
    pictures: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    page: str = ""
