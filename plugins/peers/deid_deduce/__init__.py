"""Deduce as a detector.

Names, places, hospitals, dates and numbers of Dutch notes, by rules and dictionaries.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import label_map

__all__ = ["TAGS", "DeduceDetector"]

TAGS = label_map("deduce")
"""Tags of Deduce's result; the tags of its inner steps are turned into these before it answers."""


class DeduceDetector:
    """Runs Deduce with its own configuration. It is made for Dutch and reads every note as Dutch.

    The first start builds look-up structures, which takes about a minute; later starts read them
    from ``cache``.

    Args:
        cache: Folder for the look-up structures; Deduce's own package folder where not given, which
            must then be writable.
        config: Path of a JSON file that overrides parts of Deduce's configuration.
    """

    name = "deduce"
    version = "0.1.0"
    labels = TAGS.categories
    native_labels = frozenset(TAGS.labels)

    def __init__(self, *, cache: str | None = None, config: str | None = None) -> None:
        from deduce import (  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415 - 20 s
            Deduce,
        )

        self.version = f"{type(self).version}+deduce{metadata.version('deduce')}"
        where: Mapping[str, Any] = {"cache_path": cache} if cache else {}
        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        self._deduce = Deduce(config=config, **where)
        # Deduce sets up the root logger of the process it is loaded in.
        root.handlers[:] = handlers
        root.setLevel(level)

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            UnknownLabelError: Deduce gave a tag that ``TAGS`` does not map.
        """
        for note in notes:
            found = self._deduce.deidentify(note.text).annotations if note.text else ()
            yield SpanSet.of(
                note, {span for annotation in found if (span := self._span(annotation)) is not None}
            )

    def _span(self, annotation: Any) -> Span | None:
        label = TAGS[annotation.tag]
        if label is None:
            return None
        return Span(
            annotation.start_char, annotation.end_char, label, 1.0, self.name, annotation.tag
        )
