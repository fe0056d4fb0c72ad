"""Whose names are left, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from deid_assets.extending.scoring import names_by_person, whose
from deid_evaluation.report.corpus import Json, Pair, ProfiledNotes
from deid_evaluation.report.scores import share_json

People = Mapping[tuple[str, int, int], str]
"""Note id, start and end of a gold span to whose name it is."""


def people_of(corpus: ProfiledNotes) -> People:
    """Return whose name each gold span is, where its own label says so."""
    return {
        (note_id, span.start, span.end): person
        for note_id, spans in corpus.gold.items()
        for span in spans
        if (person := whose(span)) is not None
    }


def people_json(pairs: Iterable[Pair]) -> list[Json]:
    """Return what became of the names of patients, relatives and staff.

    Empty where the gold does not say whose they are.
    """
    return [
        {**asdict(one), "covered": share_json(one.gold - one.left, one.gold)}
        for one in names_by_person(pairs)
    ]
