"""Annotations of any kind, carried over to the redacted text or back.

Everything that became of them is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from deid_assets.extending import InputError, OffsetError
from deid_assets.extending.edits import DigestSeal, EditMap, ProvenanceError, digest_of
from deid_edit_maps.carry import Meeting, carry, stretches

KEPT = ("label", "native_label", "score", "source", "code", "system")
"""Fields of a span that are carried over besides its offsets.

None of them holds text of the note.
"""


@dataclass(slots=True)
class CarryTally:
    """Outcomes of carrying annotations over.

    Args:
        notes: Notes carried over.
        meetings: Spans by how they met the replacements.
        dropped: Spans left out because they met a replacement, where that was asked for.
        fields: Fields that were left out, by name.
    """

    notes: int = 0
    meetings: Counter[Meeting] = field(default_factory=Counter)
    dropped: int = 0
    fields: Counter[str] = field(default_factory=Counter)

    @property
    def spans(self) -> int:
        """Spans read."""
        return self.meetings.total()

    @property
    def written(self) -> int:
        """Spans that came over."""
        return self.spans - self.meetings[Meeting.LOST] - self.dropped

    def to_json(self) -> dict[str, Any]:
        """Return the counts under plain names."""
        met = {meeting.value: self.meetings[meeting] for meeting in Meeting}
        return {
            "notes": self.notes,
            "spans": self.spans,
            "written": self.written,
            **met,
            "dropped": self.dropped,
            "fields_left_out": dict(sorted(self.fields.items())),
        }


@dataclass(frozen=True, slots=True)
class Carrier:
    """Options for carrying annotations over.

    Args:
        take: Gives the edit map of a note, once; ``None`` where there is none.
        seal: Of the key that the edit maps were written with.
        to_original: From the redacted text to the original.
        drop_overlapping: Leave a span out that meets a replacement; else it holds all of it.
        keep: Fields of a span that go along besides the usual ones.
    """

    take: Callable[[str], EditMap | None]
    seal: DigestSeal
    to_original: bool = False
    drop_overlapping: bool = False
    keep: frozenset[str] = frozenset()

    def carry(
        self,
        records: Iterable[tuple[str, Mapping[str, Any]]],
        tally: CarryTally,
        *,
        unknown: Callable[[str], None],
    ) -> Iterator[dict[str, Any]]:
        """Yield the record of each note with its spans in the other text.

        Args:
            records: Place and content of each line: ``id``, ``spans``, and ``digest`` where the
                file has one.
            tally: Counted up.
            unknown: Called with the id of a note that has no edit map; it is left out.

        Raises:
            InputError: A record is no such object, or its spans were made for another text.
        """
        seen: set[str] = set()
        for where, record in records:
            note_id, spans = record.get("id"), record.get("spans")
            if not isinstance(note_id, str) or not isinstance(spans, list):
                raise InputError(f"{where}: no object with an id and a list of spans")
            if note_id in seen:
                raise InputError(f"{where}: note {note_id!r} comes twice; merge its spans first")
            seen.add(note_id)
            edits = self.take(note_id)
            if edits is None:
                unknown(note_id)
                continue
            self._check_digest(record, edits, where)
            tally.notes += 1
            digest = (
                self.seal.seal(self._original(edits, where))
                if self.to_original
                else edits.new_digest
            )
            yield {
                "id": note_id,
                "digest": digest,
                "spans": self._spans(spans, edits, tally, where),
            }

    def _check_digest(self, record: Mapping[str, Any], edits: EditMap, where: str) -> None:
        """Refuse spans of another text.

        A file that gives neither a digest nor the text is taken on trust.
        """
        wanted = edits.new_digest if self.to_original else self._original(edits, where)
        text = record.get("text")
        given = digest_of(text) if isinstance(text, str) else record.get("digest")
        if given is not None and given not in (wanted, self.seal.seal(wanted)):
            which = "redacted" if self.to_original else "original"
            raise InputError(
                f"{where}: note {edits.note_id!r}: the spans are not of the {which} text that the"
                " edits are of; use the edits that were written with it"
            )

    def _original(self, edits: EditMap, where: str) -> str:
        """Return the digest of the original text."""
        try:
            return self.seal.open(edits.digest)
        except ProvenanceError:
            raise InputError(
                f"{where}: note {edits.note_id!r}: the edits were written with another key; set"
                " DEID_KEY to that one"
            ) from None

    def _spans(
        self, spans: list[Any], edits: EditMap, tally: CarryTally, where: str
    ) -> list[dict[str, Any]]:
        ways = stretches(edits, to_original=self.to_original)
        chars = edits.new_chars if self.to_original else edits.chars
        carried = []
        for number, span in enumerate(spans):
            start, end = _offsets(span, f"{where}: span {number}")
            try:
                place, meeting = carry(start, end, ways, chars=chars)
            except OffsetError as error:
                raise InputError(f"{where}: span {number}: {error}") from None
            tally.meetings[meeting] += 1
            tally.fields.update(span.keys() - self.keep - {*KEPT, "start", "end"})
            if place is None:
                continue
            if self.drop_overlapping and meeting is not Meeting.CLEAR:
                tally.dropped += 1
                continue
            fields = {name: span[name] for name in span if name in KEPT or name in self.keep}
            carried.append({"start": place[0], "end": place[1], **fields})
        return carried


def _offsets(span: Any, where: str) -> tuple[int, int]:
    start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
    if type(start) is not int or type(end) is not int:
        raise InputError(f"{where}: no object with whole numbers start and end")
    return start, end
