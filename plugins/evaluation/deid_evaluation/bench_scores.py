"""What a bake-off says of its detectors.

Scores where there is gold, agreement where there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from deid_assets.extending import Failed, InputError, Phi, Profile, SpanSet
from deid_assets.extending.scoring import (
    MAX_DETECTORS,
    RESAMPLES,
    Comparison,
    Counts,
    Coverage,
    Evaluation,
    Row,
    Scheme,
    compare,
    coverage,
    evaluate_by_note,
)
from deid_evaluation.agreement import Agreement, agreement
from deid_evaluation.capture_recapture import CaptureEstimate, Captures, captures, estimate_missed

Outcomes = Mapping[str, Mapping[str, SpanSet | Failed]]
"""Detector to note id to what it answered."""


@dataclass(frozen=True, slots=True)
class ReferenceSpans:
    """The gold and how it is compared.

    Args:
        spans: By note id; notes without annotation are absent.
        lengths: Note id to code points, of the same notes at least.
        scope: Categories that it annotates, or ``None`` for all.
        patients: Note id to patient id, where known.
    """

    spans: Mapping[str, SpanSet]
    lengths: Mapping[str, int]
    scope: frozenset[Phi] | None = None
    patients: Mapping[str, str] | None = None

    @property
    def occurring(self) -> frozenset[Phi]:
        """Categories of its spans."""
        return frozenset(span.label for spans in self.spans.values() for span in spans)


@dataclass(frozen=True, slots=True)
class AnnotatedScores:
    """Detectors against the same gold.

    Args:
        evaluations: Detector to its counts. A note that it failed on counts as one where it found
            nothing.
        comparison: Intervals, and differences to the first detector.
        coverage: Who marks what; ``None`` for more than ``MAX_DETECTORS`` detectors, and without
            gold spans.
    """

    evaluations: Mapping[str, Evaluation]
    comparison: Comparison
    coverage: Coverage | None


def score(
    gold: ReferenceSpans, outcomes: Outcomes, *, profile: Profile, resamples: int = RESAMPLES
) -> AnnotatedScores:
    """Score every detector on every note that has gold.

    Raises:
        InputError: There is no gold, or a detector did not answer for a note.
        DigestError: Spans were made for another text.
    """
    if not gold.spans:
        raise InputError(
            "no note is annotated; give notes with annotated spans, or compare the detectors"
            " without annotations"
        )
    evaluations: dict[str, Evaluation] = {}
    rows: dict[str, Mapping[str, Row]] = {}
    for name, answers in outcomes.items():
        pairs = [(spans, read_answer(name, spans, answers)) for spans in gold.spans.values()]
        evaluations[name], rows[name] = evaluate_by_note(
            pairs, profile=profile, scope=gold.scope, lengths=gold.lengths
        )
    patients = {
        note_id: patient
        for note_id, patient in (gold.patients or {}).items()
        if note_id in gold.spans
    }
    return AnnotatedScores(
        evaluations,
        compare(rows, patients=patients or None, resamples=resamples),
        _coverage(gold, outcomes, profile),
    )


def read_answer(name: str, gold: SpanSet, answers: Mapping[str, SpanSet | Failed]) -> SpanSet:
    """Return what a detector found in a note, nothing where it failed.

    Raises:
        InputError: It was not run on a note, which differs from finding nothing there.
    """
    found = answers.get(gold.note_id)
    if found is None:
        raise InputError(
            f"{name}: no answer for note {gold.note_id!r}; run it on every annotated note"
        )
    return found if isinstance(found, SpanSet) else SpanSet(gold.note_id, gold.digest)


def _coverage(gold: ReferenceSpans, outcomes: Outcomes, profile: Profile) -> Coverage | None:
    if len(outcomes) > MAX_DETECTORS:
        return None
    total = Coverage(tuple(outcomes))
    for spans in gold.spans.values():
        total += coverage(
            spans,
            {name: read_answer(name, spans, answers) for name, answers in outcomes.items()},
            profile=profile,
        )
    return total if total.spans else None


@dataclass(frozen=True, slots=True)
class Reach:
    """The gold that a detector can find by design.

    Args:
        blind: Profile labels that none of its categories counts as, sorted.
        gold: Gold spans of the labels that it can find.
        share: Share of all gold spans that these are; ``None`` without gold spans.
        covered: Gold spans covered and left of the labels that it can find.
    """

    blind: tuple[str, ...]
    gold: int
    share: float | None
    covered: Counts


GENERIC = frozenset({Phi.NAME, Phi.LOCATION, Phi.ORGANIZATION, Phi.ID})
"""Categories that stand for finer ones too: a detector of places may call a town ``LOCATION``."""


def reach(
    evaluation: Evaluation,
    labels: frozenset[Phi],
    *,
    profile: Profile,
    occurring: frozenset[Phi] | None = None,
) -> Reach:
    """Return what of the gold a detector could find by design, and how it did there.

    Args:
        evaluation: Its counts.
        labels: What it declares.
        profile: That the counts were made under. One whose labels are wide flatters: where towns
            and postcodes are one label, a detector of postcodes counts as one that can find it.
        occurring: Categories that occur in the gold; a category that does not makes nothing
            reachable.
    """
    seen = _list_seen(labels, profile, occurring)
    gold_of = {label: evaluation.counts(label, Scheme.COVERED) for label in evaluation.labels}
    within = sum((counts for label, counts in gold_of.items() if label in seen), Counts())
    total = sum(counts.gold for counts in gold_of.values())
    shown = {label for label, counts in gold_of.items() if counts.gold}
    return Reach(
        tuple(sorted(shown - seen)), within.gold, within.gold / total if total else None, within
    )


def blind_labels(labels: frozenset[Phi], *, profile: Profile) -> tuple[str, ...]:
    """Return the profile's labels that a detector cannot find by design, sorted.

    Args:
        labels: What it declares.
        profile: Whose labels.
    """
    return tuple(sorted(set(profile.labels.values()) - _list_seen(labels, profile, None)))


def _list_seen(
    labels: frozenset[Phi], profile: Profile, occurring: frozenset[Phi] | None
) -> set[str]:
    counted = labels if occurring is None else labels & (occurring | GENERIC)
    return {label for category in counted if (label := profile.label_of(category)) is not None}


@dataclass(frozen=True, slots=True)
class AgreementScores:
    """Detectors without gold.

    Args:
        notes: How many all of them answered; the others are left out.
        pairs: Two detectors to their agreement.
        captures: Who marked what.
    """

    notes: int
    pairs: Mapping[tuple[str, str], Agreement]
    captures: Captures


def compare_predictions(
    outcomes: Outcomes, *, profile: Profile, lengths: Mapping[str, int]
) -> AgreementScores:
    """Compare two or more detectors on the notes that all of them answered.

    Raises:
        InputError: There are fewer than two detectors, or no note that all answered.
    """
    if len(outcomes) < 2:
        raise InputError(
            "without annotations, detectors can only be compared with each other; name at least two"
        )
    predictions = list(_predictions(outcomes, lengths))
    if not predictions:
        raise InputError("there is no note that every detector answered; nothing can be compared")
    pairs = {
        (first, second): _agreement(
            [(found[first], found[second]) for found in predictions], lengths
        )
        for first, second in combinations(outcomes, 2)
    }
    total = sum(
        (captures(found, profile=profile) for found in predictions), Captures(tuple(outcomes))
    )
    return AgreementScores(len(predictions), pairs, total)


def _agreement(pairs: Sequence[tuple[SpanSet, SpanSet]], lengths: Mapping[str, int]) -> Agreement:
    """Return how far two detectors agree, of their spans of each note."""
    of_notes = (agreement(one, other, length=lengths[one.note_id]) for one, other in pairs)
    return sum(of_notes, Agreement())


def estimate_missed_by_label(
    found: Captures, labels: Mapping[str, frozenset[Phi]], *, profile: Profile
) -> dict[str, CaptureEstimate]:
    """Return by label how many identifiers were missed by all detectors that can find it.

    A detector that declares no such category is left out of that label: what it does not mark says
    nothing. Labels that fewer than two can find are left out, and there is no figure for all labels
    together.

    Args:
        found: Who marked what.
        labels: Detector to the categories that it declares.
        profile: That the captures were counted under.
    """
    estimates = {}
    for label, histories in sorted(found.histories.items()):
        able = [
            name
            for name in found.detectors
            if label in {profile.label_of(one) for one in labels[name]}
        ]
        bits = [1 << found.detectors.index(name) for name in able]
        seen: Counter[int] = Counter()
        for who, count in histories.items():
            seen[sum(1 << at for at, bit in enumerate(bits) if who & bit)] += count
        del seen[0]
        if (
            len(able) > 1
            and (one := estimate_missed(Captures(tuple(able), {label: seen}))) is not None
        ):
            estimates[label] = one
    return estimates


def _predictions(outcomes: Outcomes, note_ids: Iterable[str]) -> Iterator[dict[str, SpanSet]]:
    for note_id in note_ids:
        found = {name: answers.get(note_id) for name, answers in outcomes.items()}
        answers_only = {name: spans for name, spans in found.items() if isinstance(spans, SpanSet)}
        if len(answers_only) == len(outcomes):
            yield answers_only


def by_note(outcomes: Sequence[SpanSet | Failed]) -> dict[str, SpanSet | Failed]:
    """Return outcomes by note id.

    Raises:
        InputError: A note comes twice.
    """
    found = {outcome.note_id: outcome for outcome in outcomes}
    if len(found) < len(outcomes):
        raise InputError("two notes have the same id; give each note an id of its own")
    return found
