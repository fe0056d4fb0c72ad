"""What detection found on annotated notes, by category, by language and by how a category
identifies; and what of it was replaced in notes that nobody annotated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.detection import read_notes_of
from deid_assets.assets.merging import read_gold, read_held_out
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi, Profile, profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Counts, Evaluation, Scheme
from deid_assets.evaluation.score import evaluate_corpus
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.policies.collisions import IDENTIFIERS, PERSONAL
from deid_assets.store.frames import scores_from_table, spans_from_tables

DIRECT = IDENTIFIERS | PERSONAL | {Phi.STREET, Phi.URL, Phi.IP}
"""Categories that identify a person by themselves; all others do together with something else."""


@dataclass(frozen=True, slots=True)
class AnnotatedGroup:
    """Counts of some of the annotated spans.

    Args:
        name: A category, a language, or how a category identifies.
        counts: Spans covered, needlessly predicted, and missed.
        replaced: Spans of the group that were replaced in released notes that nobody annotated.
    """

    name: str
    counts: Counts
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class DetectionRecall:
    """What is known of detection in a batch.

    Args:
        evaluation: Of the annotated notes that no tagger of the installation learns from; ``None``
            where there is none.
        categories: Each category that was annotated or found, the worst covered first.
        languages: The same for languages.
        kinds: Direct identifiers, and those that identify with others.
        annotated: Annotated notes of the batch.
        unannotated: Released notes that nobody annotated.
        replaced: Spans replaced in these.
        replaced_in_all: Spans replaced in all released notes.
    """

    evaluation: Evaluation | None
    categories: tuple[AnnotatedGroup, ...]
    languages: tuple[AnnotatedGroup, ...]
    kinds: tuple[AnnotatedGroup, ...]
    annotated: int
    unannotated: int
    replaced: int
    replaced_in_all: int

    @property
    def covered(self) -> Counts:
        """Over all categories."""
        return self.evaluation.micro(Scheme.COVERED) if self.evaluation else Counts()

    @property
    def scored(self) -> int:
        """Annotated notes that were scored."""
        return self.evaluation.notes.notes if self.evaluation else 0


def recall_of_release(release: VerifiedRelease) -> DetectionRecall:
    """Return what the annotations of a batch show, counted again from the stored spans."""
    house, batch = release.installation.house, release.batch
    files = house.files
    notes = read_notes_of(batch, house)
    gold, scored = read_gold(batch, house), read_held_out(batch, house, notes)
    redacted = release.installation.names.name_redacted(release.policy)
    edits = files.read(redacted, batch, "edits")
    released = files.read(redacted, batch, "notes").column("note_id").to_pylist()
    counted = profile(house.settings.profile)
    replaced = _count_replaced(edits, gold, counted)
    pairs = _pairs(release, scored)
    lengths = {note.note_id: len(note.text) for note in notes}
    whole = evaluate_corpus(pairs, profile=_by_category(counted), lengths=lengths)
    stored = scores_from_table(files.read(MERGED_SPANS, batch, "scores"))
    return DetectionRecall(
        stored.get(MERGED_SPANS),
        _groups(whole, replaced),
        _languages(pairs, notes, counted),
        _kinds(whole, replaced),
        len(gold),
        len(set(released) - gold.keys()),
        sum(replaced.values()),
        edits.num_rows,
    )


def _pairs(
    release: VerifiedRelease, scored: Mapping[str, SpanSet]
) -> list[tuple[SpanSet, SpanSet]]:
    """Return what people marked in each note, and what was found; nothing where none was."""
    read = release.installation.files.read
    tables = [read(MERGED_SPANS, release.batch, table) for table in ("notes", "spans")]
    found = {spans.note_id: spans for spans in spans_from_tables(*tables)}
    return [(spans, found.get(key, SpanSet(key, spans.digest))) for key, spans in scored.items()]


def _count_replaced(edits: pa.Table, gold: Iterable[str], counted: Profile) -> Counter[Phi]:
    """Return how many spans of each category that counts were replaced in notes without
    annotations.
    """
    annotated = pa.array(list(gold), pa.string())
    others = edits.filter(pc.invert(pc.is_in(edits.column("note_id"), value_set=annotated)))
    labels = map(Phi, others.column("label").to_pylist())
    return Counter(label for label in labels if label in counted.labels)


def _by_category(counted: Profile) -> Profile:
    """Return a profile that counts what another does, each category under its own name."""
    labels = {category: category.value for category in counted.labels}
    return Profile(f"{counted.name} by category", labels, counted.source)


def _groups(whole: Evaluation, replaced: Mapping[Phi, int]) -> tuple[AnnotatedGroup, ...]:
    found = [
        AnnotatedGroup(label, whole.counts(label, Scheme.COVERED), replaced.get(Phi(label), 0))
        for label in whole.labels
    ]
    return _worst_first(found)


def _kinds(whole: Evaluation, replaced: Mapping[Phi, int]) -> tuple[AnnotatedGroup, ...]:
    direct, others = Counts(), Counts()
    for label in whole.labels:
        counts = whole.counts(label, Scheme.COVERED)
        direct, others = (
            (direct + counts, others) if Phi(label) in DIRECT else (direct, others + counts)
        )
    of_direct = sum(count for label, count in replaced.items() if label in DIRECT)
    rest = sum(replaced.values()) - of_direct
    return AnnotatedGroup("direct", direct, of_direct), AnnotatedGroup("indirect", others, rest)


def _languages(
    pairs: Iterable[tuple[SpanSet, SpanSet]], notes: Iterable[Note], counted: Profile
) -> tuple[AnnotatedGroup, ...]:
    lengths = {note.note_id: len(note.text) for note in notes}
    languages = {note.note_id: note.lang or "unknown" for note in notes}
    members: dict[str, list[tuple[SpanSet, SpanSet]]] = {}
    for gold, found in pairs:
        members.setdefault(languages[gold.note_id], []).append((gold, found))
    groups = [
        AnnotatedGroup(
            lang, evaluate_corpus(own, profile=counted, lengths=lengths).micro(Scheme.COVERED)
        )
        for lang, own in members.items()
    ]
    return _worst_first(groups)


def _worst_first(groups: Iterable[AnnotatedGroup]) -> tuple[AnnotatedGroup, ...]:
    def rank(group: AnnotatedGroup) -> tuple[bool, float, str]:
        recall = group.counts.recall
        return recall is None, recall or 0.0, group.name

    return tuple(sorted(groups, key=rank))
