"""For plugin authors.

Marked text, what a policy makes of it, and the contract every detector must keep.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from unittest.mock import patch

from deid_assets.core.detector import Detector, check_spans
from deid_assets.core.errors import DetectorError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span, SpanSet

_MARK = re.compile(r"<([A-Z_]+)>(.*?)</\1>", re.DOTALL)

CONTRACT_TEXTS = (
    "",
    " \r\n\t",
    "Seen on 3 May 2021.\r\nDr. Jane Lee, tel. 617-555-0143.\r\n",
    "Cafe\u0301 with Jose\u0301 García, \U0001f468\u200d\u2695\ufe0f e-mail a.b@example.org",
    "\ufeffname\u00a0: O\u2019Brien\u2028ID 12345678Z",
    "Follow-up. " * 2_000 + "MRN 4411223 on 2021-05-03.",
)
"""Empty, blank, CRLF, combining and astral characters, exotic blanks, and a long note."""


def parse_marked(
    text: str, *, note_id: str = "marked", source: str = "gold", lang: str | None = "en"
) -> tuple[Note, SpanSet]:
    """Return the note and spans written inline, as in ``"Dr. <NAME>Lee</NAME>"``.

    Raises:
        ValueError: A mark is not a PHI category.
    """
    plain, spans, cursor = "", [], 0
    for match in _MARK.finditer(text):
        plain += text[cursor : match.start()]
        spans.append(Span(len(plain), len(plain) + len(match[2]), Phi(match[1]), source=source))
        plain += match[2]
        cursor = match.end()
    note = Note(note_id, plain + text[cursor:], lang=lang)
    return note, SpanSet.of(note, spans)


def mark(note: Note, spans: Iterable[Span]) -> str:
    """Return the text with its spans marked inline.

    The inverse of ``parse_marked`` for disjoint spans.
    """
    parts, cursor = [], 0
    for span in sorted(spans):
        parts += [
            note.text[cursor : span.start],
            f"<{span.label}>{note.text[span.start : span.end]}</{span.label}>",
        ]
        cursor = span.end
    return "".join([*parts, note.text[cursor:]])


def redact_marked(
    text: str,
    policy: Policy,
    *,
    key: Key,
    lang: str = "en",
    patient_id: str = "patient-1",
    note_id: str = "note-1",
) -> str:
    """Return marked text as a policy redacts it.

    Raises:
        ValueError: A mark is not a PHI category.
        PolicyError: An action could not be carried out.
    """
    note, spans = parse_marked(text, note_id=note_id, lang=lang)
    note = replace(note, patient_id=patient_id)
    return redact(note, DisjointSpans.of(note, spans), policy, key=key).text


def check_detector(detector: Detector, *, texts: Sequence[str] = CONTRACT_TEXTS) -> None:
    """Run the detector contract on hard inputs.

    Checks the attributes, that each note gives one set in order with the right digest, in-bounds
    spans, declared labels and its own name as their source, that a second run gives the same, and
    that batching changes nothing.

    Raises:
        DetectorError: The contract is broken; the message says how.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", detector.name):
        raise DetectorError(f"name {detector.name!r} must match ^[a-z][a-z0-9_]{{0,40}}$")
    if not detector.version or not detector.labels <= set(Phi):
        raise DetectorError(
            f"{detector.name}: version must not be empty and labels must be PHI categories"
        )
    notes = [Note(f"contract-{n}", text, lang="en") for n, text in enumerate(texts)]
    together = list(detector.detect(notes))
    if len(together) != len(notes):
        raise DetectorError(
            f"{detector.name}: {len(notes)} notes in, {len(together)} span sets out"
        )
    for note, spans in zip(notes, together, strict=True):
        check_spans(detector, note, spans)
        if list(detector.detect([note])) != [spans]:
            raise DetectorError(
                f"{detector.name}: note {note.note_id!r} differs alone and in the batch, or run"
                " to run"
            )
    if list(detector.detect([])):
        raise DetectorError(f"{detector.name}: an empty batch must give nothing")


def check_offline(make: Callable[[], Detector], note: Note) -> SpanSet:
    """Build a detector and run it on a note, with sockets refused and all logging collected.

    Args:
        make: Returns the detector; what it does while it is built counts too.
        note: Of some kind that the detector finds spans in.

    Returns:
        What it found, for the caller to see that it did run.

    Raises:
        DetectorError: It tried to open a socket or to look up a host, even if it then did without,
            or it logged.
    """
    reached: list[str] = []
    logged: list[logging.LogRecord] = []

    def refuse(what: str) -> Callable[..., None]:
        def refuse_call(*_args: object, **_options: object) -> None:
            reached.append(what)
            raise OSError(f"{what} is refused")

        return refuse_call

    class LogCollector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.append(record)

    handler = LogCollector()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            patch("socket.socket", refuse("a socket")),
            patch("socket.getaddrinfo", refuse("a look-up")),
        ):
            detector = make()
            (found,) = detector.detect([note])
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    if reached or logged:
        raise DetectorError(
            f"{detector.name}: reached for {', '.join(reached) or 'nothing'}, logged {len(logged)}"
            " lines"
        )
    return found
