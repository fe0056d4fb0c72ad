"""Notes of an OMOP database, without a file that names it."""

from __future__ import annotations

from collections.abc import Iterator

from deid_assets.extending.formats import Annotated, Fault, ReadOptions, assemble, format_named
from deid_clinical_formats.omop import draft_of_row
from deid_clinical_formats.omop_database import NoteTable, database_rows

_DEFAULT = ReadOptions()


def read_omop(
    url: str,
    *,
    table: str = "note",
    schema: str | None = None,
    batch: int = 256,
    options: ReadOptions = _DEFAULT,
) -> Iterator[Annotated | Fault]:
    """Yield each note of a ``NOTE`` table in the order of ``note_id``, and each fault in its place.

    Nothing is written to the database. A failure of the database is a fault and the last that is
    yielded: the notes behind it are missing.

    Args:
        url: As SQLAlchemy has it, such as ``postgresql+psycopg://host/cdm``; never shown.
        table: Its name.
        schema: Its schema, where it is not the default one.
        batch: Rows held at a time.
        options: ``max_note_chars`` bounds a note.
    """
    place = f"{schema}.{table}" if schema else table
    last, labels = "", format_named("omop").labels
    for row in database_rows(NoteTable(url, table, schema, batch), place):
        parsed = row if isinstance(row, Fault) else draft_of_row(*row, file=place)
        if isinstance(parsed, Fault):
            yield parsed
        elif parsed.note_id == last:  # in order, so that its like stands beside it
            reason = f"note {last!r} came before; give every note its own id"
            yield Fault.at(place, "duplicate-id", reason, line=parsed.line, note_id=last)
        else:
            last = parsed.note_id
            result = assemble(parsed, labels, options)
            yield from result if isinstance(result, list) else [result]
