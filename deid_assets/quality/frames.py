"""Text-free pandas frames for the suites: ids, digests, sizes and offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet

if TYPE_CHECKING:
    import pandas as pd

# U+FFFD is what a decoder leaves for bytes it could not read. Controls other than the blanks do not
# occur in prose.
_BROKEN = re.compile("[\ufffd\x00-\x08\x0e-\x1f\x7f]")


def n_broken(text: str) -> int:
    """Return the number of replacement and control characters, which a wrong encoding leaves
    behind.
    """
    return len(_BROKEN.findall(text))


def notes_frame(notes: Iterable[Note]) -> pd.DataFrame:
    """Return one row per note.

    Columns: ``note_id``; ``digest``; ``lang``, missing where unknown; ``n_chars``;
    ``broken_chars``, the number of replacement and control characters, which a wrong encoding
    leaves behind.
    """
    import numpy as np  # noqa: PLC0415 - the code location loads without numpy and pandas
    import pandas as pd  # noqa: PLC0415

    rows = list(notes)
    return pd.DataFrame(
        {
            "note_id": pd.array([note.note_id for note in rows], dtype="str"),
            "digest": pd.array([note.digest for note in rows], dtype="str"),
            "lang": pd.array([note.lang for note in rows], dtype="str"),
            "n_chars": np.array([len(note.text) for note in rows], dtype="int64"),
            "broken_chars": np.array([n_broken(note.text) for note in rows], dtype="int64"),
        }
    )


def span_sets_frame(notes: Iterable[Note], span_sets: Iterable[SpanSet]) -> pd.DataFrame:
    """Return one row per span set.

    Columns: ``note_id``; ``digest``, which the spans were made for; ``note_digest`` and ``n_chars``
    of the note, missing where the note is not known; ``n_spans``.
    """
    import numpy as np  # noqa: PLC0415 - the code location loads without numpy and pandas
    import pandas as pd  # noqa: PLC0415

    known = {note.note_id: note for note in notes}
    sets = list(span_sets)
    found = [known.get(spans.note_id) for spans in sets]
    return pd.DataFrame(
        {
            "note_id": pd.array([spans.note_id for spans in sets], dtype="str"),
            "digest": pd.array([spans.digest for spans in sets], dtype="str"),
            "note_digest": pd.array([note.digest if note else None for note in found], dtype="str"),
            "n_chars": np.array(
                [len(note.text) if note else np.nan for note in found], dtype="float64"
            ),
            "n_spans": np.array([len(spans) for spans in sets], dtype="int64"),
        }
    )


def spans_frame(notes: Iterable[Note], span_sets: Iterable[SpanSet]) -> pd.DataFrame:
    """Return one row per span.

    Columns: ``note_id``, ``start``, ``end``, ``label``, ``score``, ``source``; ``n_chars`` of the
    note, missing where it is not known; ``margin``, the least of ``start``, ``end - start - 1`` and
    ``n_chars - end``, so that a span is in bounds exactly when it is not negative; ``gap``, the
    distance to the end of what the note's earlier spans cover, negative where two overlap.
    """
    import numpy as np  # noqa: PLC0415 - the code location loads without numpy and pandas
    import pandas as pd  # noqa: PLC0415

    sizes = {note.note_id: len(note.text) for note in notes}
    sets: Sequence[SpanSet] = list(span_sets)
    flat = [span for spans in sets for span in spans]
    counts = [len(spans) for spans in sets]
    frame = pd.DataFrame(
        {
            "note_id": pd.array([spans.note_id for spans in sets], dtype="str").repeat(counts),
            "start": np.array([span.start for span in flat], dtype="int64"),
            "end": np.array([span.end for span in flat], dtype="int64"),
            "label": pd.array([str(span.label) for span in flat], dtype="str"),
            "score": np.array([span.score for span in flat], dtype="float64"),
            "source": pd.array([span.source for span in flat], dtype="str"),
            "n_chars": np.repeat(
                np.array([sizes.get(spans.note_id, np.nan) for spans in sets], dtype="float64"),
                counts,
            ),
        }
    )
    return add_margins(frame)


def add_margins(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of spans with ``margin`` and ``gap`` computed from its other columns.

    See ``spans_frame``.
    """
    import pandas as pd  # noqa: PLC0415

    frame = frame.sort_values(["note_id", "start", "end"], kind="stable", ignore_index=True)
    # skipna=False: the margin of a span whose note is not known is missing, and fails.
    margins = pd.DataFrame(
        {
            "left": frame["start"],
            "inside": frame["end"] - frame["start"] - 1,
            "right": frame["n_chars"] - frame["end"],
        }
    )
    covered = frame.groupby("note_id")["end"].cummax().groupby(frame["note_id"]).shift(fill_value=0)
    return frame.assign(margin=margins.min(axis=1, skipna=False), gap=frame["start"] - covered)
