"""The edit map of a note: where each replacement stands in both texts, and what made it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from deid_assets.core.errors import OffsetError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit, Policy, Redacted
from deid_assets.core.span import Span
from deid_assets.store.sealing import DigestSeal

MARK_CHARS = 16
"""Hexadecimal digits of a mark.

Two of a million replacements agree with a chance of 3 in 100 million.
"""


@dataclass(frozen=True, slots=True)
class MadeBy:
    """Inputs of a redaction; two that agree in all of it and in their spans write the same text.

    Args:
        software: Name and version.
        policy: Its name.
        policy_digest: SHA-256 of its content.
        keep: Categories that it leaves.
        key_id: Tells keys apart and tells nothing of them; see ``key_id``.
        detectors: Name to version and digest; empty where spans came from a file that does not say.
    """

    software: str
    policy: str
    policy_digest: str
    keep: tuple[str, ...] = ()
    key_id: str = ""
    detectors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, policy: Policy, key: Key, *, software: str, detectors: Mapping[str, str]) -> MadeBy:
        """Return the record of a policy carried out with a key."""
        keep = tuple(sorted(label.value for label in policy.keep))
        return cls(software, policy.name, policy.digest, keep, key_id(key), dict(detectors))


@dataclass(frozen=True, slots=True, order=True)
class Replaced:
    """One edit with where it came from.

    Args:
        start: First code point in the original.
        end: One past the last; greater than ``start``.
        new_start: First code point in the redacted text.
        new_end: One past the last; equals ``new_start`` where nothing stands.
        label: Category.
        source: Detector of the span, several joined by ``+``.
        mark: Keyed digest of the replacement, which tells whether two are alike.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    label: Phi
    source: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class EditMap:
    """The edits of one note, sorted, without text.

    Args:
        note_id: The note.
        digest: SHA-256 of the original text, sealed; see ``DigestSeal``.
        new_digest: SHA-256 of the redacted text.
        chars: Code points of the original.
        new_chars: Code points of the redacted text.
        edits: In the order of both texts, not overlapping in either.
        made_by: What the redaction rests on.

    Raises:
        OffsetError: The edits are out of order or out of bounds, or do not lead from one length to
            the other.
    """

    note_id: str
    digest: str
    new_digest: str
    chars: int
    new_chars: int
    edits: tuple[Replaced, ...]
    made_by: MadeBy

    def __post_init__(self) -> None:
        for before, after in pairwise((_START, *self.edits, _end(self.chars, self.new_chars))):
            kept = after.start - before.end
            is_forward = kept >= 0 and after.start <= after.end and after.new_start <= after.new_end
            if not is_forward or after.new_start - before.new_end != kept:
                raise OffsetError(
                    f"note {self.note_id!r}: the edit at [{after.start}, {after.end}) does not"
                    " follow from the one before it; write the edits again with deid redact"
                    " --edits"
                )


_START = Replaced(0, 0, 0, 0, Phi.OTHER)


def _end(chars: int, new_chars: int) -> Replaced:
    return Replaced(chars, chars, new_chars, new_chars, Phi.OTHER)


def edit_map(
    note: Note, redacted: Redacted, spans: Iterable[Span], *, key: Key, made_by: MadeBy
) -> EditMap:
    """Return the map of a note that was redacted.

    Args:
        note: The original.
        redacted: What became of it.
        spans: Those it was redacted with; they name the sources.
        key: For the marks.
        made_by: What the redaction rests on.
    """
    found = tuple(spans)
    edits = tuple(
        Replaced(
            edit.start,
            edit.end,
            edit.new_start,
            edit.new_end,
            edit.label,
            _sources(edit, found),
            mark(redacted.text[edit.new_start : edit.new_end], key),
        )
        for edit in redacted.edits
    )
    new_digest = digest_of(redacted.text)
    digest = DigestSeal(key).seal(note.digest)
    return EditMap(
        note.note_id, digest, new_digest, len(note.text), len(redacted.text), edits, made_by
    )


def mark(replacement: str, key: Key) -> str:
    """Return a keyed digest of a replacement.

    Equal for equal replacements, and no way back to the words.
    """
    return key.derive("edit mark", replacement).hex()[:MARK_CHARS]


def key_id(key: Key) -> str:
    """Return a short name of a key, which tells nothing of the key itself."""
    return key.derive("key id").hex()[:8]


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8, as ``Note.digest`` has it."""
    return hashlib.sha256(text.encode()).hexdigest()


def _sources(edit: Edit, spans: Iterable[Span]) -> str:
    return "+".join(
        sorted({span.source for span in spans if span.start < edit.end and edit.start < span.end})
    )
