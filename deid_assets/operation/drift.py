"""Drift: how a batch differs from those before it, in numbers without text.

Of each batch five things are kept: spans per 1,000 words, the share of words that no list of the
language knows, the spans by category, the notes by language and clusters of their layouts. A rate
is judged against the median of the batches before, a mix by the share that lies elsewhere than
before, layouts by the share that no batch before had.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from statistics import median

from deid_assets.config.operation import WatchSettings
from deid_assets.core.note import Note
from deid_assets.languages.vocabulary import is_ordinary
from deid_assets.operation.layouts import Clusters, new_layout_shares

WORD = re.compile(r"[^\W\d_]+")
_ROBUST = 1.4826
"""Times the median deviation is the standard deviation of what is normally distributed."""
_DEVIATIONS = 4.0
"""A rate within so many of these of the median was usual before."""


@dataclass(frozen=True, slots=True)
class BatchProfile:
    """What is counted of a batch.

    Args:
        batch: Its id.
        arrived_at: UTC, ISO 8601.
        source: Digest of what it was counted from.
        notes: Read.
        words: Of their texts.
        unknown: Words outside of spans that no list of the note's language has.
        labels: Merged spans by category.
        languages: Notes by language.
        layouts: Clusters of how the notes' lines look; see ``layouts``.
    """

    batch: str
    arrived_at: str
    source: str
    notes: int
    words: int
    unknown: int
    labels: Mapping[str, int]
    languages: Mapping[str, int]
    layouts: Clusters = ()

    @property
    def spans(self) -> int:
        """Merged spans."""
        return sum(self.labels.values())

    @property
    def spans_per_1000(self) -> float:
        """Merged spans per 1,000 words."""
        return 1000 * self.spans / self.words if self.words else 0.0

    @property
    def unknown_share(self) -> float:
        """Share of unknown words."""
        return self.unknown / self.words if self.words else 0.0


def word_counts(notes: Iterable[Note]) -> tuple[int, int]:
    """Return the words of notes, and how many of them no list knows.

    A word is a run of letters; one is known in whatever case it is written.
    """
    words, unknown = 0, 0
    for note in notes:
        found = Counter(WORD.findall(note.text))
        words += sum(found.values())
        unknown += sum(n for word, n in found.items() if not is_ordinary(word, note.lang))
    return words, unknown


@dataclass(frozen=True, slots=True)
class Deviation:
    """One measure of one batch beside what was usual before.

    Args:
        batch: Its id.
        measure: One of ``MEASURES``.
        value: Of the batch: a rate, or the share that lies elsewhere or is new.
        usual: Median of the batches before; 0 for a mix.
        limit: Largest distance from it.
        is_off: Whether it lies further away.
        most: What changed most of a mix; empty for a rate.
    """

    batch: str
    measure: str
    value: float
    usual: float
    limit: float
    is_off: bool
    most: str = ""

    @property
    def line(self) -> str:
        """It in a line."""
        if self.most:
            what = _MIXES[self.measure]
            return (
                f"{self.batch}: {self.value:.1%} of the {what} than before (limit"
                f" {self.limit:.1%}), most of all {self.most}"
            )
        if self.measure == NEW_LAYOUTS:
            return (
                f"{self.batch}: {self.value:.1%} of the notes have a layout that no batch before"
                f" had, usual {self.usual:.1%} (limit {self.usual + self.limit:.1%})"
            )
        return (
            f"{self.batch}: {self.measure.replace('_', ' ')} {self.value:.3f}, usual"
            f" {self.usual:.3f} ± {self.limit:.3f}"
        )


_MIXES = {
    "label_mix": "spans are of other categories",
    "language_mix": "notes are in other languages",
}
NEW_LAYOUTS = "new_layouts"
MEASURES = ("spans_per_1000_words", "unknown_words", "label_mix", "language_mix", NEW_LAYOUTS)


def deviations(profiles: Sequence[BatchProfile], watch: WatchSettings) -> list[Deviation]:
    """Return every measure of every batch that enough batches came before.

    Args:
        profiles: In the order of arrival.
        watch: Limits.
    """
    shares = new_layout_shares([one.layouts for one in profiles])
    return [
        one
        for at in range(watch.drift_after, len(profiles))
        if profiles[at].notes
        for one in (
            *_of(profiles[at], profiles[:at], watch),
            *_new_layouts(profiles[: at + 1], shares, watch),
        )
    ]


def _of(one: BatchProfile, before: Sequence[BatchProfile], watch: WatchSettings) -> list[Deviation]:
    earlier = [profile for profile in before if profile.words]
    rates = {
        "spans_per_1000_words": [profile.spans_per_1000 for profile in earlier],
        "unknown_words": [profile.unknown_share for profile in earlier],
    }
    values = {"spans_per_1000_words": one.spans_per_1000, "unknown_words": one.unknown_share}
    return [
        *(_rate(one, name, values[name], found, watch) for name, found in rates.items() if found),
        _mix(one, "label_mix", one.labels, [profile.labels for profile in before], watch),
        _mix(one, "language_mix", one.languages, [profile.languages for profile in before], watch),
    ]


def _rate(
    one: BatchProfile, name: str, value: float, before: Sequence[float], watch: WatchSettings
) -> Deviation:
    usual = median(before)
    spread = _ROBUST * median(abs(found - usual) for found in before)
    limit = max(watch.drift_rate * usual, _DEVIATIONS * spread)
    return Deviation(one.batch, name, value, usual, limit, abs(value - usual) > limit)


def _mix(
    one: BatchProfile,
    name: str,
    counts: Mapping[str, int],
    before: Sequence[Mapping[str, int]],
    watch: WatchSettings,
) -> Deviation:
    """Compare two mixes by their total variation distance, less what chance alone makes of it."""
    pooled: Counter[str] = Counter()
    for found in before:
        pooled.update(found)
    size, of_all = sum(counts.values()), sum(pooled.values())
    if not size or not of_all:
        is_off = bool(size) != bool(of_all)
        most = "all" if is_off else "none"
        return Deviation(one.batch, name, float(is_off), 0.0, watch.drift_mix, is_off, most)
    gaps = {key: counts.get(key, 0) / size - pooled[key] / of_all for key in {*counts, *pooled}}
    distance = sum(abs(gap) for gap in gaps.values()) / 2
    most = min(gaps, key=lambda key: (-abs(gaps[key]), key))
    limit = watch.drift_mix + _by_chance(pooled, size)
    return Deviation(one.batch, name, distance, 0.0, limit, distance > limit, most)


def _new_layouts(
    profiles: Sequence[BatchProfile], shares: Sequence[float], watch: WatchSettings
) -> Iterator[Deviation]:
    """Judge the share of new layouts of the last of some batches; fewer than usual are no fault."""
    if not profiles[-1].layouts:
        return
    value = shares[len(profiles) - 1]
    # All is new to the first batch that has any.
    earlier = [share for one, share in zip(profiles[:-1], shares, strict=False) if one.layouts][1:]
    usual = median(earlier) if earlier else 0.0
    limit = watch.drift_mix + 2 * sqrt(usual * (1 - usual) / profiles[-1].notes)
    yield Deviation(profiles[-1].batch, NEW_LAYOUTS, value, usual, limit, value - usual > limit)


def _by_chance(pooled: Mapping[str, int], size: int) -> float:
    """Return the distance that a draw of some size from a mix has by chance.

    Half the sum of the mean absolute deviations of its shares, as if each were normal.
    """
    total = sum(pooled.values())
    shares = [count / total for count in pooled.values()]
    return sum(sqrt(2 * share * (1 - share) / (pi * size)) for share in shares) / 2
