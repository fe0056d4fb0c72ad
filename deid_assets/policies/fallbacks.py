"""The tag that stands where a policy asks for more than can be made of a value, counted."""

from __future__ import annotations

from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.tags import Tag

_TAG = Tag()


def fall_back(text: str, span: Span, context: Context) -> str:
    """Return the category tag and count it in the note's fallbacks."""
    context.fallbacks[span.label] = context.fallbacks.get(span.label, 0) + 1
    return _TAG(text, span, context)
