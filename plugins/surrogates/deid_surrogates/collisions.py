"""Draws that are nobody's value."""

from __future__ import annotations

from collections.abc import Callable

from deid_assets.extending.replacing import ATTEMPTS, IDENTIFIERS, Context, normal

_OWN = "own values"  # in the context's numbers: alone when they are there, and with each of them


def first_free(
    draw: Callable[[int], str | None], original: str, context: Context, attempt: int = 0
) -> str | None:
    """Return the first of the draws from ``attempt`` on that is nobody's value, or ``None`` after
    eight.

    Args:
        draw: Gives the surrogate of one attempt; ``None`` where it has none.
        original: What is replaced; never returned, whatever its separators.
        context: Of the note.
        attempt: Where to begin.
    """
    own, taken = normal(original), _add_own(context)
    for number in range(attempt, attempt + ATTEMPTS):
        drawn = draw(number)
        if drawn is None:
            continue
        value = normal(drawn)
        if value != own and (_OWN, value) not in taken and drawn not in context.originals:
            return drawn
    return None


def _add_own(context: Context) -> dict[object, int]:
    """Return the context's numbers, with the note's own identifiers among them."""
    numbers = context.numbers
    if _OWN not in numbers and context.spans is not None:
        text = context.note.text
        for span in context.spans:
            if span.label in IDENTIFIERS:
                numbers[(_OWN, normal(text[span.start : span.end]))] = 1
        numbers[_OWN] = 1
    return numbers
