"""OMOP CDM 5.4 out.

A folder with ``note.parquet``, and ``note_nlp.parquet`` where notes have spans.

Of a note, the id, the text, English as its language and, where given, the patient are written. All
other columns are there and empty, or 0 ("no matching concept"): what they held may identify.
``NOTE_NLP`` has one row per span, with its offset and its category but neither ``snippet`` nor
``lexical_variant``, which would be note text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from deid_assets import Note, SpanSet
from deid_assets.extending import InputError
from deid_assets.extending.formats import (
    Annotated,
    RowGroups,
    WriteOptions,
    atomic_folder,
    table_writer,
)
from deid_clinical_formats.omop import ENGLISH, number_of

_MAX_SOURCE_CHARS = 50
"""Most characters of ``note_source_value``."""
_SYSTEM = "deid-assets"


def write(path: Path, notes: Iterable[Annotated], options: WriteOptions) -> None:
    """Write the tables of a corpus; rows of ``NOTE_NLP`` are dated today in UTC.

    Raises:
        InputError: A patient id is no whole number, or a note id is neither that nor short enough
            for ``note_source_value``.
    """
    del options
    today = dt.datetime.now(dt.UTC).date()
    with atomic_folder(path) as folder, ExitStack() as stack:
        add_note = stack.enter_context(table_writer(folder / "note.parquet", _note_schema()))
        add_spans: _SpanRows | None = None
        for annotated in notes:
            add_note(_note_record(annotated.note), len(annotated.note.text))
            if annotated.spans is not None:
                if add_spans is None:
                    nlp = stack.enter_context(
                        table_writer(folder / "note_nlp.parquet", _nlp_schema())
                    )
                    add_spans = _SpanRows(nlp, today)
                add_spans(annotated.spans)


class _SpanRows:
    """Adds the rows of spans and numbers them."""

    def __init__(self, add: RowGroups, nlp_date: dt.date) -> None:
        self._add = add
        self._date = nlp_date
        self.count = 0

    def __call__(self, spans: SpanSet) -> None:
        for span in spans:
            self.count += 1
            length = span.end - span.start
            self._add(
                {
                    "note_nlp_id": self.count,
                    "note_id": number_of(spans.note_id),
                    "section_concept_id": 0,
                    "snippet": "",
                    "offset": str(span.start),
                    "lexical_variant": "",
                    "note_nlp_concept_id": 0,
                    "note_nlp_source_concept_id": 0,
                    "nlp_system": f"{_SYSTEM}: {span.source}"[:250],
                    "nlp_date": self._date,
                    "term_modifiers": (
                        f"category={span.label.value};length={length};score={span.score:g}"
                    ),
                }
            )


def _note_record(note: Note) -> dict[str, object]:
    number = number_of(note.note_id)
    source_value = None if str(number) == note.note_id else note.note_id
    if source_value is not None and len(source_value) > _MAX_SOURCE_CHARS:
        raise InputError(
            f"note {note.note_id!r}: the id is no whole number and has more than"
            f" {_MAX_SOURCE_CHARS} characters, so that OMOP cannot hold it; give it another"
        )
    if note.patient_id is not None and str(number_of(note.patient_id)) != note.patient_id:
        raise InputError(
            f"note {note.note_id!r}: its patient id is no whole number, as person_id is; leave"
            " patient ids out"
        )
    return {
        "note_id": number,
        "person_id": None if note.patient_id is None else int(note.patient_id),
        "note_type_concept_id": 0,
        "note_class_concept_id": 0,
        "note_text": note.text,
        "encoding_concept_id": 0,
        "language_concept_id": ENGLISH if note.lang == "en" else 0,
        "note_source_value": source_value,
    }


def _note_schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    number, string = pa.int64(), pa.string()
    return pa.schema(
        [
            ("note_id", number),
            ("person_id", number),
            ("note_date", pa.date32()),
            ("note_datetime", pa.timestamp("us")),
            ("note_type_concept_id", number),
            ("note_class_concept_id", number),
            ("note_title", string),
            ("note_text", string),
            ("encoding_concept_id", number),
            ("language_concept_id", number),
            ("provider_id", number),
            ("visit_occurrence_id", number),
            ("visit_detail_id", number),
            ("note_source_value", string),
            ("note_event_id", number),
            ("note_event_field_concept_id", number),
        ]
    )


def _nlp_schema() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    number, string = pa.int64(), pa.string()
    return pa.schema(
        [
            ("note_nlp_id", number),
            ("note_id", number),
            ("section_concept_id", number),
            ("snippet", string),
            ("offset", string),
            ("lexical_variant", string),
            ("note_nlp_concept_id", number),
            ("note_nlp_source_concept_id", number),
            ("nlp_system", string),
            ("nlp_date", pa.date32()),
            ("nlp_datetime", pa.timestamp("us")),
            ("term_exists", string),
            ("term_temporal", string),
            ("term_modifiers", string),
        ]
    )
