"""Redact, search and verify over worker processes: the steps run on a batch in parts.

Each part has all notes of its patients. As in ``parts``, nothing here imports Dagster, which a
worker would import for nothing. The key is read where it is needed, and is not sent.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.parts import (
    PART_CHARS,
    NoteTables,
    RedactedTables,
    batch_of,
    of_patients,
    parts_of,
    places_of,
    rebuild_redacted,
    split,
    tables_of,
)
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.span import Span
from deid_assets.pipeline.batch import Hits, Predictions, SearchResult
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.denying import drop_allowed
from deid_assets.pipeline.redacting import Redact, Verify
from deid_assets.pipeline.resolving import Detect, by_note
from deid_assets.pipeline.searching import Search, SearchSample, hits_in, search_until_clean
from deid_assets.policies.collisions import Originals
from deid_assets.policies.needs import originals_of
from deid_assets.store.frames import failed_to_table

if TYPE_CHECKING:
    from deid_assets.assets.searched import SearchAnswers
    from deid_assets.runtime.detectors import RunsDetector as DetectHere
    from deid_assets.runtime.installation import Installation

Texts = tuple[pa.Table, pa.Table]
"""Redacted notes and their edits, in the same order."""


@dataclass(frozen=True, slots=True)
class Workers:
    """The worker processes of an installation, redacting under one policy."""

    installation: Installation
    policy: Policy

    def run(
        self, stored: NoteTables, answers: SearchAnswers | None = None
    ) -> tuple[RedactedTables, SearchResult]:
        """Return what becomes of a batch with stored spans, and what was found in redacted text.

        Args:
            stored: The batch.
            answers: What an earlier search found, and where this one leaves its answers.
        """
        note_ids = stored.notes.column("note_id").combine_chunks()
        parts = parts_of(stored)
        originals = self._originals(parts)
        redacted = _join(self._redact(parts, originals), note_ids)

        def look(chosen: Collection[str]) -> Hits:
            texts = (redacted.notes, redacted.edits)
            search = partial(self.look, texts)
            hits = answers.look(texts, chosen, search) if answers else search(chosen)
            return drop_allowed(hits, stored.allowed)

        def redo(hits: Mapping[str, Sequence[Span]]) -> Collection[str]:
            nonlocal redacted
            wider = of_patients(stored, hits)
            again = self._redact(parts_of(wider), originals)
            redone = frozenset(wider.notes.column("note_id").to_pylist())
            others = _drop_notes(redacted, redone)
            redacted = replace(_join([others, *again], note_ids), values=redacted.values)
            return [one for part in again for one in part.notes.column("note_id").to_pylist()]

        gates = self.installation.settings.gates
        result = search_until_clean(
            redacted.notes.column("note_id").to_pylist(),
            look=look,
            redo=redo,
            draw=SearchSample(self.installation.key, gates.residual_sample, gates.residual),
        )
        return _hold_back(redacted, result.withhold(Search.name), note_ids), result

    def cover(self, stored: NoteTables) -> RedactedTables:
        """Return what becomes of a batch with stored spans and the hits of an earlier search."""
        parts = parts_of(stored)
        note_ids = stored.notes.column("note_id").combine_chunks()
        return _join(self._redact(parts, self._originals(parts)), note_ids)

    def look(self, texts: Texts, note_ids: Collection[str]) -> Hits:
        """Return what the ensemble finds in the kept text of these redacted notes."""
        parts = _parts_of_texts(texts, note_ids)
        settings = self.installation.settings
        work = partial(search_part, policy=self.policy, settings=settings)
        hits: dict[str, tuple[Span, ...] | Failed] = {}
        for of_part in self.installation.detectors.map_detecting(
            work, parts, names=settings.ensemble
        ):
            hits |= of_part
        return hits

    def _redact(
        self, parts: Sequence[NoteTables], originals: Container[str]
    ) -> list[RedactedTables]:
        work = partial(
            redact_part,
            policy=self.policy,
            settings=self.installation.settings,
            originals=originals,
        )
        return self.installation.detectors.map(work, parts)

    def _originals(self, parts: Sequence[NoteTables]) -> Container[str]:
        """Return the values of the batch that no surrogate may be.

        Nothing is read for a policy that writes none.
        """
        key = self.installation.key
        if not isinstance(originals_of(self.policy, key, ()), Originals):
            return ()
        work = partial(originals_in, policy=self.policy, settings=self.installation.settings)
        of_parts = self.installation.detectors.map(work, parts)
        return Originals.merge(key, [one for one in of_parts if isinstance(one, Originals)])


def originals_in(part: NoteTables, *, policy: Policy, settings: Settings) -> Container[str]:
    """Return the values of a part that no surrogate may be."""
    return _redact_step(policy, settings).originals(batch_of(part))


def redact_part(
    part: NoteTables, *, policy: Policy, settings: Settings, originals: Container[str]
) -> RedactedTables:
    """Redact a part of a batch, and withhold the notes in which known values are left.

    Args:
        part: With all notes of its patients, since a value counts in each of them.
        policy: What to redact with.
        settings: Of the installation.
        originals: Values of the whole batch, which no surrogate may be.
    """
    pipeline = Pipeline((_redact_step(policy, settings), Verify()))
    return tables_of(pipeline.run(replace(batch_of(part), originals=originals)))


def search_part(texts: Texts, detect: DetectHere, *, policy: Policy, settings: Settings) -> Hits:
    """Return, per note, what the ensemble finds in text that was kept of the original."""

    def predict(notes: Sequence[Note]) -> Predictions:
        return {
            name: by_note(detect(name, notes, stage=Family.SPANS.of(name)))
            for name in settings.ensemble
        }

    return hits_in(
        list(rebuild_redacted(*texts)),
        detect=Detect(predict, tuple(settings.ensemble)),
        resolve_by=settings.resolve,
        keep=policy.keep,
    )


def _redact_step(policy: Policy, settings: Settings) -> Redact:
    return Redact(policy, settings.key(), covers_annotated=settings.redact_gold)


def _parts_of_texts(texts: Texts, note_ids: Collection[str]) -> list[Texts]:
    notes, edits = texts
    chosen = pc.is_in(notes.column("note_id"), value_set=pa.array(note_ids, pa.string()))
    of_edits = np.repeat(chosen.to_numpy(zero_copy_only=False), notes.column("n_edits").to_numpy())
    notes = notes.filter(chosen)
    edits = edits.filter(pa.array(of_edits))
    if not notes.num_rows:
        return []
    ends = np.cumsum(pc.utf8_length(notes.column("text")).to_numpy())
    number = ends // PART_CHARS
    number = np.searchsorted(np.unique(number), number)
    count = int(number.max()) + 1
    of_notes = split(notes, number, count)
    return list(
        zip(
            of_notes,
            split(edits, np.repeat(number, notes.column("n_edits").to_numpy()), count),
            strict=True,
        )
    )


def _join(parts: Sequence[RedactedTables], note_ids: pa.Array) -> RedactedTables:
    return RedactedTables(
        notes=_order([part.notes for part in parts], note_ids),
        edits=_order([part.edits for part in parts], note_ids),
        failed=_order([part.failed for part in parts], note_ids),
        changed=frozenset[str]().union(*(part.changed for part in parts)),
        survival={note_id: one for part in parts for note_id, one in part.survival.items()},
        values=sum(part.values for part in parts),
        fallbacks={note_id: counts for part in parts for note_id, counts in part.fallbacks.items()},
    )


def _order(tables: Sequence[pa.Table], note_ids: pa.Array) -> pa.Table:
    """Return the rows of the tables in the order of their notes."""
    table = pa.concat_tables(tables)
    order = np.argsort(places_of(table, note_ids), kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def _hold_back(
    redacted: RedactedTables, withheld: Mapping[str, Failed], note_ids: pa.Array
) -> RedactedTables:
    """Return what is left when some more notes are withheld; the first reason stands."""
    known = frozenset(redacted.failed.column("note_id").to_pylist())
    more = failed_to_table(one for one in withheld.values() if one.note_id not in known)
    others = _drop_notes(redacted, withheld.keys() - known)
    return replace(others, failed=_order([redacted.failed, more], note_ids))


def of_notes(redacted: RedactedTables, notes: pa.Table) -> RedactedTables:
    """Return what became of these notes alone."""
    ids = [*redacted.notes.column("note_id").to_pylist()]
    ids += redacted.failed.column("note_id").to_pylist()
    return _drop_notes(redacted, set(ids) - set(notes.column("note_id").to_pylist()))


def _drop_notes(redacted: RedactedTables, note_ids: AbstractSet[str]) -> RedactedTables:
    """Return what became of all other notes."""
    held = pa.array(note_ids, pa.string())

    def others(table: pa.Table) -> pa.Table:
        return table.filter(pc.invert(pc.is_in(table.column("note_id"), value_set=held)))

    return replace(
        redacted,
        notes=others(redacted.notes),
        edits=others(redacted.edits),
        failed=others(redacted.failed),
        changed=redacted.changed - note_ids,
        survival={
            note_id: one for note_id, one in redacted.survival.items() if note_id not in note_ids
        },
        fallbacks={
            note_id: counts
            for note_id, counts in redacted.fallbacks.items()
            if note_id not in note_ids
        },
    )
