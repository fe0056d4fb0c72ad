"""Versions of a task's documents.

Raw, or redacted under a policy, what is to be learnt carried along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deid_assets import Failed, Note, deidentify_notes
from deid_privacy.utility.errors import Errors
from deid_privacy.utility.examples import Marked, TaskData, TaskDocument
from deid_privacy.utility.tasks import TASKS

if TYPE_CHECKING:
    from deid_assets.extending.audits import Redacted

RAW = "raw"
_SECRET = b"versions of made notes, no secret"
"""The notes are invented, and a resumed grid must see the same surrogates."""


def version_of(data: TaskData, version: str, *, detectors: Sequence[str]) -> TaskData:
    """Return a task under a policy, those documents left out that are withheld.

    ``raw`` is the task itself.

    ``POLICY@RECALL/PRECISION`` replaces the known identifiers with errors at these rates, whatever
    detectors find.

    Every document is a patient of its own. What a tag or a surrogate stands for keeps its label;
    what is cut out loses it.

    Raises:
        PluginError: A detector is not installed.
        PolicyError: There is no such policy.
    """
    if version == RAW:
        return data
    if errors := Errors.of(version):
        outcomes = errors.redact(data.examples)
        moved = (carry(*pair) for pair in zip(data.examples, outcomes, strict=True))
        return replace(data, examples=tuple(one for one in moved if one.text.strip()))
    lang = "en" if data.name in TASKS else None
    notes = [
        Note(one.note_id, one.text, patient_id=one.note_id, lang=lang) for one in data.examples
    ]
    names, options = parse_detectors(detectors)
    replies = deidentify_notes(
        notes, policy=version, detectors=names, options=options, secret=_SECRET
    )
    kept = tuple(
        carry(example, outcome)
        for example, outcome in zip(data.examples, replies, strict=True)
        if not isinstance(outcome, Failed) and outcome.text.strip()
    )
    return replace(data, examples=kept)


def parse_detectors(detectors: Sequence[str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return names and options of detectors that are given as ``NAME`` or ``NAME=MODEL``."""
    parts = [one.partition("=") for one in detectors]
    return [name for name, _, _ in parts], {
        name: {"model": model} for name, _, model in parts if model
    }


def carry(example: TaskDocument, redacted: Redacted) -> TaskDocument:
    """Return a document with its redacted text, and its spans where they are now."""
    return replace(
        example,
        text=redacted.text,
        identifiers=_move(example.identifiers, redacted),
        marks=_move(example.marks, redacted),
    )


def _move(marks: Sequence[Marked], redacted: Redacted) -> tuple[Marked, ...]:
    """Return spans in the redacted text, sorted.

    Where one replacement stands for several, its words are shared out.
    """
    found: list[Marked] = []
    shared: dict[int, list[Marked]] = {}
    for mark in marks:
        start, end, label = mark
        edit = next((one for one in redacted.edits if one.start <= start and end <= one.end), None)
        if edit:
            shared.setdefault(redacted.edits.index(edit), []).append(mark)
            continue
        last = next((one for one in redacted.edits if one.start < end <= one.end), None)
        found.append(
            (
                redacted.to_redacted(start),
                last.new_end if last else redacted.to_redacted(end),
                label,
            )
        )
    for number, own in shared.items():
        edit = redacted.edits[number]
        found += _share_words(
            [label for _, _, label in own],
            edit.new_start,
            redacted.text[edit.new_start : edit.new_end],
        )
    kept: list[Marked] = []
    for start, end, label in sorted(found):
        begin = max(start, kept[-1][1] if kept else 0)
        while begin < end and redacted.text[begin].isspace():
            begin += 1
        stop = begin + len(redacted.text[begin:end].rstrip())
        if begin < stop:
            kept.append((begin, stop, label))
    return tuple(kept)


def _share_words(labels: Sequence[str], begin: int, value: str) -> list[Marked]:
    """Return the words of a replacement, one for each label and the rest for the last.

    All for the first if too few.
    """
    words = [(begin + word.start(), begin + word.end()) for word in re.finditer(r"\S+", value)]
    if not words:
        return []
    if len(words) < len(labels):
        return [(words[0][0], words[-1][1], labels[0])]
    ends = [*words[: len(labels) - 1], (words[len(labels) - 1][0], words[-1][1])]
    return [(start, end, label) for (start, end), label in zip(ends, labels, strict=True)]
