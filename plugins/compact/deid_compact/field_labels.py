"""Labels of fields, as forms have them: ``Province:`` names no province."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from deid_assets.extending import Span, Token
from deid_compact.lexicon import LISTS, ListIndex

_LABEL = re.compile(
    r"(?:^|(?<=[/;|]))[ \t]*((?:[^\W\d_]{2,}[ \t]+){0,3}[^\W\d_]{2,})[ \t]*:", re.MULTILINE
)
_NUMBER_LABEL = re.compile(r"[ \t]*\b[Nn][.]?[\u00ba\u00b0][^\W\d_]*[.]?\Z")
"""``Nº``, ``N°Col``: what a number behind it is."""
_COLON = re.compile(r"[ \t]*:")
_WORD = re.compile(r"[^\W\d_]+")
_ORDINARY = tuple(LISTS.index(name) for name in ("common_words", "frequent_words"))
_NAMES = tuple(LISTS.index(name) for name in ("first_names", "surnames"))


def drop_field_labels(spans: Sequence[Span], text: str, lexicon: ListIndex) -> list[Span]:
    """Return the spans of a network without the labels of fields.

    A span within a label is left out, and one that ends with ``Nº`` or the like before a colon ends
    before it. A label is up to four words before a colon, at the beginning of a line or behind
    ``/``, ``;`` or ``|``, all of them ordinary and none a name that any list holds.

    Args:
        spans: Of the network, in order.
        text: Of the note.
        lexicon: Lists of words; those of an older model tell no frequent words, and nothing is left
            out.
    """
    if not spans or not lexicon.tells_more:
        return list(spans)
    spans = list(_cut_number_labels(spans, text))
    labels = [
        (start, end)
        for start, end in _labels(text)
        if any(start <= span.start and span.end <= end for span in spans)
        and _is_ordinary(text[start:end], lexicon)
    ]
    return [
        span
        for span in spans
        if not any(start <= span.start and span.end <= end for start, end in labels)
    ]


def _cut_number_labels(spans: Sequence[Span], text: str) -> Iterator[Span]:
    for span in spans:
        label = _NUMBER_LABEL.search(text, span.start, span.end)
        if label is None or _COLON.match(text, span.end) is None:
            yield span
        elif label.start() > span.start:
            yield replace(span, end=label.start())


def _labels(text: str) -> Iterator[Token]:
    for found in _LABEL.finditer(text):
        yield found.span(1)


def _is_ordinary(label: str, lexicon: ListIndex) -> bool:
    held = lexicon.lists_of(_WORD.findall(label)).astype(bool)
    is_ordinary = held[:, _ORDINARY].any(axis=1)
    is_name = held[:, _NAMES].any(axis=1)
    return bool((is_ordinary & ~is_name).all())
