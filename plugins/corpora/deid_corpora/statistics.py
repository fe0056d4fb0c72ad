"""What a corpus holds, as tables 3.1 to 3.3 and 4.13 of Catelli (2021) have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.extending import Document, Token, label_ranges, sentences, tokenize

UNKNOWN = "unknown"


@dataclass(slots=True)
class CorpusCounts:
    """Sums over notes.

    Args:
        notes: Of them.
        patients: Ids; notes without a patient are not among them.
        characters: Code points.
        tokens: As taggers read them.
        sentences: As taggers read them.
        entities: Gold spans.
        entity_tokens: Tokens that a gold span touches.
        entity_characters: Code points within gold spans.
        without: Sentences without an entity.
        most: Entities of the sentence that has most.
        empty: Notes without an entity.
    """

    notes: int = 0
    patients: set[str] = field(default_factory=set, repr=False)
    characters: int = 0
    tokens: int = 0
    sentences: int = 0
    entities: int = 0
    entity_tokens: int = 0
    entity_characters: int = 0
    without: int = 0
    most: int = 0
    empty: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the sums and what follows from them; a ratio without a denominator is ``None``."""
        return {
            "notes": self.notes,
            "patients": len(self.patients),
            "notes_without_entities": self.empty,
            "characters": self.characters,
            "tokens": self.tokens,
            "sentences": self.sentences,
            "entities": self.entities,
            "entity_tokens": self.entity_tokens,
            "density_tokens": _ratio(self.entity_tokens, self.tokens),
            "density_characters": _ratio(self.entity_characters, self.characters),
            "tokens_per_note": _ratio(self.tokens, self.notes),
            "entities_per_note": _ratio(self.entities, self.notes),
            "tokens_per_entity": _ratio(self.entity_tokens, self.entities),
            "entities_per_sentence": _ratio(self.entities, self.sentences),
            "sentences_without_entities": self.without,
            "share_of_sentences_with_entities": _ratio(
                self.sentences - self.without, self.sentences
            ),
            "entities_per_sentence_with_any": _ratio(self.entities, self.sentences - self.without),
            "entity_tokens_per_note": _ratio(self.entity_tokens, self.notes),
            "most_entities_in_a_sentence": self.most,
        }


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a corpus.

    Args:
        whole: Over all notes.
        languages: By language, the commonest first; ``unknown`` for notes that name none.
        labels: Label to entities and tokens, the commonest first.
    """

    whole: CorpusCounts
    languages: dict[str, CorpusCounts]
    labels: dict[str, tuple[int, int]]

    def to_json(self) -> dict[str, Any]:
        """Return what a machine reads."""
        return {
            **self.whole.to_json(),
            "labels": {
                label: {
                    "entities": spans,
                    "tokens": tokens,
                    "tokens_per_entity": _ratio(tokens, spans),
                }
                for label, (spans, tokens) in self.labels.items()
            },
            "languages": {lang: counts.to_json() for lang, counts in self.languages.items()},
        }


def statistics(documents: Sequence[Document], *, native: bool) -> Statistics:
    """Return the counts of annotated notes.

    A span belongs to the sentence of its first token; one that touches no token, to none.

    Args:
        documents: Annotated notes.
        native: Whether to count by the corpus' own labels.
    """
    whole = CorpusCounts()
    languages: dict[str, CorpusCounts] = {}
    spans: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for document in documents:
        found = _find_touched(document, native=native)
        for label, touched in found:
            spans[label] += 1
            tokens[label] += len(touched)
        lang = document.note.lang or UNKNOWN
        for counts in (whole, languages.setdefault(lang, CorpusCounts())):
            _add(counts, document, [touched for _, touched in found])
    ordered = sorted(languages.items(), key=lambda entry: (-entry[1].notes, entry[0]))
    labels = sorted(spans, key=lambda label: (-spans[label], label))
    return Statistics(
        whole, dict(ordered), {label: (spans[label], tokens[label]) for label in labels}
    )


def _find_touched(document: Document, *, native: bool) -> list[tuple[str, range]]:
    """Return the label of each span and the tokens that it touches, as ranges of token numbers."""
    tokens = tokenize(document.note.text)
    found = []
    at = 0
    for start, end, label in label_ranges(document.spans, native=native):
        while at < len(tokens) and tokens[at][1] <= start:
            at += 1
        stop = at
        while stop < len(tokens) and tokens[stop][0] < end:
            stop += 1
        found.append((label, range(at, stop)))
    return found


def _add(counts: CorpusCounts, document: Document, touched: Sequence[range]) -> None:
    note = document.note
    tokens: list[Token] = tokenize(note.text)
    counts.notes += 1
    if note.patient_id is not None:
        counts.patients.add(note.patient_id)
    counts.characters += len(note.text)
    counts.tokens += len(tokens)
    counts.entities += len(touched)
    counts.entity_tokens += len({number for one in touched for number in one})
    counts.entity_characters += sum(span.end - span.start for span in document.spans)
    counts.empty += not touched
    firsts = Counter(one.start for one in touched if one)
    for part in sentences(note.text, tokens):
        within = sum(firsts[number] for number in part if number in firsts)
        counts.sentences += 1
        counts.without += not within
        counts.most = max(counts.most, within)


def _ratio(one: int, other: int) -> float | None:
    return round(one / other, 4) if other else None
