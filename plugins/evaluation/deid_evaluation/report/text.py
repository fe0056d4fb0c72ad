"""Text that was generated from the notes, as JSON.

How near it is to the gold redaction, and what it changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heapreplace

from deid_assets.extending import ConfigError, InputError
from deid_assets.extending.scoring import (
    HOLE,
    Alteration,
    AlterationKind,
    BleuCounts,
    alterations,
    bleu_counts,
    expand,
    make_holes,
    words,
)
from deid_evaluation.report.corpus import Json, ProfiledNotes, Shown
from deid_evaluation.report.scores import share_json

PLACEHOLDER = r"\[[^\[\]\n]{1,40}\]"
"""Default pattern of a replacement: a word or two in square brackets."""
Key = tuple[int, str, int, int]
"""Size, note, place in the source, place in the output."""
PER_KIND = 40
"""Alterations listed of every kind."""


def placeholder_of(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern of placeholders.

    Raises:
        ConfigError: It is no regular expression, or matches an empty text.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"placeholder {pattern!r} is no regular expression: {error}") from None
    if compiled.search(""):
        raise ConfigError(
            f"placeholder {pattern!r} matches an empty text; say what stands in the place of a"
            " value"
        )
    return compiled


def text_json(
    corpus: ProfiledNotes,
    rewritten: Mapping[str, str],
    shown: Shown,
    *,
    placeholder: re.Pattern[str],
) -> Json:
    """Return BLEU-4 against the gold redaction, and what was altered.

    Counted as altered are words, numbers, units and negations. Placeholders are all alike for BLEU,
    and an output ``ANONYMOUS`` stands for the note; identifiers that were left count as wrong words
    there, and as leaks elsewhere.

    Args:
        corpus: The gold.
        rewritten: Note id to generated text, of all notes.
        shown: How places are shown.
        placeholder: What an identifier becomes.

    Raises:
        InputError: A note has no generated text.
    """
    if missing := sorted(corpus.gold.keys() - rewritten.keys()):
        raise InputError(
            f"{len(missing)} of {len(corpus.gold)} annotated notes have no rewritten text, the"
            f" first is {missing[0]!r}; give the text of every note"
        )
    outputs = {
        note_id: expand(corpus.notes[note_id].text, rewritten[note_id]) for note_id in corpus.gold
    }
    altered = _Altered()
    for note_id, gold in corpus.gold.items():
        note = corpus.notes[note_id]
        altered.add(note_id, alterations(note, gold, outputs[note_id], replacement=placeholder))
    of_notes = list(_count_ngrams(corpus, outputs, placeholder))
    return {
        "placeholder": placeholder.pattern,
        "bleu": sum(of_notes, BleuCounts()).score(),
        "bleu_per_note": sum(counts.score() for counts in of_notes) / len(of_notes),
        "unaltered": share_json(len(corpus.gold) - altered.notes, len(corpus.gold)),
        "counts": altered.count_rows(),
        "rows": [_row(note_id, one, shown) for note_id, one in altered.list_longest()],
    }


def _count_ngrams(
    corpus: ProfiledNotes, outputs: Mapping[str, str], placeholder: re.Pattern[str]
) -> Iterator[BleuCounts]:
    """Yield the n-grams of each note that the gold redaction leaves words of."""
    for note_id, gold in corpus.gold.items():
        output = words(placeholder.sub(f" {HOLE} ", outputs[note_id]))
        reference = words(make_holes(corpus.notes[note_id].text, gold))
        if reference:
            yield bleu_counts(output, reference)


@dataclass(slots=True)
class _Altered:
    """What was altered in generated notes.

    Args:
        notes: In how many.
        counts: By kind and change.
        kept: The longest of each kind, as a heap.
    """

    notes: int = 0
    counts: Counter[tuple[AlterationKind, str]] = field(default_factory=Counter)
    kept: dict[AlterationKind, list[tuple[Key, Alteration]]] = field(default_factory=dict)

    def add(self, note_id: str, found: Collection[Alteration]) -> None:
        """Count the alterations of a note."""
        self.notes += bool(found)
        for one in found:
            self.counts[one.kind, str(one.change)] += 1
            _keep(self.kept.setdefault(one.kind, []), note_id, one)

    def count_rows(self) -> list[Json]:
        """Return the counts, in the order of the kinds."""
        kinds = list(AlterationKind)
        ordered = sorted(self.counts.items(), key=lambda entry: (kinds.index(entry[0][0]), entry))
        return [
            {"kind": str(kind), "change": change, "alterations": count}
            for (kind, change), count in ordered
        ]

    def list_longest(self) -> list[tuple[str, Alteration]]:
        """Return note ids and alterations, kind by kind, the longest first."""
        return [
            (key[1], one)
            for kind in AlterationKind
            for key, one in sorted(self.kept.get(kind, ()))[::-1]
        ]


def _keep(heap: list[tuple[Key, Alteration]], note_id: str, one: Alteration) -> None:
    """Keep the longest; places decide between those of one length."""
    size = max(one.end - one.start, one.output_end - one.output_start)
    key = (size, note_id, one.start, one.output_start)
    if len(heap) < PER_KIND:
        heappush(heap, (key, one))
    elif key > heap[0][0]:
        heapreplace(heap, (key, one))


def _row(note_id: str, one: Alteration, shown: Shown) -> Json:
    return {
        "note": note_id,
        "kind": str(one.kind),
        "change": str(one.change),
        "start": one.start,
        "end": one.end,
        "output_start": one.output_start,
        "output_end": one.output_end,
        **shown.at(note_id, one.start, one.end),
    }
