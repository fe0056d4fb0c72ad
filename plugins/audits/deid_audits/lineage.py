"""From a model back to every raw source, and whether each may be used."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from deid_audits.facts import Facts, LedgerEntry, Tier


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """A source that a model rests on.

    Args:
        source: The ledger's entry.
        depth: Steps from the model, 1 for what it was trained on.
        faults: Why it may not be used, a clause each.
    """

    source: LedgerEntry
    depth: int
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a model rests on.

    Args:
        entries: Each source once, the nearest first.
        unknown: Names that the ledger does not have.
    """

    entries: tuple[LineageEntry, ...]
    unknown: tuple[str, ...]

    @property
    def raw(self) -> tuple[str, ...]:
        """Names of the raw sources."""
        return tuple(entry.source.name for entry in self.entries if entry.source.tier is Tier.RAW)

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it, a line each."""
        unknown = (f"source {name!r} is not in the ledger" for name in self.unknown)
        return (
            *unknown,
            *(
                f"source {each.source.name!r} {fault}"
                for each in self.entries
                for fault in each.faults
            ),
        )


@dataclass(frozen=True, slots=True)
class Trained:
    """What a card says that a model read.

    Args:
        rows: Source, and how many of its notes, or which corpus, the model was trained on.
        faults: What the ledger does not say, or says otherwise, a line each.
    """

    rows: tuple[tuple[str, str], ...] = ()
    faults: tuple[str, ...] = ()


def lineage(facts: Facts, *, today: dt.date | None = None) -> Lineage:
    """Return every source of the model, followed back to what came from outside.

    A raw source needs a permit that has not run out, and none may be what the model itself was
    trained on. A circle ends where it closes.

    Args:
        facts: Of the model.
        today: The day on which permits must hold; the present one, in UTC, when not given.
    """
    day = today or dt.datetime.now(dt.UTC).date()
    known = {source.name: source for source in facts.sources}
    depths: dict[str, int] = {}
    waiting = [(name, 1) for name in facts.model.made_from]
    while waiting:
        name, depth = waiting.pop(0)
        if name in depths:
            continue
        depths[name] = depth
        if name in known:
            waiting += [(parent, depth + 1) for parent in known[name].made_from]
    entries = tuple(
        LineageEntry(known[name], depth, tuple(_faults(known[name], depth, day)))
        for name, depth in depths.items()
        if name in known
    )
    return Lineage(entries, tuple(name for name in depths if name not in known))


def _faults(source: LedgerEntry, depth: int, day: dt.date) -> Iterator[str]:
    if source.tier is Tier.RAW:
        if not source.permit:
            yield "is raw and has no permit"
        elif source.until is not None and source.until < day:
            yield f"has a permit that ran out on {source.until}"
        if depth == 1:
            yield "is raw, and the model was trained on it directly"
    elif not source.made_from and source.tier is Tier.DEIDENTIFIED:
        yield "is de-identified, and what it was made from is not said"
