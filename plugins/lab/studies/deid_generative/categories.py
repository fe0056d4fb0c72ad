"""The category of what an untyped placeholder stands for.

By its form, by another detector, by a small classifier.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets import Phi, Span
from deid_assets.extending import Document, PluginError

UNKNOWN = Phi.NAME
"""Category of what nothing is known of: the one that no policy leaves."""
_FORMS = (
    (re.compile(r"\S+@\S+\.\w+"), Phi.EMAIL),
    (re.compile(r"(?:https?://|www\.)\S+"), Phi.URL),
    (re.compile(r"(?:\+\d{1,3}[ .-]?)?(?:\(?0\)?)?[1-9](?:[ .-]?\d{2}){4}"), Phi.PHONE),
    (re.compile(r"\d{1,2}\s*[/.-]\s*\d{1,2}(?:\s*[/.-]\s*(?:19|20)?\d{2})?"), Phi.DATE),
)
_WORD = re.compile(r"\w+")
_BEFORE = 24
"""Characters before a span that its context is taken from."""


def by_form(value: str) -> Phi | None:
    """Return the category that the form of a value alone tells, or none."""
    return next((label for form, label in _FORMS if form.fullmatch(value.strip())), None)


def by_overlap(start: int, end: int, others: Sequence[Span]) -> Phi | None:
    """Return the category of the span that covers most of a range, or none where none
    touches it.
    """
    common = [(min(end, one.end) - max(start, one.start), one.score, one.label) for one in others]
    best = max((one for one in common if one[0] > 0), default=None)
    return best[2] if best else None


@dataclass(slots=True)
class ValueClassifier:
    """A classifier of values by their letters, form and the words before them (naive Bayes, add-one
    smoothing).

    Args:
        counts: Category to feature to occurrences in training spans.
        spans: Category to training spans.
    """

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    spans: Counter[str] = field(default_factory=Counter)

    @classmethod
    def learnt(cls, documents: Iterable[Document]) -> ValueClassifier:
        """Return a classifier of the spans of documents."""
        found = cls()
        for document in documents:
            for span in document.spans:
                label = span.label.value
                found.spans[label] += 1
                features = _features(document.note.text, span.start, span.end)
                found.counts.setdefault(label, Counter()).update(features)
        return found

    def guess(self, text: str, start: int, end: int) -> Phi | None:
        """Return the likeliest category of a range, or none where nothing was learnt."""
        if not self.spans:
            return None
        features = list(_features(text, start, end))
        vocabulary = len(set().union(*self.counts.values()))
        scores = {label: self._score(label, features, vocabulary) for label in sorted(self.spans)}
        return Phi(max(scores, key=scores.__getitem__))

    def _score(self, label: str, features: Sequence[str], vocabulary: int) -> float:
        counts = self.counts[label]
        total = math.log(counts.total() + vocabulary + 1)
        prior = math.log(self.spans[label] / self.spans.total())
        return prior + sum(math.log(counts[feature] + 1) - total for feature in features)

    def to_json(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        return {
            "spans": dict(self.spans),
            "counts": {label: dict(found) for label, found in self.counts.items()},
        }

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> ValueClassifier:
        """Return a classifier from what a model folder keeps.

        Raises:
            PluginError: It is something else.
        """
        try:
            counts = {
                Phi(label).value: Counter(dict(found)) for label, found in values["counts"].items()
            }
            return cls(counts, Counter(dict(values["spans"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PluginError(
                "categories.json of the model is broken; train the model again"
            ) from error


def _features(text: str, start: int, end: int) -> Iterator[str]:
    value = text[start:end]
    form = re.sub(r"(.)\1+", r"\1", "".join(map(_kind, value)))
    yield f"form={form}"
    for word in _WORD.findall(value.casefold())[:8]:
        yield f"word={word}"
        padded = f"^{word}$"
        yield from (f"letters={padded[at : at + 3]}" for at in range(len(padded) - 2))
    before = _WORD.findall(text[max(0, start - _BEFORE) : start].casefold())[-2:]
    yield from (f"before={word}" for word in before)
    after = _WORD.findall(text[end : end + _BEFORE].casefold())[:1]
    yield from (f"after={word}" for word in after)


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return character
