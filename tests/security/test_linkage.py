"""What docs/linkage.md says of dates and order."""

from __future__ import annotations

import pytest

from deid_assets.assets.release import _give_new_ids
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies.files import load_policy

pytestmark = pytest.mark.long

PARTS = (
    "week 12 of 2021",
    "2021-W12",
    "Q1 2021",
    "first quarter of 2021",
    "Christmas 2020",
    "Easter 2019",
)


@pytest.mark.parametrize("policy", ["research", "i2b2_style", "safe_harbor"])
def test_no_week_quarter_or_feast_stays_beside_moved_dates(policy):
    rules = pytest.importorskip("deid_rules")
    text = "Admitted 03/14/2021. " + " ".join(f"Seen {part}." for part in PARTS)
    note = Note("n", text, patient_id="p", lang="en")
    (found,) = rules.RulesDetector().detect([note])
    left = redact(
        note, DisjointSpans.of(note, found.spans), load_policy(policy), key=Key(bytes(range(32)))
    ).text

    assert [
        part for part in (*PARTS, "week 12", "W12", "Christmas", "Easter") if part in left
    ] == []


@pytest.mark.parametrize(("policy", "offsets"), [("research", 104), ("i2b2_style", 730)])
def test_there_are_as_many_offsets_as_the_page_says(policy, offsets):
    assert 2 * len(load_policy(policy).action(Phi.DATE).offsets()) == offsets


def test_one_known_date_gives_every_other_date_of_the_patient():
    """The attack that the page warns of works: nobody may believe that moved dates resist it."""
    shift, key = load_policy("research").action(Phi.DATE), Key(bytes(range(32)))
    note = Note("n", "-", patient_id="p", lang="en")

    def moved(text: str) -> str:
        return shift(text, Span(0, len(text), Phi.DATE), Context(note, key))

    weeks = [
        w for w in (*range(-52, 0), *range(1, 53)) if _plus("2021-01-06", w) == moved("2021-01-06")
    ]

    assert len(weeks) == 1
    assert _plus("2020-03-14", weeks[0]) == moved("2020-03-14")


def _plus(day: str, weeks: int) -> str:
    from datetime import date, timedelta

    return (date.fromisoformat(day) + timedelta(weeks=weeks)).isoformat()


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_order_of_notes_leaves_unless_it_is_shuffled_by_key(shipped, shuffle):
    if shuffle:
        shipped.configure(
            shipped.default_settings.replace(
                'release.require = "none"', 'release.require = "none"\nrelease.shuffle = true'
            )
        )
    opened = shipped.opened()
    notes = opened.files.read("redacted_notes_tag", shipped.batch, "notes")
    released = _give_new_ids(notes, opened)
    unshuffled = [
        opened.key.derive("released", "note", one).hex()[:20]
        for one in notes.column("note_id").to_pylist()
    ]
    ids = [one.removeprefix("n-") for one in released.column("id").to_pylist()]

    assert sorted(ids) == sorted(unshuffled)
    assert ids == (sorted(unshuffled) if shuffle else unshuffled)
    assert sorted(released.column("text").to_pylist()) == sorted(notes.column("text").to_pylist())
