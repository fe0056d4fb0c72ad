"""What becomes of a year alone where a policy keeps years."""

from __future__ import annotations

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans
from deid_assets.policies.files import load_policy
from deid_rules import RulesDetector


def test_safe_harbor_keeps_years_but_that_of_a_birth_long_ago() -> None:
    note = Note("n", "Born in 1919, widowed 1987, MI in 2015; her son was born in 1955.", lang="en")
    (spans,) = RulesDetector().detect([note])
    disjoint = DisjointSpans(spans.note_id, spans.digest, spans.spans)
    released = redact(note, disjoint, load_policy("safe_harbor"), key=Key(b"k" * 32))
    assert released.text == "Born in [DATE], widowed 1987, MI in 2015; her son was born in 1955."


def test_a_year_alone_says_so_in_its_native_label() -> None:
    note = Note("n", "CABG 2009, seen 3/5/2021.", lang="en")
    (spans,) = RulesDetector(profile="i2b2").detect([note])
    assert [(note.text[span.start : span.end], span.native_label) for span in spans] == [
        ("2009", "year"),
        ("3/5/2021", ""),
    ]
