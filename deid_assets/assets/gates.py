"""Gates on gold: what a batch must show before it continues, and the baseline of its
next version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_assets.assets.declarations import Check
from deid_assets.config import Gates
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.note import Note
from deid_assets.core.phi import Profile, profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.comparison import BaselineDifference, Ratio
from deid_assets.evaluation.counts import Counts, Evaluation, Scheme
from deid_assets.evaluation.score import evaluate_by_note, evaluate_corpus
from deid_assets.quality import Verdict, gates
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import Receipt, UnsignedReceipt
from deid_assets.store.frames import spans_from_tables, spans_to_tables

BASELINE = "release_baseline"
"""Kept with every release: the merged spans of its notes with gold.

No asset of the graph, and no text.
"""
RELEASED = "released_corpus"
BASELINE_NOTES = "baseline_notes"
"""Count in a release's receipt: how many notes its baseline holds.

Releases without it are older than the gate.
"""

CHECKS = (
    Check(
        "recall_lower_bound",
        "On annotated notes, the lower end of recall's 95 % interval is not below its minimum.",
    ),
    Check(
        "notes_covered_lower_bound",
        "On annotated notes, the lower end of the 95 % interval of the share of notes fully covered"
        " is not below its minimum.",
    ),
    Check("worst_group", "On annotated notes, recall in the worst group is not below its minimum."),
    Check(
        "no_regression",
        "Recall did not fall below that of the batch's last release by more than chance.",
    ),
)

RECALL = "recall_floor"
CANARY_RECALL = "canary_recall"


def list_switched_off(limits: Gates) -> frozenset[str]:
    """Return the names of the gates on gold that have nothing to judge under these settings,
    whatever arrives.
    """
    has_limit = {
        RECALL: bool(limits.recall),
        "recall_lower_bound": bool(limits.recall_lower_bound),
        "notes_covered_lower_bound": limits.notes_covered_lower_bound > 0,
        "worst_group": bool(limits.worst_group_by),
        "no_regression": limits.regression_tolerance < 1,
        CANARY_RECALL: limits.canaries > 0,
    }
    return frozenset(name for name, is_set in has_limit.items() if not is_set)


Pairs = Sequence[tuple[SpanSet, SpanSet]]
"""Gold and what was found, by note."""


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """A batch with gold.

    Args:
        notes: All its notes.
        pairs: Gold and merged spans, for the notes with gold.
        scores: What these pairs give.
    """

    notes: Sequence[Note]
    pairs: Pairs
    scores: Evaluation


def score_pairs(notes: Sequence[Note], pairs: Pairs, *, counted: Profile) -> ScoredBatch:
    """Score pairs under a profile."""
    return ScoredBatch(
        notes, pairs, evaluate_corpus(pairs, profile=counted, lengths=_lengths(notes))
    )


def judge_gold(found: ScoredBatch, installation: Installation, batch: str) -> list[Verdict]:
    """Return a verdict for each of ``CHECKS``.

    Raises:
        ProvenanceError: What the last release kept for the comparison is missing or altered.
    """
    limits, covered = installation.settings.gates, Scheme.COVERED
    by_label = {label: found.scores.counts(label, covered) for label in found.scores.labels}
    return [
        gates.recall_lower_bound(
            {**by_label, gates.ALL: found.scores.micro(covered)},
            limits.recall_lower_bound,
            min_gold=limits.min_gold_spans,
        ),
        gates.notes_covered_lower_bound(
            found.scores.notes, limits.notes_covered_lower_bound, min_notes=limits.min_gold_notes
        ),
        gates.worst_group(
            _groups(found, limits, profile(installation.settings.profile)),
            limits.worst_group_lower_bound,
            min_gold=limits.min_gold_spans,
        ),
        _regression(found, installation, batch),
    ]


def _groups(found: ScoredBatch, limits: Gates, counted: Profile) -> dict[str, Counts]:
    """Return gold spans covered by group; notes without the field are a group of their own."""
    if not limits.worst_group_by:
        return {}
    group_of = {note.note_id: _group(note, limits.worst_group_by) for note in found.notes}
    members: dict[str, list[tuple[SpanSet, SpanSet]]] = {}
    for gold, spans in found.pairs:
        members.setdefault(group_of[gold.note_id], []).append((gold, spans))
    lengths = _lengths(found.notes)
    return {
        name: evaluate_corpus(pairs, profile=counted, lengths=lengths).micro(Scheme.COVERED)
        for name, pairs in members.items()
    }


def _group(note: Note, field: str) -> str:
    value = note.lang if field == "lang" else note.meta.get(field)
    return "unknown" if value is None else str(value)


def _regression(found: ScoredBatch, installation: Installation, batch: str) -> Verdict:
    tolerance = installation.settings.gates.regression_tolerance
    before = {} if tolerance >= 1 else read_baseline(installation, batch)
    text_of = {note.note_id: note.digest for note in found.notes}
    lost = [note_id for note_id, spans in before.items() if text_of.get(note_id) != spans.digest]
    same = [] if lost else [(gold, now) for gold, now in found.pairs if gold.note_id in before]
    change = None
    if same:
        then = [(gold, before[gold.note_id]) for gold, _ in same]
        change = _change(then, same, found.notes, profile(installation.settings.profile))
    return gates.no_regression(change, notes=len(same), lost=len(lost), tolerance=tolerance)


def _change(
    then: Pairs, now: Pairs, notes: Sequence[Note], counted: Profile
) -> BaselineDifference | None:
    """Return recall now less recall then, with its interval.

    ``None`` where there is no gold span.
    """
    from deid_assets.evaluation.resampling import (  # noqa: PLC0415 - loads numpy, only after a release
        compare,
    )

    lengths = _lengths(notes)
    rows = {
        name: evaluate_by_note(pairs, profile=counted, lengths=lengths)[1]
        for name, pairs in (("then", then), ("now", now))
    }
    compared = {gold.note_id for gold, _ in now}
    patients = {
        note.note_id: note.patient_id
        for note in notes
        if note.note_id in compared and note.patient_id
    }
    return compare(rows, patients=patients or None).difference("now", Scheme.COVERED, Ratio.RECALL)


def _lengths(notes: Sequence[Note]) -> Mapping[str, int]:
    return {note.note_id: len(note.text) for note in notes}


def baseline_of(merged: Sequence[SpanSet], gold: Mapping[str, SpanSet]) -> list[SpanSet]:
    """Return the merged spans of the notes with gold."""
    return [spans for spans in merged if spans.note_id in gold]


def keep_baseline(installation: Installation, kept: Sequence[SpanSet], released: Receipt) -> None:
    """Store the baseline of the next version of a batch."""
    note_table, span_table = spans_to_tables(kept)
    installation.files.write(
        BASELINE,
        released.batch,
        {"notes": note_table, "spans": span_table},
        receipt=UnsignedReceipt(
            code_version="1", inputs={released.name: released.digest}, counts={"notes": len(kept)}
        ),
    )


def read_baseline(installation: Installation, batch: str) -> dict[str, SpanSet]:
    """Return the merged spans of the last release by note id; empty where there was none.

    Raises:
        ProvenanceError: The release kept some, and they are missing, altered or of another release.
    """
    files = installation.files
    released = files.find(RELEASED, batch)
    if released is None or BASELINE_NOTES not in released.counts:
        return {}
    kept = files.find(BASELINE, batch)
    if kept is None or kept.inputs.get(released.name) != released.digest:
        raise ProvenanceError(
            f"{BASELINE}, batch {batch}: the spans that the last release was measured with are"
            f" missing or older; materialize {RELEASED} for batch {batch} again, or set"
            " gates.regression_tolerance to 1 to go without"
        )
    found = spans_from_tables(
        files.read(BASELINE, batch, "notes"), files.read(BASELINE, batch, "spans")
    )
    return {spans.note_id: spans for spans in found}
