"""Reversible sessions: text with placeholders for a language model, and the values put back.

A session is held in memory and nowhere else; it is gone when it expires, is ended, or the process
stops. Its texts are those of one patient to the pipeline, so that a value that was found in one is
covered in all that follow.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import ClassVar

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.extending.serving import LEAVABLE, Batch, Context, Pipeline, Policy, pipeline_of
from deid_assets.extending.serving import add_languages as told
from deid_serve.limits import ServiceLimits
from deid_serve.pipeline_door import PipelineDoor, text_of
from deid_serve.problems import HttpProblem, bad_fields

POLICY = "session"
_DEPTH = 4
"""How often a restored text is looked at again: a value may be a placeholder that was sent back."""
_TOKEN = re.compile(
    r"\[\s*(?P<label>[A-Za-z]+(?:[_ ][A-Za-z]+)*)[_ ](?P<number>\d{1,6})(?P<form>[A-Za-z]?)\s*\]"
    r"|\b(?P<bare>[A-Z]+(?:_[A-Z]+)*)_(?P<bare_number>\d{1,6})(?P<bare_form>[a-z]?)\b"
)
_FORMS = "bcdefghijklmnopqrstuvwxyz"


class ReversibleSession:
    """Values and their placeholders.

    ``[NAME_1]`` stands for one value throughout; where it is written otherwise (``LEE`` for
    ``Lee``) it is ``[NAME_1b]``, so that each comes back as it was.

    Args:
        name: Unguessable; who has it, and the token, may restore.
        ends: When it is gone, of the clock.
        keep: Categories that stay in the text.
        most: Different values it may hold.
    """

    def __init__(self, name: str, ends: float, keep: frozenset[Phi], most: int) -> None:
        self.name = name
        self.ends = ends
        self.keep = keep
        self.notes: list[tuple[Note, DisjointSpans]] = []
        self._most = most
        self._values: dict[str, str] = {}
        self._places: dict[tuple[Phi, str], str] = {}
        self._numbers: dict[tuple[Phi, str], int] = {}
        self._forms: dict[tuple[Phi, str], int] = {}
        self._last: dict[Phi, int] = {}
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._values)

    def take_in(self, text: str) -> None:
        """Remember what looks like a placeholder in a text, so that none is given twice."""
        self._taken |= {key for key in map(_key, _TOKEN.finditer(text)) if key not in self._values}

    def placeholder(self, text: str, label: Phi) -> str:
        """Return the placeholder of a value.

        Raises:
            HttpProblem: The session has too many values.
        """
        key = self._places.get((label, text))
        if key is None:
            if len(self._values) >= self._most:
                raise bad_fields([f"the session has more than {self._most:,} values"])
            key = self._places[label, text] = self._new(text, label)
            self._values[key] = text
        return f"[{key}]"

    def _new(self, text: str, label: Phi) -> str:
        value = (label, " ".join(text.casefold().split()))
        form = self._forms.get(value, 0)
        if value in self._numbers and form < len(_FORMS):
            self._forms[value] = form + 1
            key = f"{label.value}_{self._numbers[value]}{_FORMS[form]}"
            if key not in self._taken:
                return key
        number = self._last.get(label, 0) + 1
        while f"{label.value}_{number}" in self._taken:
            number += 1
        self._last[label] = self._numbers[value] = number
        self._forms[value] = 0
        return f"{label.value}_{number}"

    def restore(self, text: str, most: int) -> tuple[str, int, list[str]]:
        """Return a text with its values back, how many there were, and unknown placeholders.

        Args:
            text: With placeholders.
            most: Characters that values may add: one may hold placeholders, each again a value.

        Raises:
            HttpProblem: There are more.
        """
        count, added, unknown = 0, 0, dict[str, None]()

        def value(match: re.Match[str]) -> str:
            nonlocal count, added
            key = _key(match)
            if key in self._values:
                count, added = count + 1, added + len(self._values[key])
                if added > most:
                    raise bad_fields([f"text: its values have more than {most:,} characters"])
                return self._values[key]
            if key.rsplit("_", 1)[0] in Phi.__members__:
                unknown.setdefault(match.group())
            return match.group()

        for _ in range(_DEPTH):
            before, text = text, _TOKEN.sub(value, text)
            if before == text:
                break
        return text, count, list(unknown)


def _key(match: re.Match[str]) -> str:
    label = match["label"] or match["bare"]
    number = match["number"] or match["bare_number"]
    form = match["form"] or match["bare_form"] or ""
    return f"{label.upper().replace(' ', '_')}_{int(number)}{form.lower()}"


@dataclass(frozen=True, slots=True)
class SessionPlaceholder:
    """Action of a session's policy."""

    session: ReversibleSession = field(repr=False)

    def __call__(self, text: str, span: Span, context: Context) -> str:
        """Return the placeholder of a value."""
        del context
        return self.session.placeholder(text, span.label)


@dataclass(frozen=True, slots=True)
class Remember:
    """The session's earlier texts are there with their spans, to be spread from."""

    session: ReversibleSession = field(repr=False)
    name: ClassVar[str] = "remember"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with the earlier texts."""
        earlier = {note.note_id: spans for note, spans in self.session.notes}
        notes = [*(note for note, _ in self.session.notes), *batch.notes]
        return replace(batch, notes=notes, spans={**earlier, **batch.spans})


@dataclass(frozen=True, slots=True)
class Forget:
    """The earlier texts are not redacted again."""

    session: ReversibleSession = field(repr=False)
    name: ClassVar[str] = "forget"

    def run(self, batch: Batch) -> Batch:
        """Return the batch with the new text alone."""
        earlier = {note.note_id for note, _ in self.session.notes}
        notes = [note for note in batch.notes if note.note_id not in earlier]
        return replace(batch, notes=notes)


class SessionRegistry:
    """The sessions that are open.

    Args:
        door: The pipeline.
        limits: How many, and for how long.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        door: PipelineDoor,
        limits: ServiceLimits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._door = door
        self._limits = limits
        self._clock = clock
        self._open: dict[str, ReversibleSession] = {}

    def __len__(self) -> int:
        self.sweep()
        return len(self._open)

    def open(self, keep: Sequence[str], expires_in: int | None) -> ReversibleSession:
        """Return a new session.

        Raises:
            HttpProblem: There are too many, or a category cannot be kept.
        """
        kept = _categories(keep)
        self.sweep()
        if len(self._open) >= self._limits.sessions:
            raise HttpProblem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "busy",
                f"{len(self._open)} sessions are open",
                remedy="end one by DELETE, or wait until one expires",
                headers={"Retry-After": "60"},
            )
        seconds = min(expires_in or self._limits.session_seconds, self._limits.session_seconds)
        most = self._limits.session_values
        session = ReversibleSession(secrets.token_urlsafe(24), self._clock() + seconds, kept, most)
        self._open[session.name] = session
        return session

    def find(self, name: str) -> ReversibleSession:
        """Return an open session.

        Raises:
            HttpProblem: It never was, or is gone.
        """
        self.sweep()
        for session in self._open.values():
            if secrets.compare_digest(session.name.encode(), name.encode()):
                return session
        raise HttpProblem(
            HTTPStatus.NOT_FOUND,
            "no-session",
            "it never was, has expired, or was ended",
            remedy="begin one by POST /v1/sessions",
        )

    def end(self, name: str) -> None:
        """Forget a session and all that it holds."""
        found = self.find(name)  # before, since it sweeps
        self._open.pop(found.name)

    def sweep(self) -> None:
        """Forget the sessions that have expired."""
        now = self._clock()
        self._open = {name: session for name, session in self._open.items() if session.ends > now}

    def count_seconds_left(self, session: ReversibleSession) -> int:
        """Return the whole seconds until a session is gone."""
        return max(0, int(session.ends - self._clock()))

    def redact(self, session: ReversibleSession, note: Note) -> tuple[str, str | None]:
        """Return a text with placeholders, and its language.

        Raises:
            HttpProblem: A step withheld it; the problem names the note. Or the session's texts
                have more characters together than one request has bytes.
            DeidError: The policy cannot be carried out.
        """
        held = sum(len(earlier.text) for earlier, _ in session.notes) + len(note.text)
        if held > self._limits.bytes_:
            raise bad_fields([f"the session has more than {self._limits.bytes_:,} characters"])
        name = f"text-{len(session.notes) + 1}"
        (new,) = told([replace(note, note_id=name, patient_id=session.name)])
        session.take_in(new.text)
        batch = self._pipeline(session).deidentify([new])
        try:
            text = text_of(batch, name)
        except HttpProblem as problem:
            problem.note = note.note_id
            raise
        session.notes.append((new, batch.replaced[name]))
        return text, new.lang

    def _pipeline(self, session: ReversibleSession) -> Pipeline:
        policy = Policy(POLICY, SessionPlaceholder(session), keep=session.keep)
        pipeline = pipeline_of(
            policy=policy,
            detectors=self._door.detectors,
            options=self._door.options,
            secret=secrets.token_bytes(32),
        )
        remembering = pipeline.with_step(Remember(session), before="spread")
        return remembering.with_step(Forget(session), before="redact")


def _categories(names: Iterable[str]) -> frozenset[Phi]:
    """Return categories that a session may keep.

    Raises:
        HttpProblem: One is unknown, or may not stay.
    """
    known = {label.value: label for label in LEAVABLE}
    if any(name not in known for name in names):
        raise bad_fields([f"keep names a category that is none of {', '.join(sorted(known))}"])
    return frozenset(known[name] for name in names)
