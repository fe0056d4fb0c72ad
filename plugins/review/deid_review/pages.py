"""The pages: rendered here; one script reads keys and loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from deid_review.curve import curve_of
from deid_review.desk import WORD, NamedElsewhere, ReviewDesk, ReviewOutcome
from deid_review.ledger import ADJUDICATION
from deid_review.measures import (
    agreement,
    counts_by_label,
    precisions,
    recall,
    recall_by_minute,
    second_reading,
)
from deid_review.records import QueuedMark, QueuedNote
from deid_review.states import NoteState, ReviewMark, ReviewStatus

_NINES = (
    "NAME DATE AGE PHONE MRN HOSPITAL CITY STREET PROFESSION",
    "ID EMAIL ZIP REGION COUNTRY ORGANIZATION LOCATION USERNAME RELATIVE",
    "SEX URL FAX NATIONAL_ID HEALTH_PLAN ACCOUNT LICENSE DEVICE OTHER",
    "VEHICLE IP BIOMETRIC",
)
LABELS = tuple(" ".join(_NINES).split())
"""Categories in the order of the digits: nine on 1 to 9, and 0 for the next nine."""
SIGNS = {
    ReviewStatus.PENDING: "?",
    ReviewStatus.PREMARKED: "\u2713?",
    ReviewStatus.ACCEPTED: "\u2713",
    ReviewStatus.REJECTED: "\u2717",
    ReviewStatus.LEFT: "\u25e6",
}
"""Signs of what was decided, so that no colour is needed."""


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A stretch of a text.

    Args:
        html: Its words, ready for the page; empty of a mark.
        text: Of a mark.
        mark: Where it is one.
    """

    html: str = field(default="", repr=False)
    text: str = field(default="", repr=False)
    mark: ReviewMark | None = None


@dataclass(frozen=True, slots=True)
class MarkView:
    """All that the panel shows of a mark.

    Args:
        mark: It.
        value: Its text.
        queued: What detectors said; ``None`` of one that a reviewer added.
        mentions: How often the value stands elsewhere in the patient's notes.
        shown: Some of these.
        streams: What each reviewer says of it, where they differ.
    """

    mark: ReviewMark
    value: str = field(repr=False)
    queued: QueuedMark | None
    mentions: int
    shown: Sequence[NamedElsewhere]
    streams: Sequence[str] = ()


def note_main(
    desk: ReviewDesk,
    note: QueuedNote,
    stream: str,
    reviewer: str,
    outcome: ReviewOutcome | None = None,
) -> str:
    """Return the part of a note's page that changes with a key."""
    state = desk.state(note, stream)
    text = desk.view.notes[note.note_id].text
    outcome = outcome or ReviewOutcome()
    queued = {one.mark: one for one in desk.ledger.marks(note.note_id)}
    if stream == ADJUDICATION:
        queued = {}
    return _render(
        "note.html.j2",
        note=note,
        reviewer=reviewer,
        state=state,
        is_adjudication=stream == ADJUDICATION,
        pieces=list(_pieces(text, state)),
        marks=[
            _mark_view(desk, note, mark, queued.get(mark.mark), stream) for mark in state.in_order
        ],
        counts=counts_by_label(state.in_order),
        outcome=outcome,
        seen=desk.ledger.last(note.note_id, stream),
        progress=_progress(desk, reviewer),
        labels=LABELS,
        signs=SIGNS,
        pending=len(state.pending),
        left_on_purpose=sum(one.status is ReviewStatus.LEFT for one in state.in_order),
    )


def note_page(desk: ReviewDesk, note: QueuedNote, stream: str, reviewer: str) -> str:
    """Return the page of a note."""
    return _render(
        "page.html.j2",
        title=f"Note {note.place}",
        script=True,
        body=note_main(desk, note, stream, reviewer),
        batch=desk.view.batch,
        reviewer=reviewer,
    )


def summary_page(desk: ReviewDesk, reviewer: str) -> str:
    """Return the page on the whole review."""
    body = _render(
        "summary.html.j2",
        reviewer=reviewer,
        facts=facts_of(desk),
        progress=_progress(desk, reviewer),
        differing=desk.differing(),
        changed=desk.count_changed(),
        following=desk.next_note(reviewer),
        approvals=[(who, _show_time(at)) for who, at in desk.ledger.approvals()],
        batch=desk.view.batch,
        plot=curve_of(
            recall_by_minute(desk.queue(), desk.finals(), desk.view.merged, desk.events())
        ),
    )
    return _render(
        "page.html.j2",
        title="Review",
        script=False,
        body=body,
        batch=desk.view.batch,
        reviewer=reviewer,
    )


def login_page(*, is_wrong: bool) -> str:
    """Return the page that asks for a token."""
    body = _render("login.html.j2", is_wrong=is_wrong)
    return _render("page.html.j2", title="Token", script=False, body=body, batch="", reviewer="")


def facts_of(desk: ReviewDesk) -> list[tuple[str, str]]:
    """Return what the review has measured, as lines of a table."""
    decided, notes = desk.finals(), desk.queue()
    settled = sum(decided[one.note_id].marks is not None for one in notes)
    sampled = [one for one in notes if one.is_sampled]
    done = sum(decided[one.note_id].marks is not None for one in sampled)
    merged = desk.view.merged
    facts = [
        ("notes settled", f"{settled:,} of {len(notes):,}"),
        ("of the random sample", f"{done:,} of {len(sampled):,}"),
        ("recall, whole sample", str(recall(notes, decided, merged))),
        ("recall, blind part", str(recall(notes, decided, merged, blind=True))),
        ("recall, with suggestions", str(recall(notes, decided, merged, blind=False))),
        ("agreement of two reviewers", str(agreement(desk.ledger))),
        ("what a second reviewer adds", str(second_reading(desk.ledger, decided))),
    ]
    for (label, kind), found in sorted(precisions(desk.ledger).items()):
        facts.append((f"precision {label}, {kind}", str(found)))
    return facts


def style() -> str:
    """Return the style sheet."""
    return files("deid_review").joinpath("templates/style.css").read_text("utf-8")


def script() -> str:
    """Return the script that reads the keys."""
    return files("deid_review").joinpath("templates/review.js").read_text("utf-8")


def _mark_view(
    desk: ReviewDesk, note: QueuedNote, mark: ReviewMark, queued: QueuedMark | None, stream: str
) -> MarkView:
    own = desk.view.notes[note.note_id]
    count, shown = desk.mentions(own, mark)
    said = _list_said_by_streams(desk, note, mark) if stream == ADJUDICATION else ()
    return MarkView(mark, own.text[mark.start : mark.end], queued, count, shown, said)


def _list_said_by_streams(desk: ReviewDesk, note: QueuedNote, mark: ReviewMark) -> list[str]:
    said = []
    for stream in desk.ledger.streams(note.note_id):
        if stream == ADJUDICATION:
            continue
        found = [
            one.label
            for one in desk.ledger.state(note.note_id, stream).identifiers
            if (one.start, one.end) == (mark.start, mark.end)
        ]
        said.append(f"{stream}: {found[0] if found else 'nothing here'}")
    return said


def _pieces(text: str, state: NoteState) -> Iterator[MarkedPiece]:
    at = 0
    for mark in state.in_order:
        if mark.start < at:  # under a mark that is rejected or lies over it
            continue
        yield MarkedPiece(_words(text, at, mark.start))
        yield MarkedPiece(text=text[mark.start : mark.end], mark=mark)
        at = mark.end
    yield MarkedPiece(_words(text, at, len(text)))


@lru_cache(maxsize=1024)
def _words(text: str, start: int, end: int) -> str:
    """Return the words of a stretch, each an element with its place; most stay as they are from key
    to key.
    """
    found: list[str] = []
    at = start
    for word in WORD.finditer(text, start, end):
        first, last = word.span()
        found.append(escape(text[at:first]))
        place = f'data-start="{first}" data-end="{last}"'
        found.append(f'<span class="w" {place}>{escape(word.group())}</span>')
        at = last
    found.append(escape(text[at:end]))
    return "".join(found)


def _progress(desk: ReviewDesk, reviewer: str) -> dict[str, Any]:
    notes = desk.queue()
    done = sum(
        one.marks is not None or one.differs or reviewer in one.by for one in desk.finals().values()
    )
    pace = desk.pace(reviewer)
    left = pace.estimate_left(len(notes) - done) if done < len(notes) else None
    return {
        "notes": len(notes),
        "done": done,
        "found": pace.found,
        "pace": f"{pace.a_minute:.0f}" if pace.a_minute else "",
        "left": _minutes(left) if left is not None else "",
    }


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60)):,} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _show_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("deid_review"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)
