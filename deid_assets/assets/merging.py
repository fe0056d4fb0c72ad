"""merged_spans: the ensemble's predictions resolved, then spread over each patient's notes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from deid_assets.assets import canaries, gates
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.denying import RULES_HOLD, rules_hold
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import Shown, label_counts, show_labels, show_scores
from deid_assets.assets.gates import ScoredBatch, judge_gold, score_pairs
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.judging import judge_spans, span_checks
from deid_assets.assets.parts import ALLOWED
from deid_assets.config import Gates
from deid_assets.core.assets import Family
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi, profile
from deid_assets.core.resolve import Ensemble
from deid_assets.core.span import SpanSet
from deid_assets.erasure.denying import lift_contradicted
from deid_assets.evaluation.score import Counts, Evaluation, Scheme
from deid_assets.pipeline.batch import Batch, Outcome
from deid_assets.pipeline.composition import Pipeline
from deid_assets.pipeline.denying import (
    DENIED,
    Allow,
    AllowedPlace,
    Deny,
    find_allowed_places,
    make_allowed_spans,
)
from deid_assets.pipeline.leaks import LeakPlace
from deid_assets.pipeline.resolving import MERGED_SPANS, Resolve
from deid_assets.pipeline.spreading import SPREAD, Spread, is_found
from deid_assets.quality import Verdict
from deid_assets.quality.text_checks import recall_floor
from deid_assets.runtime.installation import Installation
from deid_assets.store.denials import Denials, DenyList
from deid_assets.store.files import Receipt
from deid_assets.store.frames import (
    SPANS,
    failed_to_table,
    scores_to_table,
    spans_from_tables,
    spans_to_tables,
)

CHECKS = (
    *span_checks(disjoint=True),
    Check(
        gates.RECALL,
        "On annotated notes, where the batch has any, recall is not below the configured minimum.",
    ),
    *gates.CHECKS,
    RULES_HOLD,
    canaries.CANARY_RECALL,
)


def checks_of(limits: Gates) -> list[Check]:
    """Return the checks of merged spans under these settings.

    A gate that they switch off is none.
    """
    off = gates.list_switched_off(limits)
    return [check for check in CHECKS if check.name not in off]


@dataclass(frozen=True, slots=True)
class _Merged:
    """What the steps of merging made of a batch.

    Args:
        done: The batch after them.
        resolve: The step that resolved the ensemble's spans.
        denials: Rules of people.
        places: Note id to where values stand that somebody denied.
        left: Note id to what allow rules left in the text.
    """

    done: Batch
    resolve: Resolve
    denials: DenyList
    places: Mapping[str, Sequence[LeakPlace]]
    left: Mapping[str, Sequence[AllowedPlace]]


def make_merged_spans(
    batch: str, installation: Installation, *, yielding: frozenset[Phi]
) -> AssetOutput:
    """Resolve the ensemble's spans, leave what people found to be no identifier, spread what is
    covered, cover what somebody denied, and compare with gold where there is any.

    Args:
        batch: Partition.
        installation: The installation.
        yielding: Categories that one of the redaction policies may leave in the text; see
            ``Ensemble``.
    """
    settings = installation.settings
    notes = read_notes_of(batch, installation)
    merged = _merge(batch, installation, notes, yielding=yielding)
    done = merged.done
    spans = list(done.spans.values())
    note_table, span_table = spans_to_tables(spans)
    gold = read_held_out(batch, installation, notes)
    of_canaries = canaries.score(batch, installation, merged.resolve)
    found = score_pairs(notes, pair_with_gold(gold, done.spans), counted=profile(settings.profile))
    return AssetOutput(
        tables={
            "spans": span_table,
            "notes": note_table,
            "failed": failed_to_table(done.withheld.values()),
            "scores": scores_to_table({MERGED_SPANS: found.scores} if gold else {}),
            canaries.CANARIES: of_canaries.table,
            ALLOWED: _tabulate_allowed(merged.left),
        },
        sources=_sources(batch, installation, merged.places, merged.left),
        verdicts=[
            *judge_spans(notes, spans, sources=(*settings.ensemble, SPREAD, DENIED), disjoint=True),
            rules_hold(merged.denials),
            *of_canaries.verdicts,
            *_judge_on_gold(found, installation, batch),
        ],
        counts={
            **_counts(done),
            "denied": sum(map(len, merged.places.values())),
            "allowed": sum(map(len, merged.left.values())),
        },
        metadata={**_show(spans, found.scores if gold else None), **of_canaries.metadata},
    )


def _merge(
    batch: str, installation: Installation, notes: Sequence[Note], *, yielding: frozenset[Phi]
) -> _Merged:
    """Resolve what the ensemble found, and apply the rules of people to it."""
    settings = installation.settings
    predictions = {
        name: read_outcomes(Family.SPANS.of(name), batch, installation)
        for name in settings.ensemble
    }
    resolve = Resolve(settings.resolve, Ensemble(settings.ensemble, yielding=yielding))
    denials = _denials(batch, installation, notes)
    places = _find_denied(notes, denials)
    deny = Deny(places, denials.categories, yielding)
    allow = Allow(find_allowed_places(notes, denials.allowed_values, predictions))
    done = Pipeline((resolve, allow, Spread(), deny)).run(Batch(notes, predictions=predictions))
    return _Merged(done, resolve, denials, places, allow.list_left(done.spans))


def _show(spans: Sequence[SpanSet], scores: Evaluation | None) -> Shown:
    """Return what the UI shows: scores where there are some, else how many spans of each label."""
    if scores is not None:
        return show_scores(scores, title="Ensemble on annotated notes")
    return show_labels(label_counts(spans), title="Merged spans")


def _judge_on_gold(found: ScoredBatch, installation: Installation, batch: str) -> list[Verdict]:
    """Return the gates on annotated notes, without those that are switched off."""
    limits = installation.settings.gates
    off = gates.list_switched_off(limits)
    judged = [recall_gate(found.scores, limits), *judge_gold(found, installation, batch)]
    return [verdict for verdict in judged if verdict.name not in off]


def _denials(batch: str, installation: Installation, notes: Sequence[Note]) -> DenyList:
    """Return the rules of people, without allow rules that annotations of the batch speak against:
    these are lifted.
    """
    files = installation.files
    found = Denials(files).read()
    gold = read_gold(batch, installation) if found.allowed else {}
    contradicted = frozenset[str]().union(
        *(found.allowed_values.find_annotated(note, gold.get(note.note_id, ())) for note in notes)
    )
    if not contradicted:
        return found
    return lift_contradicted(files, contradicted, batch=batch)


def _tabulate_allowed(left: Mapping[str, Sequence[AllowedPlace]]) -> pa.Table:
    rows = [
        {"note_id": note_id, **asdict(span)}
        for note_id, places in left.items()
        for span in make_allowed_spans(places)
    ]
    return pa.Table.from_pylist(rows, SPANS)


def _find_denied(notes: Sequence[Note], denials: DenyList) -> dict[str, list[LeakPlace]]:
    """Return, by note id, where denied values stand; notes without one are absent."""
    if not denials.rules:
        return {}
    values = denials.values
    found = {note.note_id: list(values.places(note.text)) for note in notes}
    return {note_id: places for note_id, places in found.items() if places}


def _sources(
    batch: str,
    installation: Installation,
    places: Mapping[str, Sequence[LeakPlace]],
    left: Mapping[str, Sequence[AllowedPlace]],
) -> list[Receipt]:
    """Return what the spans rest on: notes, spans, and the record of the rules that cover or leave
    something in the batch.
    """
    files = installation.files
    spans = (Family.SPANS.of(name) for name in installation.settings.ensemble)
    rules = {place.name for found in places.values() for place in found}
    allowed = {rule for found in left.values() for place in found for rule in place.rules}
    record = Denials(files).record(batch, rules, allowed)
    made_of = [files.receipt(asset, batch) for asset in (RAW_NOTES, GOLD, *spans)]
    return [*made_of, record] if record else made_of


def _counts(done: Batch) -> dict[str, int]:
    spans = [span for found in done.spans.values() for span in found]
    return {
        "notes": len(done.spans),
        "failed": len(done.withheld),
        "spans": len(spans),
        "spread": sum(not is_found(span) for span in spans),
    }


def recall_gate(scores: Evaluation, gates: Gates) -> Verdict:
    """Check recall, as covered characters, against the floors of the labels that have
    enough gold.
    """
    characters: dict[str, Counts] = {"ALL": scores.characters}
    characters |= {label: scores.counts(label, Scheme.CHARACTERS) for label in scores.labels}
    floors = {
        label: floor
        for label, floor in gates.recall.items()
        if characters.get(label, Counts()).gold >= gates.min_gold_characters
    }
    return recall_floor(characters, floors)


def read_gold(batch: str, installation: Installation) -> dict[str, SpanSet]:
    """Return the gold spans of a batch by note id; notes without annotation are absent."""
    files = installation.files
    found = spans_from_tables(files.read(GOLD, batch, "notes"), files.read(GOLD, batch, "spans"))
    return {spans.note_id: spans for spans in found}


def read_held_out(
    batch: str, installation: Installation, notes: Iterable[Note]
) -> dict[str, SpanSet]:
    """Return the gold that scores and gates may use: without the notes that taggers learn from."""
    learnt = {note.note_id for note in notes if installation.is_learnt_from(note)}
    return {
        note_id: spans
        for note_id, spans in read_gold(batch, installation).items()
        if note_id not in learnt
    }


def pair_with_gold(
    gold: Mapping[str, SpanSet], outcomes: Mapping[str, Outcome]
) -> list[tuple[SpanSet, SpanSet]]:
    """Pair gold with outcomes for scoring.

    A note without an answer counts as one where nothing was found.
    """
    pairs = []
    for note_id, spans in gold.items():
        outcome = outcomes.get(note_id)
        found = outcome if isinstance(outcome, SpanSet) else SpanSet(note_id, spans.digest)
        pairs.append((spans, found))
    return pairs
