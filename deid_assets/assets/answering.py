"""What a detector answers on a batch: unchanged notes by what is stored of them, the others by
reading them.

A note asks a detector a question: its fields, as far as the detector looks at them, and the
detector's version, options and model, in one keyed digest, which tells nothing of the text to who
has not the key. It stands beside the note's spans in the table ``notes`` of ``spans_<detector>``,
so that a stored partition says which questions it answers: of its own batch, and, where the
catalogue says that a text is there, of others. A receipt signs all of it. What cannot be verified
answers nothing, and a note that failed is asked again.

While a batch is read, what is answered so far is stored now and then as ``begun_<detector>``, which
a run that was killed leaves behind for the next.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.core.assets import Family
from deid_assets.core.errors import DeidError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.batch import Outcome
from deid_assets.runtime.detector_inputs import can_reuse, reads_text_alone, versions_of
from deid_assets.runtime.detectors import Answers
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import Receipt, UnsignedReceipt, inputs_of
from deid_assets.store.frames import spans_from_tables, spans_to_tables

QUESTION = "question"
"""Column of the keyed digests; a table without it answers nothing."""
VERSION = "answers"
"""Count of a receipt with the version of the detector that answered, as a keyed digest."""
TABLES = (("notes", "spans"), ("canary_notes", "canary_spans"))
"""Tables with answers: of a batch's own notes, and of its canary patients."""
KEPT_S, KEPT_SHARE = 5.0, 0.05
"""Least time between two times that what is answered so far is stored, and the most of the time
that storing it may take.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """The notes of a batch that a detector is asked about.

    Args:
        installation: Opened.
        detector: Its name.
        batch: Partition.
        notes: In order.
        source: Receipt of the notes.
        model: Receipt of the model that the detector runs, where the graph trains it.
    """

    installation: Installation
    detector: str
    batch: str
    notes: Sequence[Note]
    source: Receipt
    model: Receipt | None = None

    @property
    def asset(self) -> str:
        """The asset with the detector's spans."""
        return Family.SPANS.of(self.detector)

    @property
    def begun(self) -> str:
        """Path in the store of what a killed run answered."""
        return f"begun_{self.detector}"

    @property
    def sources(self) -> list[Receipt]:
        """Receipts of what the answers rest on."""
        return [self.source, *([self.model] if self.model else [])]

    @property
    def version(self) -> str:
        """Keyed digest of all that decides what the detector answers, but for the notes."""
        versions = versions_of(self.installation.snapshot, self.detector)
        made_of = json.dumps([self.detector, self.model.digest if self.model else "", versions])
        return self.installation.key.derive("answers", made_of).hex()[:32]


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """Answers of a detector to all notes of a batch.

    Args:
        outcomes: One per note, in order.
        questions: By note id, of the notes whose answers may be used again.
        version: As ``Asked.version``.
        read: Notes that the detector read.
        read_ids: Their ids.
        seconds: That it took for them, as ``Answers.seconds``.
        unverified: Stored partitions that could not be verified, as ``asset@batch``.
    """

    outcomes: Sequence[Outcome]
    questions: Mapping[str, str]
    version: str
    read: int
    seconds: float
    unverified: Sequence[str] = ()
    read_ids: frozenset[str] = frozenset()

    def drop(self, note_ids: Collection[str], outcomes: Sequence[Outcome]) -> BatchAnswers:
        """Return the answers without those to some notes; ``outcomes`` are what is left."""
        left = self.read_ids.difference(note_ids)
        return replace(self, outcomes=outcomes, read=len(left), read_ids=left)

    @property
    def in_words(self) -> str:
        """How many notes were read, for people."""
        again = " again" if self.read < len(self.outcomes) else ""
        return f"{self.read:,} of {len(self.outcomes):,} notes read{again}"

    @property
    def remarks(self) -> list[str]:
        """Lines for the log of a run."""
        lost = [f"{name} was altered, and answers nothing" for name in self.unverified]
        return [self.in_words, *lost]


def answer_notes(asked: Asked) -> BatchAnswers:
    """Return a detector's answers on a batch; only notes with another question than before are
    read.

    Raises:
        PluginError: The detector cannot be loaded.
        WorkerDied: Too many notes ended a worker process.
        ProvenanceError: Code, a file that the options name, or the notes changed meanwhile.
    """
    installation, version = asked.installation, asked.version
    snapshot = installation.snapshot
    is_kept = installation.settings.reuse_answers and can_reuse(snapshot, asked.detector)
    fields = _text_fields if reads_text_alone(snapshot, asked.detector) else _all_fields
    questions = (
        {note.note_id: _question(fields(note), version, installation.key) for note in asked.notes}
        if is_kept
        else {}
    )
    stored = _Stored(asked, questions, version)
    if is_kept:
        stored.look()
    unread = [note for note in asked.notes if note.note_id not in stored.answers]
    keeper = _Keeper(asked, questions, version, stored.of_killed)
    answers = installation.detectors.answer(
        asked.detector, unread, stage=asked.asset, on_answers=keeper.take if is_kept else None
    )
    read = dict(zip((note.note_id for note in unread), answers.outcomes, strict=True))
    outcomes = {**stored.answers, **read}
    return BatchAnswers(
        [outcomes[note.note_id] for note in asked.notes],
        questions,
        version,
        len(unread),
        answers.seconds,
        stored.unverified,
        frozenset(read),
    )


def add_questions(notes: pa.Table, questions: Mapping[str, str]) -> pa.Table:
    """Return a table of notes with their questions, where they have some."""
    asked = [questions.get(note_id) for note_id in notes.column("note_id").to_pylist()]
    return notes.append_column(QUESTION, pa.array(asked, pa.string()))


def discard_begun(asked: Asked) -> None:
    """Remove what a killed run answered; all of it is stored now."""
    asked.installation.files.discard(asked.begun, asked.batch)


def _question(fields: Sequence[object], version: str, key: Key) -> str:
    return key.derive("question", version, json.dumps(fields)).hex()[:32]


def _text_fields(note: Note) -> list[object]:
    return [note.digest, note.lang]


def _all_fields(note: Note) -> list[object]:
    meta = sorted(note.meta.items())
    return [note.digest, note.lang, note.note_id, note.patient_id, meta]


class _Stored:
    """What is stored of a batch's questions."""

    def __init__(self, asked: Asked, questions: Mapping[str, str], version: str) -> None:
        self._asked, self._version = asked, version
        self._files = asked.installation.files
        self._asking: dict[str, list[Note]] = {}
        for note in asked.notes:
            if note.note_id in questions:
                self._asking.setdefault(questions[note.note_id], []).append(note)
        self.answers: dict[str, SpanSet] = {}
        self.of_killed: list[SpanSet] = []
        self.unverified: list[str] = []

    def look(self) -> None:
        """Look where answers may be: what a killed run left, the batch itself, other batches."""
        asked = self._asked
        self.of_killed = self._take(asked.begun, asked.batch)
        self._take(asked.asset, asked.batch)
        if not self._asking:
            return
        for batch in self._others():
            self._take(asked.asset, batch)

    def _others(self) -> Iterator[str]:
        """Yield other batches with texts that are still asked about, those with the most first."""
        holding = self._batches_holding()
        while holding:
            left = {note.digest for notes in self._asking.values() for note in notes}
            holding = {batch: some for batch, had in holding.items() if (some := had & left)}
            if not holding:
                return
            best = max(sorted(holding), key=lambda batch: len(holding[batch]))
            del holding[best]
            yield best

    def _batches_holding(self) -> dict[str, set[str]]:
        """Return the digests of texts asked about by the other batches that have them."""
        from deid_assets.store import records  # noqa: PLC0415 - SQLModel takes 0.3 s to import

        notes = [note for some in self._asking.values() for note in some]
        installation = self._asked.installation
        with installation.database.session(read_only=True) as session:
            found = records.batches_with(session, notes, key=installation.key)
        return {batch: some for batch, some in found.items() if batch != self._asked.batch}

    def _take(self, asset: str, batch: str) -> list[SpanSet]:
        """Take the answers of a stored partition, and return them."""
        taken: list[SpanSet] = []
        try:
            receipt = self._files.find(asset, batch)
            if receipt is None or receipt.counts.get(VERSION) != self._version:
                return taken
            for names in TABLES:
                if names[0] in receipt.outputs:
                    notes, spans = (self._files.read(asset, batch, name) for name in names)
                    taken += self._take_answers(notes, spans)
        except DeidError:
            self.unverified.append(f"{asset}@{batch}")
        return taken

    def _take_answers(self, notes: pa.Table, spans: pa.Table) -> list[SpanSet]:
        notes, spans = _select_asked(notes, spans, self._asking)
        questions = notes.column(QUESTION).to_pylist()
        taken = []
        for question, found in zip(questions, spans_from_tables(notes, spans), strict=True):
            for note in self._asking.pop(question, ()):
                answer = SpanSet(note.note_id, found.digest, found.spans).check_against(note)
                self.answers[note.note_id] = answer
                taken.append(answer)
        return taken


def _select_asked(
    notes: pa.Table, spans: pa.Table, questions: Collection[str]
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of the notes that answer one of these questions, and of their spans."""
    chosen = pc.is_in(notes.column(QUESTION), value_set=pa.array(questions, pa.string()))
    if pc.all(chosen).as_py():
        return notes, spans
    of_spans = np.repeat(chosen.to_numpy(zero_copy_only=False), notes.column("n_spans").to_numpy())
    return notes.filter(chosen), spans.filter(pa.array(of_spans))


class _Keeper:
    """Stores what is answered so far, now and then."""

    def __init__(
        self,
        asked: Asked,
        questions: Mapping[str, str],
        version: str,
        answered: Sequence[SpanSet],
    ) -> None:
        self._asked, self._questions, self._version = asked, questions, version
        self._answered = {one.note_id: one for one in answered}
        self._next = time.monotonic() + KEPT_S

    def take(self, answers: Answers) -> None:
        """Take the answers of a chunk.

        Raises:
            ProvenanceError: Code, a file that the options name, or the notes changed meanwhile.
        """
        # A note comes twice where a worker that read others died.
        self._answered |= {one.note_id: one for one in answers.outcomes if isinstance(one, SpanSet)}
        began = time.monotonic()
        if began < self._next:
            return
        self._store()
        ended = time.monotonic()
        self._next = ended + max(KEPT_S, (ended - began) / KEPT_SHARE)

    def _store(self) -> None:
        asked, installation = self._asked, self._asked.installation
        installation.check_unchanged()
        present = installation.files.find(RAW_NOTES, asked.batch)
        if present is None or present.digest != asked.source.digest:
            raise ProvenanceError(
                f"{asked.source.name} was made again while it was being read; materialize"
                f" {asked.asset} again"
            )
        notes, spans = spans_to_tables(self._answered.values())
        installation.files.write(
            asked.begun,
            asked.batch,
            {"notes": add_questions(notes, self._questions), "spans": spans},
            receipt=UnsignedReceipt(
                code_version=self._version,
                inputs=inputs_of(asked.sources),
                counts={VERSION: self._version, "notes": notes.num_rows},
            ),
        )
