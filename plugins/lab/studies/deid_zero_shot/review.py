"""A page for review.

Notes in the order of what is probably left in them, their sub-tokens coloured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np

from deid_assets import Note, Span
from deid_zero_shot.points import points_of
from deid_zero_shot.risk import Risk
from deid_zero_shot.scorer import ScoredNote, ScoredWord

_KINDS = {
    "tp": "found",
    "fp": "redacted for nothing",
    "fn": "missed",
    "tn": "left",
    "gone": "redacted",
}
_OUTCOMES = {
    (True, True): "tp",
    (False, True): "fp",
    (True, False): "fn",
    (False, False): "tn",
}
"""Kind of a sub-token, by whether it is annotated and whether it is redacted."""
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0"
    " 1rem;color:#1d2733}"
    "pre{white-space:pre-wrap;font:inherit;border-left:3px solid #d5dbe1;padding-left:1rem}"
    "h2{font-size:1rem;margin:2rem 0"
    " .5rem}b{font-weight:inherit;border-radius:2px}.tp,.gone{background:#bfe3c8}"
    ".fp{background:#f6dfa4}.fn{background:#f3b6b0;outline:1px solid #a32d21}td,th{padding:.2rem"
    " .8rem .2rem 0;text-align:left}"
    "@media (prefers-color-scheme:dark){body{background:#14181d;color:#dfe5ea}"
    ".tp,.gone{background:#245c37}"
    ".fp{background:#6b5310}.fn{background:#7c2b23}}"
)


class KeptWord(NamedTuple):
    """A word that stays.

    Args:
        note_id: Of its note.
        start: First code point.
        end: After the last one.
        chance: Probability that it is PHI.
    """

    note_id: str
    start: int
    end: int
    chance: float


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A note as it is to be reviewed.

    Args:
        note: It.
        scored: Its words.
        threshold: Natural logarithm of the score below which a word goes.
        left: Words that stay, the riskiest first.
        gold: Its annotations, where there are any.
    """

    note: Note
    scored: ScoredNote = field(repr=False)
    threshold: float
    left: Sequence[KeptWord]
    gold: Sequence[Span] | None = None

    @property
    def residual(self) -> float:
        """Expected number of PHI words that stay."""
        return sum(word.chance for word in self.left)

    @property
    def kinds(self) -> list[str]:
        """Kind of each sub-token with text, as the page colours it."""
        own = points_of([(self.scored, self.gold or ())])
        redacted = own.scores < self.threshold
        if self.gold is None:
            return ["gone" if is_redacted else "tn" for is_redacted in redacted]
        return [
            _OUTCOMES[bool(is_gold), bool(is_redacted)]
            for is_gold, is_redacted in zip(own.gold, redacted, strict=True)
        ]


def review_note(
    note: Note,
    scored: ScoredNote,
    *,
    threshold: float,
    risk: Risk,
    gold: Sequence[Span] | None = None,
) -> Reviewed:
    """Return a note with what stays in it, the riskiest first."""

    def keep_word(word: ScoredWord) -> KeptWord:
        return KeptWord(note.note_id, word.start, word.end, risk.of(word))

    # Of words with one chance, the less guessable comes first.
    kept = sorted(
        (word for word in scored.words if threshold <= word.score), key=lambda word: word.score
    )
    return Reviewed(
        note, scored, threshold, sorted(map(keep_word, kept), key=lambda word: -word.chance), gold
    )


def by_risk(notes: Iterable[Reviewed]) -> list[Reviewed]:
    """Return notes in the order in which they should be reviewed."""
    return sorted(notes, key=lambda one: (-one.residual, one.note.note_id))


def count_kinds(notes: Iterable[Reviewed]) -> Mapping[str, int]:
    """Return how many sub-tokens are of each kind."""
    return Counter(kind for one in notes for kind in one.kinds)


def page(notes: Sequence[Reviewed], *, title: str) -> str:
    """Return one self-contained page with the text of the notes, which only their readers
    may see.
    """
    total = count_kinds(notes)
    legend = "".join(
        f'<tr><td><b class="{kind}">{name}</b></td><td>{total[kind]:,}</td></tr>'
        for kind, name in _KINDS.items()
        if total[kind]
    )
    body = "".join(_section(one) for one in by_risk(notes))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1>"
        "<p>Holds the text of notes. The darker a word that stays, the more probably it is PHI.</p>"
        f"<table><tr><th>Sub-tokens</th><th></th></tr>{legend}</table>{body}</html>\n"
    )


def _section(one: Reviewed) -> str:
    chance = np.zeros(len(one.note.text))
    for word in one.left:
        chance[word.start : word.end] = word.chance
    encoded, parts, cursor = one.scored.encoded, [], 0
    has_text = encoded.ends > encoded.starts
    places = zip(
        encoded.starts[has_text].tolist(), encoded.ends[has_text].tolist(), one.kinds, strict=True
    )
    for start, end, kind in places:
        first = max(start, cursor)  # sub-tokens may share a character
        shade = (
            f' style="background:rgba(163,45,33,{chance[first]:.2f})"'
            if kind == "tn" and chance[first:end].any()
            else ""
        )
        parts += [
            escape(one.note.text[cursor:first]),
            f'<b class="{kind}"{shade}>{escape(one.note.text[first:end])}</b>',
        ]
        cursor = max(cursor, end)
    parts.append(escape(one.note.text[cursor:]))
    return (
        f"<h2>{escape(one.note.note_id)}: {one.residual:.2f} words of PHI expected to be"
        f" left</h2><pre>{''.join(parts)}</pre>"
    )
