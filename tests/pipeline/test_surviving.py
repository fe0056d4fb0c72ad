"""A known value is found wherever it is readable in the text that redaction kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Edit, Policy, Redacted, redact
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.pipeline.redacting import survival_by_note
from deid_assets.quality import State
from deid_assets.quality.text_checks import survival_verdict
from deid_assets.quality.verdict import Verdict
from deid_assets.testing import parse_marked

KEY = Key(bytes(range(32)))


class Audit(NamedTuple):
    note: Note
    known: SpanSet
    edits: Sequence[Edit]


def survivors(audits: Sequence[Audit]) -> Verdict:
    found, values = survival_by_note(audits)
    return survival_verdict(found, values=values)


def replaced(note: Note, spans: Iterable[Span], replacement: str = "***") -> Redacted:
    return redact(
        note, DisjointSpans.of(note, spans), Policy("one", lambda *_: replacement), key=KEY
    )


def audit(
    text: str, *, missed: Sequence[str] = (), patient_id: str | None = None, note_id: str = "n"
) -> Audit:
    """An audit in which every marked span was redacted but those that read as in ``missed``."""
    note, gold = parse_marked(text, note_id=note_id)
    note = Note(note_id, note.text, patient_id)
    covered = [span for span in gold if note.text[span.start : span.end] not in missed]
    return Audit(note, gold, replaced(note, covered).edits)


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        ("<NAME>Jane Lee</NAME> was seen. JANE  lee left.", ()),
        ("<NAME>Jane Lee</NAME> was seen. Jane-Lee left.", ()),
        ("<NAME>Smith</NAME> was seen. Smith's wife left.", ()),
        ("<NAME>Weiß</NAME> was seen. WEISS left.", ()),
        ("<EMAIL>a.b@example.org</EMAIL> or a.b@example.org", ()),
        ("<PHONE>617-555-0143</PHONE> or 6175550143", ()),
        ("<PHONE>617-555-0143</PHONE> or +1 (617) 555 0143", ()),
        ("<PHONE>617-555-0143</PHONE> or 617-555-0143", ()),
        ("<MRN>AB12345</MRN> or ab12345", ()),
        ("<DATE>3 May 2021</DATE> or 3 May 2021", ()),
        ("<NAME>Jane Lee</NAME> was seen.", ("Jane Lee",)),
    ],
)
def test_a_known_value_in_kept_text_survives(text: str, missed: tuple[str, ...]) -> None:
    verdict = survivors([audit(text, missed=missed)])

    assert not verdict.passed
    assert (verdict.counts["missed"], verdict.counts["notes_with_missed"]) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "<NAME>Jane Lee</NAME> was seen.",
        "<NAME>Li</NAME> was seen. Li is lithium.",
        "<NAME>Smith</NAME> was seen at the smithy, by Smithson.",
        "<NAME>Jane Lee</NAME> was seen by Jane, then Lee Janes.",
        "<AGE>1234</AGE> 1234",
        "<COUNTRY>Germany</COUNTRY>, also Germany",
        "<DATE>Monday</DATE>, every Monday",
        "<DATE>2021</DATE> and 2021",
        "<SEX>female</SEX> female",
        "<PHONE>617-555-0143</PHONE> or 617-555-0144",
        "<ID>3</ID> tablets, 3 times",
        "<NAME>Will</NAME> will come",
    ],
)
def test_short_shared_and_merely_similar_values_raise_no_alarm(text: str) -> None:
    verdict = survivors([audit(text)])

    assert verdict.state is (State.PASSED if verdict.counts["values"] else State.NOT_APPLICABLE)
    assert verdict.counts["missed"] == 0


def test_doubtful_survivals_are_counted_apart() -> None:
    verdict = survivors([audit("<NAME>Will</NAME> and <NAME>Jane Smith</NAME>: will Smith come?")])

    assert verdict.passed
    assert (verdict.counts["lower_case"], verdict.counts["name_parts"]) == (1, 1)


def test_values_reach_all_notes_of_their_patient_and_no_other_patient() -> None:
    first = audit("<NAME>Jane Lee</NAME>", patient_id="p1", note_id="a")
    same = audit("Jane Lee came back.", patient_id="p1", note_id="b")
    other = audit("Jane Lee, a neighbour.", patient_id="p2", note_id="p1")
    unknown = audit("Jane Lee, a neighbour.", note_id="p1")

    verdict = survivors([first, same, other, unknown])

    assert verdict.counts["missed"] == 1
    assert survivors([first, other]).passed


def test_a_surrogate_equal_to_a_value_is_no_survivor() -> None:
    note, gold = parse_marked("<NAME>Jane Lee</NAME> was seen.")
    redacted = replaced(note, gold, "jane  lee")

    assert survivors([Audit(note, gold, redacted.edits)]).passed


def test_the_verdict_on_survivors_quotes_nothing() -> None:
    verdict = survivors([audit("<NAME>Xcanary Ycanary</NAME> Xcanary Ycanary")])

    assert "canary" not in str(verdict).casefold()
