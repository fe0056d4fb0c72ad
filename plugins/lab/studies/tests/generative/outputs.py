"""Outputs as models write them, right and wrong, made from notes with gold."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from deid_assets import Note, SpanSet
from deid_assets.evaluation.intervals import union

VARIANTS = (
    "[XXXXX]",
    "[XXXX]",
    "XXXXX",
    "[xxxxx]",
    "<XXXXX>",
    "[ XXXXX ]",
    "[XXXXXX]",
    "[REDACTED]",
    "[NAME]",
    "[XXXXX",
)
WRAPPERS = (
    "{}",
    "```\n{}\n```",
    '"{}"',
    "Voici la note anonymisée :\n{}",
    "Response: {}",
    "{}\n\nNote: identifiers were replaced.",
    "<think>Which names are there?</think>{}</s>",
)


@dataclass(frozen=True)
class FuzzedOutput:
    """An output, and what a reading of it must give, exactly: no change touches a placeholder.

    Args:
        text: As written.
        gold: What it removed, ranges of the source.
    """

    text: str
    gold: list[tuple[int, int]]


def redacted(note: Note, gold: Sequence[tuple[int, int]], placeholder: str) -> list[str]:
    """Return the pieces of the right output: text and placeholders in turn."""
    pieces, cursor = [], 0
    for start, end in gold:
        pieces += [note.text[cursor:start], placeholder]
        cursor = end
    return [*pieces, note.text[cursor:]]


def ranges(note: Note, spans: SpanSet) -> list[tuple[int, int]]:
    """Return the gold ranges.

    Those with blanks alone between them are one, as no output can tell them apart.
    """
    found: list[tuple[int, int]] = []
    for start, end in union((span.start, span.end) for span in spans):
        if found and not note.text[found[-1][1] : start].strip():
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def fuzzed(note: Note, spans: SpanSet, rng: random.Random) -> FuzzedOutput:
    """Return an output with up to four changes, a placeholder of any shape, and chatter
    around it.
    """
    gold = ranges(note, spans)
    placeholder = rng.choice(VARIANTS)
    pieces = redacted(note, gold, placeholder)
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(0, len(pieces), 2)
        pieces[at] = _changed(pieces[at], rng)
    for at in range(1, len(pieces), 2):
        if rng.random() < 0.1:
            pieces[at] = f"{pieces[at]} {pieces[at]}"
    return FuzzedOutput(rng.choice(WRAPPERS).format("".join(pieces)), gold)


def _changed(text: str, rng: random.Random) -> str:
    """Change one word of a piece.

    Those next to its ends stay, so that it is known what a placeholder stands for.
    """
    words = list(re.finditer(r"\w+", text))
    if len(words) < 7:
        return text
    word = rng.choice(words[3:-3])
    before, after = text[: word.start()], text[word.end() :]
    kinds = (
        lambda: before + word[0] + "0" + after,
        lambda: before + word[0].swapcase() + after,
        lambda: before.rstrip() + " " + after.lstrip(),
        lambda: before + word[0] + " vraiment " + after,
        lambda: before + word[0][::-1] + after,
        lambda: before + word[0] + re.sub(r"\s", "  ", after, count=3),
    )
    return rng.choice(kinds)()
