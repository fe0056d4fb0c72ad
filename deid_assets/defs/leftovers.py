"""What the line-up still finds in redacted text: in a keyed draw of the notes, in all where the draw is not clean.

As in ``parts``, nothing here imports Dagster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.config import Gates, Settings
from deid_assets.core.detector import Failed
from deid_assets.core.keys import Key
from deid_assets.core.label_maps import PHI
from deid_assets.core.note import Note
from deid_assets.core.pipeline import by_note, residual, resolve_all
from deid_assets.core.redact import Edit, Policy, Redacted
from deid_assets.core.resolve import LineUp
from deid_assets.core.span import DisjointSpans
from deid_assets.defs.parts import EDITS, PART_CHARS, split
from deid_assets.quality.sampling import upper_bound
from deid_assets.quality.verdict import Verdict

if TYPE_CHECKING:
    from deid_resources.corpus import Corpus
    from deid_resources.detectors import Detect

CHECK = "no_residual_hits"
Hits = Mapping[str, int | Failed]
Texts = tuple[pa.Table, pa.Table]
"""Redacted notes and their edits, in the same order."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a search of redacted notes found.

    Args:
        hits: Number of hits in kept text by note id, for the notes that were searched.
        drawn: Notes that were drawn; all, where there was no draw.
        drawn_hits: Drawn notes with a hit or without an answer.
        notes: Notes there are.
    """

    hits: Hits
    drawn: int
    drawn_hits: int
    notes: int

    def withheld(self, stage: str) -> dict[str, Failed]:
        """Return the notes that may not go on, by id."""
        return {
            note_id: hit if isinstance(hit, Failed) else Failed(note_id, stage, "residual-hit")
            for note_id, hit in self.hits.items()
            if isinstance(hit, Failed) or hit
        }

    @property
    def bound(self) -> float:
        """Largest share of notes with a hit that the draw leaves likely, one-sided at 95 %."""
        return upper_bound(self.drawn_hits, self.drawn)


def search(texts: Texts, corpus: Corpus, *, policy: Policy, stage: str) -> Search:
    """Run the line-up on redacted notes, on all of them unless a draw shows that few have hits.

    Args:
        texts: Of the batch.
        corpus: The installation; its gates say how many are drawn and what share passes.
        policy: The texts were redacted with; what it keeps is no hit.
        stage: Named by failures.
    """
    gates, ids = corpus.settings.gates, texts[0].column("note_id").to_pylist()
    chosen = draw(ids, corpus.key, size=gates.residual_sample or len(ids))
    is_drawn = np.fromiter((note_id in chosen for note_id in ids), dtype=bool, count=len(ids))
    hits = _search(_only(texts, is_drawn), corpus, policy, stage)
    found = Search(hits, len(chosen), _with_hits(hits), len(ids))
    if len(chosen) == len(ids) or found.bound <= gates.residual:
        return found
    rest = _search(_only(texts, ~is_drawn), corpus, policy, stage)
    return Search({**hits, **rest}, found.drawn, found.drawn_hits, found.notes)


def draw(note_ids: Iterable[str], key: Key, *, size: int) -> frozenset[str]:
    """Return so many of the notes; which ones follows from the key and their ids alone, and nobody without it knows."""
    ranked = sorted(note_ids, key=lambda note_id: (key.seed("residual sample", note_id), note_id))
    return frozenset(ranked[:size])


def judge_search(found: Search, done: Sequence[str], gates: Gates) -> Verdict:
    """Check that no note goes on in which the line-up found something, and that enough were searched.

    Args:
        found: The search of the batch.
        done: Ids of the notes that go on.
        gates: The limit for notes that were not searched.
    """
    counted = [found.hits[note_id] for note_id in done if note_id in found.hits]
    failed = sum(isinstance(hit, Failed) for hit in counted)
    left = sum(hit for hit in counted if not isinstance(hit, Failed))
    is_whole = found.notes == len(found.hits)
    return Verdict(
        CHECK,
        passed=not left and not failed and (is_whole or found.bound <= gates.residual),
        blocking=True,
        counts={
            "notes": len(done),
            "hits": left,
            "failed": failed,
            "notes_searched": len(found.hits),
            "notes_withheld": _with_hits(found.hits),
            **(_of_draw(found, gates) if found.drawn < found.notes else {}),
        },
        description=_told(found, is_whole=is_whole, limit=gates.residual),
    ).unless(not found.hits, "no redacted note to search")


def _of_draw(found: Search, gates: Gates) -> dict[str, int | float]:
    return {
        "notes_drawn": found.drawn,
        "drawn_with_hits": found.drawn_hits,
        "upper_bound": round(found.bound, 5),
        "limit": gates.residual,
    }


def _told(found: Search, *, is_whole: bool, limit: float) -> str:
    ran = "The line-up ran again on the redacted text of"
    withheld = "Notes with a hit are withheld"
    if found.drawn == found.notes:
        return f"{ran} all {found.notes:,} notes. {withheld}: {_with_hits(found.hits):,}."
    drawn = f"{found.drawn_hits:,} of {found.drawn:,} drawn by key had hits"
    share = f"with 95 % confidence at most {found.bound:.2%} of all have"
    if is_whole:
        return (
            f"{ran} all {found.notes:,} notes, because {drawn}: {share}, more than {limit:.2%}. "
            f"{withheld}: {_with_hits(found.hits):,}."
        )
    return f"{ran} {found.drawn:,} of {found.notes:,} notes: {drawn}, {share}. {withheld}."


def _with_hits(hits: Hits) -> int:
    return sum(isinstance(hit, Failed) or hit > 0 for hit in hits.values())


def _only(texts: Texts, chosen: npt.NDArray[np.bool_]) -> Texts:
    notes, edits = texts
    return notes.filter(pa.array(chosen)), edits.filter(pa.array(np.repeat(chosen, notes.column("n_edits").to_numpy())))


def _search(texts: Texts, corpus: Corpus, policy: Policy, stage: str) -> Hits:
    notes, edits = texts
    if not notes.num_rows:
        return {}
    ends = np.cumsum(pc.utf8_length(notes.column("text")).to_numpy())
    number = ends // PART_CHARS
    number = np.searchsorted(np.unique(number), number)
    of_edits = np.repeat(number, notes.column("n_edits").to_numpy())
    count = int(number.max()) + 1
    parts = list(zip(split(notes, number, count), split(edits, of_edits, count), strict=True))
    work = partial(search_part, policy=policy, settings=corpus.settings, stage=stage)
    hits: dict[str, int | Failed] = {}
    for found in corpus.detectors.map_detecting(work, parts, names=corpus.settings.line_up):
        hits |= found
    return hits


def search_part(texts: Texts, detect: Detect, *, policy: Policy, settings: Settings, stage: str) -> Hits:
    """Return, per note, how often the line-up hits text that was kept of the original."""
    redacted = list(_redacted(*texts))
    again = [note for note, _ in redacted]
    opinions = {name: by_note(detect(name, again, stage=stage)) for name in settings.line_up}
    line_up = LineUp(settings.line_up, yielding=policy.keep)
    outcomes = resolve_all(again, opinions, policy=settings.resolve, line_up=line_up)
    return {
        found.note_id: outcome if isinstance(outcome, Failed) else _count(outcome, found, policy)
        for (_, found), outcome in zip(redacted, outcomes, strict=True)
    }


def _count(outcome: DisjointSpans, found: Redacted, policy: Policy) -> int:
    kept = [piece for piece in residual(outcome, found.edits) if piece.label not in policy.keep]
    starts = [found.to_redacted(piece.start) for piece in kept]
    texts = (found.text[start : start + piece.end - piece.start] for start, piece in zip(starts, kept, strict=True))
    return sum(any(map(str.isalnum, text)) for text in texts)


def _redacted(notes: pa.Table, edits: pa.Table) -> Iterable[tuple[Note, Redacted]]:
    """Yield redacted notes, each as a note to be searched and with its edits."""
    offsets = [edits.column(name).to_numpy().tolist() for name in EDITS.names[1:-1]]
    labels = [PHI[label] for label in edits.column("label").to_pylist()]
    flat = [Edit(*row) for row in zip(*offsets, labels, strict=True)]
    ends = np.cumsum(notes.column("n_edits").to_numpy()).tolist()
    columns = [notes.column(name).to_pylist() for name in ("note_id", "text", "patient_id", "lang")]
    for row, start, end in zip(zip(*columns, strict=True), [0, *ends], ends, strict=False):
        note = Note(*row)
        yield note, Redacted(note.note_id, note.text, tuple(flat[start:end]))
