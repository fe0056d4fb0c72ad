"""What documents have besides plain text: tracked changes, hidden fields and attachments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from deid_assets.extending.formats import Fault, ReadOptions, Source
from deid_document_formats.options import Documents

Change = Literal["none", "inserted", "deleted"]
Runs = list[tuple[str, Change]]


def versions(runs: Runs) -> list[str]:
    """Return a paragraph as it reads now, and as it read before where text was deleted.

    A deleted name beside its correction would be one word, which no detector knows.
    """
    now = "".join(text for text, change in runs if change != "deleted")
    if all(not text or change != "deleted" for text, change in runs):
        return [now]
    before = "".join(text for text, change in runs if change != "inserted")
    return [now, before] if now.strip() else [before]


def list_hidden_lines(hidden: Iterable[str], shown: str) -> list[str]:
    """Return what is hidden in a document, one line each and once.

    What is a line of the text that is shown is left out.
    """
    lines = dict.fromkeys(" ".join(text.split()) for text in hidden)
    seen = {" ".join(line.split()) for line in shown.splitlines()}
    return [line for line in lines if line and line not in seen]


def attachment_faults(source: Source, count: int, options: ReadOptions) -> Iterator[Fault]:
    """Yield one fault for each thing inside a document that is not read.

    What is left out on purpose gives none.
    """
    if options.of(Documents).attachments == "skip":
        return
    for number in range(1, count + 1):
        reason = (
            f"attachment {number} is not read; save it as a file of its own, or --read"
            " documents.attachments=skip"
        )
        yield source.fault("attachment", reason, note_id=f"{source.note_id}/attachment-{number}")


def report_no_text(source: Source, *, pictures: int, kind: str = "document") -> Fault:
    """Return the fault of a document without a word: an image of text is not an empty note."""
    if pictures:
        reason = "has pictures and no text; recognise their text (OCR) and read that"
        return source.fault("no-text-layer", reason, note_id=source.note_id)
    return source.fault(
        "empty-file",
        f"is a {kind} without text; remove it or export it again",
        note_id=source.note_id,
    )
