"""What models that rewrite notes do with the gold of the batches, in the measures of Dorémus et al.
(2025).
"""

import re
from collections.abc import Sequence

from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import Markdown, Shown
from deid_assets.assets.repeats import Repeats, read_scored
from deid_assets.assets.shadow import gold_of_sample
from deid_assets.core.assets import Family
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.rewriting import HOLE, Rewritten, StudyTable, make_holes
from deid_assets.reports.rewriting import study_md
from deid_assets.runtime.installation import Installation


def show_study(
    installation: Installation, detector: str, batches: Sequence[str], repeated: Repeats
) -> Shown:
    """Return the study's table of a detector over batches that have gold and its spans.

    Nothing where no note has both.

    What was stored are spans, so the text that is scored is the note with a placeholder for each,
    and a note without any counts as answered with ANONYMOUS.
    """
    table = StudyTable()
    for batch in batches:
        _add(table, batch, installation, detector, repeated)
    return {"rewriting": Markdown(study_md(table.to_json()))} if table.notes else {}


def _add(
    table: StudyTable, batch: str, installation: Installation, detector: str, repeated: Repeats
) -> None:
    asset = Family.SPANS.of(detector)
    notes = {note.note_id: note for note in read_notes_of(batch, installation)}
    outcomes = read_outcomes(asset, batch, installation)
    gold = gold_of_sample(
        read_scored(batch, installation, list(notes.values()), repeated),
        outcomes,
        installation.files.receipt(asset, batch),
    )
    for note_id, spans in gold.items():
        note, found = notes[note_id], outcomes.get(note_id)
        if not isinstance(found, SpanSet):
            table.add(Rewritten(note, spans, None), placeholder=_HOLE)
            continue
        cover = [(span.start, span.end) for span in found]
        table.add(
            Rewritten(note, spans, cover, make_holes(note.text, found), not cover),
            placeholder=_HOLE,
        )


_HOLE = re.compile(HOLE)
