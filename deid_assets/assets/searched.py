"""Answers of the search for residual hits: what was searched before is not searched again.

A redacted note asks the ensemble a question, as a note asks a detector in ``answering``: its text,
what of it was replaced, and all that decides what is found there, in one keyed digest. It stands
with what was found beside the redacted notes, in the tables ``searched`` and ``hits``. A search
that failed on a note answers nothing, and neither does what was altered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.parts import rebuild_redacted
from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.span import Span, SpanSet
from deid_assets.pipeline.batch import Hits
from deid_assets.runtime.detector_inputs import can_reuse, reads_text_alone, versions_of
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.taggers import model_asset
from deid_assets.store.frames import spans_from_tables, spans_to_tables

SEARCHED, HITS = "searched", "hits"
"""Tables of redacted notes: the questions that are answered, and what was found in text that was
kept of the original, in its offsets. Both name a question where others name a note.
"""

Look = Callable[[Collection[str]], Hits]


@dataclass
class SearchAnswers:
    """What the search of a batch found, before and now.

    Args:
        installation: Opened, as the release has it.
        policy: That notes are redacted under.
        batch: Partition.
        searched: Texts that were searched now.
        answered: Texts of which it was known what is found.
    """

    installation: Installation
    policy: Policy
    batch: str
    searched: int = 0
    answered: int = 0
    _found: dict[str, tuple[Span, ...]] = field(default_factory=dict, repr=False)

    def look(self, texts: tuple[pa.Table, pa.Table], note_ids: Collection[str], look: Look) -> Hits:
        """Return what is found in redacted notes; only those are searched that were not yet.

        Args:
            texts: Redacted notes and their edits, in the same order.
            note_ids: Notes that are searched.
            look: Searches notes by id.
        """
        if not self._is_kept:
            self.searched += len(note_ids)
            return look(note_ids)
        asked = self._questions(texts, note_ids)
        hits: dict[str, tuple[Span, ...] | Failed] = {
            note_id: self._stored[question]
            for note_id, question in asked.items()
            if question in self._stored
        }
        unknown = [note_id for note_id in note_ids if note_id not in hits]
        self.answered += len(hits)
        self.searched += len(unknown)
        hits |= look(unknown) if unknown else {}
        for note_id, question in asked.items():
            hit = hits[note_id]
            if not isinstance(hit, Failed):
                self._found[question] = hit
        return hits

    def tables(self) -> dict[str, pa.Table]:
        """Return the answers as tables, for the next time: a note may have asked several, one after
        each redaction, so that questions stand in the place of notes' ids.
        """
        asked, hits = spans_to_tables(
            SpanSet(question, question, hits) for question, hits in self._found.items()
        )
        return {SEARCHED: asked, HITS: hits}

    @property
    def in_words(self) -> str:
        """How many notes were searched, for people; nothing where no search was made."""
        whole = self.searched + self.answered
        again = " again" if self.answered else ""
        return f"{self.searched:,} of {whole:,} redacted notes searched{again}" if whole else ""

    @cached_property
    def _is_kept(self) -> bool:
        settings, snapshot = self.installation.settings, self.installation.snapshot
        return settings.reuse_answers and all(can_reuse(snapshot, one) for one in settings.ensemble)

    @cached_property
    def _version(self) -> str:
        """All that decides what is found, but for the note."""
        settings, snapshot = self.installation.settings, self.installation.snapshot
        made_of = {
            "ensemble": {name: versions_of(snapshot, name) for name in settings.ensemble},
            "order": list(settings.ensemble),
            "models": {name: self._model(name) for name in settings.ensemble},
            "resolve": settings.resolve,
            "keep": sorted(label.value for label in self.policy.keep),
        }
        return json.dumps(made_of, sort_keys=True)

    def _model(self, name: str) -> str:
        recipe = self.installation.snapshot.recipes.get(name)
        if recipe is None:
            return ""
        asset = model_asset(recipe, self.installation.snapshot.installed)
        return self.installation.taggers.receipt(asset).digest

    @cached_property
    def _stored(self) -> dict[str, tuple[Span, ...]]:
        """Question to what was found, of the batch as it is stored."""
        files = self.installation.files
        asset = self.installation.names.name_redacted(self.policy.name)
        try:
            receipt = files.find(asset, self.batch)
            if receipt is None or SEARCHED not in receipt.outputs:
                return {}
            asked, hits = (files.read(asset, self.batch, name) for name in (SEARCHED, HITS))
        except DeidError:
            return {}
        return {one.note_id: one.spans for one in spans_from_tables(asked, hits)}

    def _questions(
        self, texts: tuple[pa.Table, pa.Table], note_ids: Collection[str]
    ) -> Mapping[str, str]:
        chosen = pa.array(note_ids, pa.string())
        some = (
            table.filter(pc.is_in(table.column("note_id"), value_set=chosen)) for table in texts
        )
        snapshot, names = self.installation.snapshot, self.installation.settings.ensemble
        is_text_alone = all(reads_text_alone(snapshot, name) for name in names)
        return {
            note.note_id: self._question(note, redacted, is_text_alone=is_text_alone)
            for note, redacted in rebuild_redacted(*some)
        }

    def _question(self, note: Note, redacted: Redacted, *, is_text_alone: bool) -> str:
        edits = [
            (edit.start, edit.end, edit.new_start, edit.new_end, edit.label.value)
            for edit in redacted.edits
        ]
        whose = [] if is_text_alone else [note.note_id, note.patient_id]
        asked = json.dumps([note.digest, note.lang, whose, edits])
        return self.installation.key.derive("search", self._version, asked).hex()[:32]
