"""Several trained taggers on the same notes.

What a change of recipe costs, and what chance alone may do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.extending import Document, Failed, SpanSet
from deid_assets.extending.corpora import Corpus
from deid_assets.extending.taggers import (
    Card,
    Comparison,
    Counts,
    Granularity,
    Interval,
    Level,
    Ratio,
    Scheme,
    SixScores,
    compare,
    score_outcomes,
    six_scores,
    strict_rows,
)

_UNCOMPARED = frozenset({"name", "description", "licence", "onnx", "settings"})


@dataclass(frozen=True, slots=True)
class ModelOutcomes:
    """A model and what it finds in notes.

    Args:
        model: Its folder.
        card: Of the model.
        outcomes: One per note, in order.
    """

    model: Path
    card: Card
    outcomes: Sequence[SpanSet | Failed] = field(repr=False)

    @property
    def native(self) -> bool:
        """Whether its tags carry the corpus' own labels."""
        return bool(self.card.recipe["labels"] == "native")


def comparison_json(
    answered: Sequence[ModelOutcomes], corpus: Corpus, *, seed: int
) -> dict[str, Any]:
    """Return ``models``, ``labels`` and ``drawn``.

    ``models`` has a row for each model, ``labels`` the scores of the first by label, and ``drawn``
    is of intervals. Differences are to the first model, on the same notes: paired bootstrap and
    approximate randomisation of patients where they are known, else of notes. The level is strict
    F1 under the tag labels of each model.

    Raises:
        TrainingError: A tagger fails on every note.
    """
    documents = corpus.documents
    names = list_names(answered)
    scores = [score_outcomes(one.outcomes, documents, native=one.native) for one in answered]
    known = {document.note.note_id: document.note.patient_id for document in documents}
    comparison = compare(
        {name: strict_rows(of, documents) for name, of in zip(names, scores, strict=True)},
        patients={note: patient for note, patient in known.items() if patient is not None},
        seed=seed,
    )
    sixes = [_six(one, documents) for one in answered]
    return {
        "models": [
            {
                **_model_json(name, one, corpus),
                "f1": _interval_json(comparison.interval(name, Scheme.STRICT, Ratio.F1)),
                "failed": of.failed,
                "six": _six_json(six),
                "changes": changes(answered[0].card, one.card),
                "difference": difference_json(comparison, name),
            }
            for name, one, of, six in zip(names, answered, scores, sixes, strict=True)
        ],
        "labels": scores[0].to_json()["labels"],
        "drawn": {
            "unit": comparison.unit,
            "units": comparison.units,
            "resamples": comparison.resamples,
            "seed": seed,
        },
    }


def list_names(answered: Sequence[ModelOutcomes]) -> list[str]:
    """Return the recipes' names.

    A name that comes again is followed by that of the folder, or by a number.
    """
    found: list[str] = []
    for one in answered:
        name = str(one.card.recipe["name"])
        tries = [
            name,
            f"{name} ({one.model.name})",
            *(f"{name} {number}" for number in range(2, len(answered) + 2)),
        ]
        found.append(next(each for each in tries if each not in found))
    return found


def changes(first: Card, other: Card) -> list[dict[str, str]]:
    """Return what differs between the recipes of two models, completed.

    ``key``, ``first`` and ``other``.
    """
    pairs = [
        (key, first.recipe.get(key), other.recipe.get(key))
        for key in sorted({*first.recipe, *other.recipe} - _UNCOMPARED)
    ]
    if first.recipe.get("plugin") == other.recipe.get("plugin"):
        # two plugins have no setting in common
        pairs += _differing("settings", first.settings, other.settings)
    learnt = [
        [(one.role, one.digest) for one in card.corpora if one.role == "train"]
        for card in (first, other)
    ]
    if learnt[0] != learnt[1] and first.recipe.get("corpora") == other.recipe.get("corpora"):
        pairs.append(("training notes", "as they were", "others"))
    return [
        {"key": key, "first": _show_value(one), "other": _show_value(two)}
        for key, one, two in pairs
        if one != two
    ]


def _differing(key: str, first: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the leaves in which two values differ, by dotted key."""
    if isinstance(first, Mapping) and isinstance(other, Mapping):
        for name in sorted({*first, *other}):
            yield from _differing(f"{key}.{name}", first.get(name), other.get(name))
    elif (
        isinstance(first, (list, tuple))
        and isinstance(other, (list, tuple))
        and len(first) == len(other)
    ):
        for number, (one, two) in enumerate(zip(first, other, strict=True), start=1):
            yield from _differing(f"{key}.{number}", one, two)
    elif first != other:
        yield key.removeprefix("settings."), first, other


def _show_value(value: Any) -> str:
    """Return a short text of a setting.

    Of a path its last part, because folders may be named after people.
    """
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return str(
            value.get("kind")
            or ", ".join(f"{key} {_show_value(one)}" for key, one in value.items())
        )
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_show_value, value)) or "none"
    text = str(value)
    return Path(text).name if "/" in text else text


def _model_json(name: str, one: ModelOutcomes, corpus: Corpus) -> dict[str, Any]:
    card = one.card
    return {
        "name": name,
        "plugin": str(card.recipe["plugin"]),
        "plugin_version": card.plugin,
        "fingerprint": card.fingerprint,
        "trained_at": card.created_at,
        "learnt_from": [
            {"name": each.name, "role": each.role, "notes": each.notes, "spans": each.spans}
            for each in card.corpora
        ],
        "these_are_its": next(
            (each.role for each in card.corpora if corpus.is_named(each.digest)), ""
        ),
        "seconds": card.seconds,
        "size_bytes": card.size_bytes,
    }


def _interval_json(found: Interval | None) -> dict[str, float] | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}


def difference_json(comparison: Comparison, name: str) -> dict[str, float] | None:
    """Return strict F1 less that of the first, with interval and p; none for the first."""
    found = comparison.difference(name, Scheme.STRICT, Ratio.F1)
    return (
        None
        if found is None
        else {"value": found.value, "low": found.low, "high": found.high, "p": found.p}
    )


def _six(one: ModelOutcomes, documents: Sequence[Document]) -> SixScores:
    found = [
        SpanSet.of(document.note, ()) if isinstance(outcome, Failed) else outcome
        for document, outcome in zip(documents, one.outcomes, strict=True)
    ]
    return six_scores(
        (document.note, document.spans, spans)
        for document, spans in zip(documents, found, strict=True)
    )


def _six_json(six: SixScores) -> dict[str, dict[str, float | None]]:
    """Return micro F1 by level and granularity (Stubbs, Kotfila and Uzuner 2015)."""

    def f1(level: Level, granularity: Granularity) -> float | None:
        counts: Counts = six.micro(level, granularity)
        return counts.f1

    return {
        str(level): {str(granularity): f1(level, granularity) for granularity in Granularity}
        for level in (Level.ENTITY, Level.TOKEN)
    }
