"""Replacers that do not depend on the text: tags, numbered tags, placeholders, blocks."""

from __future__ import annotations

from dataclasses import dataclass

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span

REDACTED = "[REDACTED]"
PLACEHOLDER = "[XXXXX]"
_ABBREVIATIONS = frozenset((Phi.ZIP, Phi.URL, Phi.IP, Phi.MRN, Phi.ID))


def unlike(text: str, replacement: str) -> str:
    """Return the replacement, or another mark where the covered text happens to be the replacement
    itself.
    """
    if replacement != text:
        return replacement
    return REDACTED if text != REDACTED else "[*]"


@dataclass(frozen=True, slots=True)
class Tag:
    """``[NAME]``."""

    def __call__(self, text: str, span: Span, context: Context) -> str:
        del context
        return unlike(text, f"[{span.label}]")


@dataclass(frozen=True, slots=True)
class Hide:
    """``[REDACTED]``: hides the category too."""

    def __call__(self, text: str, span: Span, context: Context) -> str:
        del span, context
        return unlike(text, REDACTED)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """``[XXXXX]``: one placeholder for every category, for text that a language model is to fill or
    to learn from.
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:
        del span, context
        return unlike(text, PLACEHOLDER)


@dataclass(frozen=True, slots=True)
class Numbered:
    """``[NAME_1]``: the same value has the same number within its note, whatever its case and
    spacing.
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:
        return unlike(text, f"[{span.label}_{_number(text, span, context)}]")


@dataclass(frozen=True, slots=True)
class MimicTag:
    """``[**Name 1**]``.

    A numbered tag in the brackets that the MIMIC-III notes have (Johnson et al. 2016).
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:
        label = span.label
        words = label.value if label in _ABBREVIATIONS else label.replace("_", " ").capitalize()
        return unlike(text, f"[**{words} {_number(text, span, context)}**]")


@dataclass(frozen=True, slots=True)
class Blackout:
    """Solid blocks.

    Args:
        width: Number of blocks, at least 1; without it as many as the text has code points, which
            tells its length.
    """

    width: int | None = None

    def __call__(self, text: str, span: Span, context: Context) -> str:
        del span, context
        return unlike(text, "█" * (self.width or len(text)))


def _number(text: str, span: Span, context: Context) -> int:
    value = (span.label, " ".join(text.casefold().split()))
    number = context.numbers.get(value)
    if number is None:
        number = context.numbers[value] = context.numbers[span.label] = (
            context.numbers.get(span.label, 0) + 1
        )
    return number
