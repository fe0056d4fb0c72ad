"""A twin of a corpus.

The same notes with other people's names, for audits of what a model remembers.
"""

from __future__ import annotations

from deid_assets.extending import DeidError, DisjointSpans, Failed, Note, Phi
from deid_assets.extending.edits import Key, Policy, Redacted, redact
from deid_edit_maps.repopulate import identity_in
from deid_surrogates.surrogate import Surrogate


class _OtherNames(Surrogate):
    """Surrogates that are drawn again, since a twin without a name is none."""

    __slots__ = ()
    redraws = True


def twin_policy() -> Policy:
    """Return the policy that writes other names and keeps everything else."""
    return Policy("twin", _OtherNames(), keep=frozenset(Phi) - {Phi.NAME})


def twin_key(key: Key, number: int) -> Key:
    """Return the key of one of many twins; the same number gives the same twin again."""
    return Key(key.derive("twin", str(number)))


def twin(note: Note, spans: DisjointSpans, *, key: Key) -> Redacted | Failed:
    """Return the note with other names, or why it has no twin: a name for which none can be made.

    Args:
        note: The original.
        spans: Only its names are used.
        key: As ``twin_key`` gives it.
    """
    try:
        found = redact(note, spans, twin_policy(), key=key)
    except DeidError as error:
        return Failed(note.note_id, "twin", type(error).__name__)
    if any(identity_in(found.text[edit.new_start : edit.new_end])[0] for edit in found.edits):
        return Failed(note.note_id, "twin", "NoOtherName")
    return found
