"""Descriptions of the columns of tables, as the UI shows them."""

from collections.abc import Mapping

import dagster as dg
import pyarrow as pa

MEANINGS: Mapping[str, str] = {
    "note_id": "Id of the note, unique in its batch",
    "id": "Id under which the note is released, derived with the key",
    "patient_id": "Id that the notes of one patient share",
    "lang": "ISO 639-1 code",
    "text": "Text of the note",
    "meta": "Fields of the source, as JSON",
    "digest": "SHA-256 of the text's UTF-8, sealed with the key outside the restricted zone",
    "start": "First code point of the span, from 0",
    "end": "One past its last code point",
    "label": "PHI category",
    "score": "Confidence in [0, 1]",
    "source": "Detector or annotation layer",
    "native_label": "The source's own label where it differs",
    "n_edits": "Replacements in the note",
    "stage": "Where the note was stopped",
    "error": "Class of the error, or the rule that stopped it",
    "name": "Of the batch, the detector or the figure",
    "system": "Detector, or what it is compared with",
    "statistic": "What was measured, such as f1",
    "measured": "Value; missing where nothing was to be counted",
    "low": "Lower end of its 95 % interval",
    "high": "Upper end of it",
    "notes": "How many notes it is of",
    "evaluation": "Counts per label and scheme, as JSON",
    "asset": "Asset that the check gates",
    "check": "Name of the check",
    "blocking": "Whether a failure stops the batch",
    "passed": "Verdict",
}


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    """Return an Arrow schema as the UI shows it."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                str(column.type),
                description=MEANINGS.get(column.name),
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in schema
        ]
    )
