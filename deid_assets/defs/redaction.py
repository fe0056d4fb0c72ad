"""redacted_notes/<policy> and quarantine: the text that may leave, and the notes that may not."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from functools import partial

import pyarrow as pa

from deid_assets.config import Settings
from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.pipeline import Outcome, redact_all, residual
from deid_assets.core.redact import Policy, Redacted
from deid_assets.core.resolve import LineUp, resolve
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.defs.audit import Check, Draft
from deid_assets.defs.detection import read_notes_of, read_outcomes
from deid_assets.defs.display import show_counts, show_labels
from deid_assets.defs.ingest import GOLD, RAW_NOTES
from deid_assets.defs.merging import MERGED, line_up_outcomes, read_gold
from deid_assets.policies.surrogate import originals_of, require_packs
from deid_assets.quality import Verdict, within_share
from deid_assets.quality.survival import Audit, survival_by_note, survivors
from deid_assets.quality.text_checks import complete, unchanged_outside
from deid_assets.store.frames import failed_from_table, failed_to_table
from deid_resources.corpus import Corpus
from deid_resources.detectors import chunks_of

QUARANTINE = "quarantine"

CHECKS = (
    Check("complete", "Every note that came in came out or is listed as withheld."),
    Check("unchanged_outside", "Outside the replaced spans, every character is the original's."),
    Check("survivors", "No value that people or a detector marked is left in the text."),
    Check("no_residual_hits", "The line-up finds nothing more in what was kept of the text."),
    Check("quarantine_share", "Few enough notes are withheld."),
)
QUARANTINE_CHECKS = (Check("complete", "Every note received is redacted under the release policy or listed here."),)

NOTES = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("patient_id", pa.string()),
        pa.field("lang", pa.string()),
        pa.field("text", pa.string(), nullable=False),
        pa.field("n_edits", pa.int32(), nullable=False),
    ]
)
EDITS = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        *(pa.field(name, pa.int32(), nullable=False) for name in ("start", "end", "new_start", "new_end")),
        pa.field("label", pa.string(), nullable=False),
    ]
)


def make_redacted_notes(batch: str, corpus: Corpus, *, policy: Policy) -> Draft:
    """Redact a batch under one policy and withhold every note in which something is left."""
    stage = f"redacted_notes/{policy.name}"
    notes = read_notes_of(batch, corpus)
    gold = read_gold(batch, corpus)
    known, withheld = _known_spans(
        notes, read_outcomes(MERGED, batch, corpus), gold if corpus.settings.redact_gold else {}, policy
    )
    ready = [note for note in notes if note.note_id in known]
    require_packs(policy, {note.lang for note in ready})
    outcomes = _redacted(ready, known, policy, corpus, stage=stage)
    pairs = [(note, found) for note, found in zip(ready, outcomes, strict=True) if isinstance(found, Redacted)]
    hits = residual_by_note(pairs, policy, corpus, stage)
    sought = {note_id: [*spans, *gold.get(note_id, ())] for note_id, spans in known.items()}
    left, _ = survival_by_note(_audits(pairs, sought, policy))
    surviving = {note.note_id: one.survivors for (note, _), one in zip(pairs, left, strict=True)}
    judged = [_judged(found, hits, surviving, stage) for found in outcomes]
    done = [found for found in judged if isinstance(found, Redacted)]
    withheld += [found for found in judged if isinstance(found, Failed)]
    by_id = {note.note_id: note for note in notes}
    return Draft(
        tables={**_tables(by_id, done), "failed": failed_to_table(withheld)},
        sources=[corpus.files.receipt(asset, batch) for asset in (RAW_NOTES, GOLD, MERGED)],
        verdicts=[
            complete(list(by_id), (found.note_id for found in done), (failed.note_id for failed in withheld)),
            unchanged_outside((by_id[found.note_id], found) for found in done),
            survivors(_audits([(by_id[found.note_id], found) for found in done], sought, policy)),
            _no_residual_hits(done, hits),
            _few_withheld(withheld, notes, corpus.settings),
        ],
        counts=_counts(done, withheld),
        metadata={
            **show_labels(_labels(done), title=f"Replacements under {policy.name}"),
            "withheld_by": show_counts(Counter(f"{failed.stage}: {failed.error}" for failed in withheld)),
            "tagged_instead": show_counts(_fallbacks(done), of="Replacements"),
        },
    )


def make_quarantine(batch: str, corpus: Corpus, *, policy: str) -> Draft:
    """List every note of a batch that the release policy does not let out, with the stage and the reason."""
    redacted = f"redacted_notes/{policy}"
    received = corpus.files.read(RAW_NOTES, batch, "notes").column("note_id").to_pylist()
    unread = failed_from_table(corpus.files.read(RAW_NOTES, batch, "failed"))
    withheld = [*unread, *failed_from_table(corpus.files.read(redacted, batch, "failed"))]
    done = corpus.files.read(redacted, batch, "notes").column("note_id").to_pylist()
    return Draft(
        tables={"failed": failed_to_table(withheld)},
        sources=[corpus.files.receipt(asset, batch) for asset in (RAW_NOTES, MERGED, redacted)],
        verdicts=[
            complete([*received, *(failed.note_id for failed in unread)], done, (failed.note_id for failed in withheld))
        ],
        counts={"received": len(received) + len(unread), "quarantined": len(withheld)},
        metadata={"by_reason": show_counts(Counter(f"{failed.stage}: {failed.error}" for failed in withheld))},
    )


def _known_spans(
    notes: Sequence[Note], outcomes: Mapping[str, Outcome], gold: Mapping[str, SpanSet], policy: Policy
) -> tuple[dict[str, DisjointSpans], list[Failed]]:
    """Return what must be replaced in each note, people's annotations included, and the notes withheld before.

    What people marked as a name is one, also where a detector takes it for a category that the policy may leave.
    """
    known: dict[str, DisjointSpans] = {}
    withheld = []
    for note in notes:
        merged = outcomes[note.note_id]
        if isinstance(merged, Failed):
            withheld.append(merged)
            continue
        opinions = [merged, gold[note.note_id]] if note.note_id in gold else [merged]
        sources = dict.fromkeys(span.source for opinion in opinions for span in opinion) or {MERGED: None}
        known[note.note_id] = resolve(note, opinions, line_up=LineUp(tuple(sources), yielding=policy.may_leave))
    return known, withheld


def _redacted(
    notes: Sequence[Note], known: Mapping[str, DisjointSpans], policy: Policy, corpus: Corpus, *, stage: str
) -> list[Redacted | Failed]:
    """Redact a batch, over the worker processes where it is a large one."""
    originals = originals_of(policy, corpus.key, ((note, known[note.note_id]) for note in notes))
    work = partial(_redact_part, policy=policy, settings=corpus.settings, stage=stage, originals=originals)
    parts = [(chunk, {note.note_id: known[note.note_id] for note in chunk}) for chunk in chunks_of(notes)]
    return [found for part in corpus.detectors.map(work, parts) for found in part]


def _redact_part(
    part: tuple[Sequence[Note], Mapping[str, DisjointSpans]],
    *,
    policy: Policy,
    settings: Settings,
    stage: str,
    originals: Container[str],
) -> list[Redacted | Failed]:
    """Redact a part of a batch; the key is read where it is needed, and is not sent."""
    notes, known = part
    return redact_all(notes, known, policy, key=settings.key(), stage=stage, originals=originals)


def _judged(
    found: Redacted | Failed, hits: Mapping[str, int | Failed], surviving: Mapping[str, int], stage: str
) -> Redacted | Failed:
    """Withhold a note where a known value survives, or the line-up still finds something in what was kept."""
    if isinstance(found, Failed):
        return found
    hit = hits[found.note_id]
    if isinstance(hit, Failed):
        return hit
    if surviving[found.note_id]:
        return Failed(found.note_id, stage, "surviving-value")
    return Failed(found.note_id, stage, "residual-hit") if hit else found


def residual_by_note(
    pairs: Sequence[tuple[Note, Redacted]], policy: Policy, corpus: Corpus, stage: str
) -> dict[str, int | Failed]:
    """Return, per note, how often the line-up hits text that was kept of the original."""
    again = [Note(note.note_id, found.text, note.patient_id, note.lang) for note, found in pairs]
    hits: dict[str, int | Failed] = {}
    outcomes = line_up_outcomes(again, corpus, stage=stage, yielding=policy.keep)
    for (note, found), outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, Failed):
            hits[note.note_id] = outcome
            continue
        kept = (piece for piece in residual(outcome, found.edits) if piece.label not in policy.keep)
        hits[note.note_id] = sum(any(map(str.isalnum, note.text[piece.start : piece.end])) for piece in kept)
    return hits


def _no_residual_hits(done: Sequence[Redacted], hits: Mapping[str, int | Failed]) -> Verdict:
    counted = [hits[found.note_id] for found in done]
    failed = sum(isinstance(hit, Failed) for hit in counted)
    left = sum(hit for hit in counted if not isinstance(hit, Failed))
    return Verdict(
        "no_residual_hits",
        passed=not left and not failed,
        blocking=True,
        counts={"notes": len(done), "hits": left, "failed": failed, "notes_searched": len(hits)},
        description="The line-up ran again on the redacted text; notes with a hit are withheld.",
    )


def _few_withheld(withheld: Sequence[Failed], notes: Sequence[Note], settings: Settings) -> Verdict:
    return within_share(
        "quarantine_share",
        "Withheld notes go to quarantine with the stage and the reason.",
        part=len(withheld),
        whole=len(notes),
        limit=settings.gates.quarantined,
    )


def _audits(
    pairs: Sequence[tuple[Note, Redacted]], sought: Mapping[str, Sequence[Span]], policy: Policy
) -> list[Audit]:
    """Return what the survival check needs; values of categories that the policy keeps are not sought."""
    return [
        Audit(
            note,
            SpanSet.of(note, (span for span in sought[note.note_id] if span.label not in policy.keep)),
            found.edits,
        )
        for note, found in pairs
    ]


def _tables(by_id: Mapping[str, Note], done: Sequence[Redacted]) -> dict[str, pa.Table]:
    rows = [
        {
            "note_id": found.note_id,
            "patient_id": by_id[found.note_id].patient_id,
            "lang": by_id[found.note_id].lang,
            "text": found.text,
            "n_edits": len(found.edits),
        }
        for found in done
    ]
    edits = [
        {
            "note_id": found.note_id,
            **{name: getattr(edit, name) for name in EDITS.names[1:-1]},
            "label": str(edit.label),
        }
        for found in done
        for edit in found.edits
    ]
    return {"notes": pa.Table.from_pylist(rows, NOTES), "edits": pa.Table.from_pylist(edits, EDITS)}


def _counts(done: Sequence[Redacted], withheld: Sequence[Failed]) -> dict[str, int]:
    fallbacks = _fallbacks(done)
    return {
        "notes": len(done),
        "withheld": len(withheld),
        "edits": sum(len(found.edits) for found in done),
        "fallbacks": sum(fallbacks.values()),
        **{f"fallbacks_{label}": count for label, count in fallbacks.items()},
    }


def _fallbacks(done: Sequence[Redacted]) -> dict[str, int]:
    """Return, per category, how many replacements are tags because the policy's action could not be carried out."""
    counts: Counter[str] = Counter()
    for found in done:
        counts.update({label.value: count for label, count in found.fallbacks.items()})
    return dict(sorted(counts.items()))


def _labels(done: Sequence[Redacted]) -> dict[str, int]:
    counts = Counter(edit.label.value for found in done for edit in found.edits)
    return dict(sorted(counts.items()))
