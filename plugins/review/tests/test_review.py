"""The queue, the keys, several reviewers, and what a review measures."""

from __future__ import annotations

import itertools
import stat
import time

import pytest

from deid_assets import Note
from deid_assets.extending import InputError
from deid_review.desk import KeyPress, ReviewRefusedError
from deid_review.ledger import ADJUDICATION, StaleNoteError
from deid_review.measures import (
    agreement,
    choose_premarked,
    final_of,
    precisions,
    recall,
    recall_by_minute,
    second_reading,
    speed,
)
from deid_review.pages import summary_page
from deid_review.queueing import QueueOptions, make_queue
from deid_review.states import ReviewStatus
from deid_review.suggestions import Kind


def note_of(desk, note_id):
    return next(one for one in desk.queue() if one.note_id == note_id)


def press(desk, note, action, who="a.meier", *, stream=None, **more):
    stream = stream or who
    seen = more.pop("seen", desk.ledger.last(note.note_id, stream))
    return desk.press(note, stream, who, KeyPress(action, seen=seen, **more))


def decide_all(desk, note, who="a.meier", action="accept"):
    for mark in desk.state(note, who).pending:
        press(desk, note, action, who, mark=mark.mark, sure=True)
    return press(desk, note, "confirm", who)


def mark_of(desk, note, label, who="a.meier"):
    return next(one for one in desk.state(note, who).in_order if one.label == label)


def test_the_queue_has_what_is_doubtful_and_a_sample_and_no_text(desk):
    notes = desk.ledger.notes()
    assert {one.note_id for one in notes} >= {"n2", "n3", "n5"}
    assert sum(one.is_sampled for one in notes) == 3
    kinds = {
        (one.label, kind)
        for note in notes
        for one in desk.ledger.marks(note.note_id)
        for kind in one.kinds
    }
    assert ("HOSPITAL", Kind.NEAR_MISS) in kinds
    # the second detector never marks a record, so that its silence on one says nothing
    assert ("MRN", Kind.AGREED) in kinds
    content = b"".join(path.read_bytes() for path in desk.ledger.path.parent.iterdir())
    assert b"Zed" not in content
    assert b"4471902" not in content
    assert stat.S_IMODE(desk.ledger.path.stat().st_mode) == 0o600


def test_rare_names_come_before_what_many_share_and_the_same_key_draws_the_same(desk, settings):
    doubtful = [one for one in desk.ledger.notes() if not one.is_sampled]
    tops = [max(m.priority for m in desk.ledger.marks(one.note_id)) for one in doubtful]
    assert tops == sorted(tops, reverse=True)
    drawn = [one.note_id for one in desk.ledger.notes() if one.is_sampled]
    make_queue(desk.view, desk.ledger, settings.key(), QueueOptions(3, blind=0, double=0))
    assert [one.note_id for one in desk.ledger.notes() if one.is_sampled] == drawn


def test_one_key_decides_and_the_whole_note_is_confirmed_and_an_edit_undoes_it(desk):
    note = note_of(desk, "n1")
    with pytest.raises(ReviewRefusedError, match="pending"):
        press(desk, note, "confirm")
    assert decide_all(desk, note).is_done
    assert final_of(desk.ledger, note).by == ("a.meier",)
    name = mark_of(desk, note, "NAME")
    press(desk, note, "relabel", mark=name.mark, label="CITY")
    assert not desk.state(note, "a.meier").is_confirmed
    assert final_of(desk.ledger, note).marks is None
    press(desk, note, "undo")
    assert desk.state(note, "a.meier").is_confirmed
    who = [event.reviewer for _, event in desk.ledger.all_events()]
    assert set(who) == {"a.meier"}


def test_arrows_move_by_words_and_never_over_another_mark(desk):
    note = note_of(desk, "n1")
    text = desk.view.notes["n1"].text
    name = mark_of(desk, note, "NAME")
    press(desk, note, "move", mark=name.mark, edge="end", by=1)
    moved = mark_of(desk, note, "NAME")
    assert text[moved.start : moved.end] == "Zedamar was"
    press(desk, note, "move", mark=name.mark, edge="end", by=-1)
    assert mark_of(desk, note, "NAME").end == name.end
    date = mark_of(desk, note, "DATE")
    for _ in range(3):
        press(desk, note, "move", mark=date.mark, edge="start", by=1)
    with pytest.raises(ReviewRefusedError, match="in the way"):
        press(desk, note, "move", mark=date.mark, edge="start", by=1)


def test_keeping_what_could_leak_warns_first(desk):
    note = note_of(desk, "n1")
    name = mark_of(desk, note, "NAME")
    first = press(desk, note, "reject", mark=name.mark)
    assert first.asks
    assert "2 detectors" in first.said
    assert mark_of(desk, note, "NAME").status is ReviewStatus.PENDING
    assert not press(desk, note, "reject", mark=name.mark, sure=True).asks
    assert mark_of(desk, note, "NAME").status is ReviewStatus.REJECTED
    date = mark_of(desk, note, "DATE")
    press(desk, note, "leave", mark=date.mark, sure=True)
    assert mark_of(desk, note, "DATE").status is ReviewStatus.LEFT


def test_all_occurrences_are_counted_first_and_undone_at_once(desk):
    note = note_of(desk, "n2")
    name = mark_of(desk, note, "NAME")
    asked = press(desk, note, "accept-all", mark=name.mark)
    assert asked.asks
    assert "3 occurrences in 2 notes" in asked.said
    assert not desk.ledger.all_events()
    press(desk, note, "accept-all", mark=name.mark, sure=True)
    other = note_of(desk, "n1")
    assert mark_of(desk, other, "NAME").status is ReviewStatus.ACCEPTED
    decide_all(desk, other)
    press(desk, note, "undo")
    assert mark_of(desk, other, "NAME").status is ReviewStatus.PENDING
    assert not desk.state(other, "a.meier").is_confirmed


def test_what_was_added_can_be_added_wherever_it_stands(desk):
    note = note_of(desk, "n2")
    text = desk.view.notes["n2"].text
    start = text.index("Elmsford")
    press(desk, note, "add", start=start, end=start + 8, label="CITY")
    added = mark_of(desk, note, "CITY")
    assert "1 occurrences in 1 notes" in press(desk, note, "accept-all", mark=added.mark).said
    press(desk, note, "accept-all", mark=added.mark, sure=True)
    assert mark_of(desk, note_of(desk, "n5"), "CITY").status is ReviewStatus.ACCEPTED
    press(desk, note_of(desk, "n5"), "reject", mark=mark_of(desk, note_of(desk, "n5"), "CITY").mark)
    assert not any(m.label == "CITY" for m in desk.state(note_of(desk, "n5"), "a.meier").in_order)


def test_two_windows_of_one_reviewer_lose_nothing(desk):
    note = note_of(desk, "n1")
    seen = desk.ledger.last("n1", "a.meier")
    press(desk, note, "accept", mark=1, seen=seen)
    with pytest.raises(StaleNoteError):
        press(desk, note, "reject", mark=1, seen=seen, sure=True)
    assert len(desk.ledger.all_events()) == 1


def test_two_reviewers_on_one_note_keep_their_own_and_are_adjudicated(desk):
    note = note_of(desk, "n1")
    decide_all(desk, note, "a.meier")
    press(desk, note, "relabel", "b.kim", mark=mark_of(desk, note, "NAME").mark, label="USERNAME")
    decide_all(desk, note, "b.kim")
    assert final_of(desk.ledger, note).differs
    assert desk.differing() == [note]
    state = desk.state(note, ADJUDICATION)
    assert {one.label for one in state.pending} == {"NAME", "USERNAME"}
    assert agreement(desk.ledger).value == pytest.approx(4 / 6)
    for mark in state.pending:
        action = "accept" if mark.label == "NAME" else "reject"
        press(desk, note, action, "c.roe", stream=ADJUDICATION, mark=mark.mark, sure=True)
    press(desk, note, "confirm", "c.roe", stream=ADJUDICATION)
    marks = final_of(desk.ledger, note).marks
    assert [one.label for one in marks] == ["NAME", "DATE", "MRN"]
    with pytest.raises(ReviewRefusedError, match="adjudicated"):
        press(desk, note, "undo", "a.meier")


def test_what_a_second_reviewer_adds_is_measured_by_the_minute(desk, monkeypatch):
    note, clock = note_of(desk, "n1"), itertools.count(1_000)
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    assert str(second_reading(desk.ledger, desk.finals())) == "not measured"
    name = mark_of(desk, note, "NAME")
    press(desk, note, "reject", "a.meier", mark=name.mark, sure=True)
    decide_all(desk, note, "a.meier")
    decide_all(desk, note, "b.kim")
    # two differ, and nobody decided between them
    assert second_reading(desk.ledger, desk.finals()).first.of == 0
    for mark in desk.state(note, ADJUDICATION).pending:
        press(desk, note, "accept", "c.roe", stream=ADJUDICATION, mark=mark.mark, sure=True)
    press(desk, note, "confirm", "c.roe", stream=ADJUDICATION)

    found = second_reading(desk.ledger, desk.finals())

    assert (found.first.hits, found.first.of, found.added) == (2, 3, 1)
    own = [one.at for _, one in desk.ledger.all_events() if one.reviewer == "b.kim"]
    assert found.seconds == own[-1] - own[0] > 0
    assert f"added 1 in {found.seconds / 60:.1f} min" in str(found)


def test_what_the_adjudicator_alone_added_is_not_credited_to_the_second_reviewer(desk):
    note = note_of(desk, "n1")
    name = mark_of(desk, note, "NAME")
    press(desk, note, "reject", "a.meier", mark=name.mark, sure=True)
    decide_all(desk, note, "a.meier")
    decide_all(desk, note, "b.kim")
    for mark in desk.state(note, ADJUDICATION).pending:
        press(desk, note, "accept", "c.roe", stream=ADJUDICATION, mark=mark.mark, sure=True)
    start = desk.view.notes["n1"].text.index("Lee")
    place = {"start": start, "end": start + 3}
    press(desk, note, "add", "c.roe", stream=ADJUDICATION, label="NAME", **place)
    press(desk, note, "confirm", "c.roe", stream=ADJUDICATION)

    found = second_reading(desk.ledger, desk.finals())

    assert (found.first.hits, found.first.of) == (2, 4)
    assert (found.added, found.missed) == (1, 1)
    assert str(found).endswith("; neither had 1")


def test_nobody_settles_a_note_by_deciding_between_reviewers_who_do_not_differ(desk):
    note = note_of(desk, "n1")
    for _ in range(2):
        with pytest.raises(ReviewRefusedError, match="no two reviewers differ"):
            press(desk, note, "confirm", "c.roe", stream=ADJUDICATION)
        decide_all(desk, note, "a.meier")
    assert [one.label for one in final_of(desk.ledger, note).marks] == ["NAME", "DATE", "MRN"]


def test_a_server_shows_no_note_of_a_batch_that_was_erased_meanwhile(desk):
    note = note_of(desk, "n1")
    desk.ledger.path.unlink()
    with pytest.raises(InputError, match="withdrawn or erased"):
        desk.note_at(note.place)


def test_a_mark_of_blanks_alone_is_refused(desk):
    note = note_of(desk, "n2")
    at = desk.view.notes["n2"].text.index(" ")
    with pytest.raises(ReviewRefusedError, match="no place in the note"):
        press(desk, note, "add", start=at, end=at + 1, label="NAME")


def test_others_are_offered_other_notes_and_two_see_one_that_is_double(settings, batch, desk_of):
    desk = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=0.5))
    first = desk.next_note("a.meier")
    desk.ledger.lease(first.note_id, "a.meier")
    assert desk.next_note("b.kim") != first or first.is_double
    double = next(one for one in desk.queue() if one.is_double)
    decide_all(desk, double, "a.meier")
    assert final_of(desk.ledger, double).marks is None
    decide_all(desk, double, "b.kim")
    assert final_of(desk.ledger, double).marks is not None
    desk.ledger.close()


def test_recall_is_of_the_sample_with_its_interval_and_blind_notes_show_nothing(
    settings, batch, desk_of
):
    desk = desk_of(settings, batch, options=QueueOptions(6, blind=0.34, double=0))
    blind = [one for one in desk.queue() if one.is_blind]
    assert len(blind) == 2
    assert not desk.state(blind[0], "a.meier").in_order
    for note in desk.queue():
        decide_all(desk, note)
    found = recall(desk.queue(), desk.finals(), desk.view.merged)
    wards = sum(
        one.label == "HOSPITAL"
        for n in desk.queue()
        for one in desk.state(n, "a.meier").identifiers
    )
    assert found.of - found.hits == wards
    assert found.bounds[0] < found.value < found.bounds[1]
    plotted = recall_by_minute(
        desk.queue(), desk.finals(), desk.view.merged, desk.ledger.all_events()
    )
    assert plotted[-1].value == found.value
    assert [one.minutes for one in plotted] == sorted(one.minutes for one in plotted)
    desk.approve("a.meier")
    assert [who for who, _ in desk.ledger.approvals()] == ["a.meier"]
    press(desk, desk.queue()[0], "undo")
    assert desk.ledger.approvals() == []
    with pytest.raises(ReviewRefusedError, match="not settled"):
        desk.approve("a.meier")
    desk.ledger.close()


def test_nothing_is_pre_marked_below_a_measured_precision(settings, batch, desk_of, desk):
    assert not any(
        one.status is ReviewStatus.PREMARKED
        for note in desk.queue()
        for one in desk.state(note, "a.meier").in_order
    )
    note = note_of(desk, "n1")
    for mark in desk.state(note, "a.meier").pending:
        press(desk, note, "accept", mark=mark.mark)
    measured = precisions(desk.ledger)
    assert choose_premarked(measured, 0.95) == frozenset()
    lax = desk_of(settings, batch, least=0.1)
    marks = lax.state(note_of(lax, "n3"), "a.meier").in_order
    assert {one.label for one in marks if one.status is ReviewStatus.PREMARKED} == {"NAME", "MRN"}
    press(
        lax, note_of(lax, "n3"), "accept", mark=next(m for m in marks if m.label == "HOSPITAL").mark
    )
    press(lax, note_of(lax, "n3"), "confirm")
    assert {m.status for m in lax.state(note_of(lax, "n3"), "a.meier").in_order} == {
        ReviewStatus.ACCEPTED
    }
    lax.ledger.close()


def test_a_note_that_changed_is_left_out_and_its_decisions_are_void(
    settings, batch, desk_of, desk, store_again
):
    decide_all(desk, note_of(desk, "n1"))
    decide_all(desk, note_of(desk, "n2"))
    changed = [
        Note(one.note_id, one.text + (" Zednew." if one.note_id == "n1" else ""), one.patient_id)
        for one in desk.view.notes.values()
    ]
    store_again(batch, changed)
    again = desk_of(settings, batch)
    assert again.count_changed() == 1
    assert "n1" not in {one.note_id for one in again.queue()}
    counts = make_queue(
        again.view, again.ledger, settings.key(), QueueOptions(3, blind=0, double=0)
    )
    assert (counts.changed, counts.kept) == (1, 1)
    assert again.count_changed() == 0
    assert again.state(note_of(again, "n1"), "a.meier").pending
    assert again.state(note_of(again, "n2"), "a.meier").is_confirmed
    again.ledger.close()


def test_a_full_disk_stores_nothing_of_a_key_and_says_so(desk):
    note = note_of(desk, "n1")
    press(desk, note, "accept", mark=1)
    pages = desk.ledger._connection.execute("PRAGMA page_count").fetchone()[0]
    desk.ledger._connection.execute(f"PRAGMA max_page_count = {pages}")

    def fill():
        for _ in range(2_000):
            press(desk, note, "accept", mark=1)

    with pytest.raises(InputError, match="no room on the disk"):
        fill()
    before = len(desk.ledger.all_events())
    with pytest.raises(InputError, match="no room on the disk"):
        desk.press(
            note,
            "a.meier",
            "a.meier",
            KeyPress("accept", mark=1, seen=desk.ledger.last("n1", "a.meier")),
        )
    assert len(desk.ledger.all_events()) == before
    desk.ledger._connection.execute("PRAGMA max_page_count = 100000")
    press(desk, note, "accept", mark=2)
    assert len(desk.ledger.all_events()) == before + 1


def test_speed_leaves_pauses_out(desk):
    note = note_of(desk, "n1")
    decide_all(desk, note)
    events = [event for _, event in desk.ledger.all_events()]
    pace = speed(events)
    assert pace.found == 3
    assert pace.confirmed == 1
    assert pace.seconds < 60


def test_the_rest_of_a_note_is_accepted_but_not_what_nobody_redacts(desk):
    note = note_of(desk, "n2")
    done = press(desk, note, "accept-rest")
    assert "3 marks accepted at once, 0 of them doubtful; 1 that nobody redacts" in done.said
    assert [one.label for one in desk.state(note, "a.meier").pending] == ["HOSPITAL"]
    assert precisions(desk.ledger) == {}
    assert desk.pace("a.meier").found == 3
    with pytest.raises(ReviewRefusedError, match="nothing that is redacted is pending"):
        press(desk, note, "accept-rest")
    press(desk, note, "undo")
    assert (desk.pace("a.meier").found, len(desk.state(note, "a.meier").pending)) == (0, 4)


def test_notes_of_a_patient_follow_one_another(settings, batch, store_again, desk_of):
    texts = [
        ("m1", "p1", "ward A with 1234567 and Zedamar"),
        ("m2", "p2", "Zedquill of ward C"),
        ("m3", "p1", "ward B"),
        ("m4", "p3", "Zedfinch of ward D"),
    ]
    store_again(batch, [Note(i, text, patient, "en") for i, patient, text in texts])
    desk = desk_of(settings, batch, options=QueueOptions(0, blind=0, double=0))
    order = [one.note_id for one in desk.queue()]
    desk.ledger.close()
    assert sorted(order) == ["m1", "m2", "m3", "m4"]
    assert abs(order.index("m1") - order.index("m3")) == 1


def test_recall_is_drawn_by_minutes_with_its_interval(desk):
    assert "<svg" not in summary_page(desk, "a.meier")
    for note in desk.queue():
        decide_all(desk, note)
    page = summary_page(desk, "a.meier")
    found = recall_by_minute(desk.queue(), desk.finals(), desk.view.merged, desk.events())
    assert page.count("<circle") == len(found) == 3
    assert f"{found[-1].value:.3f} [{found[-1].low:.3f}, {found[-1].high:.3f}]" in page
    whole = recall(desk.queue(), desk.finals(), desk.view.merged)
    assert (found[-1].value, found[-1].low) == (whole.value, whole.bounds[0])


def test_what_another_process_did_or_undid_is_seen(settings, batch, desk, desk_of):
    other = desk_of(settings, batch)
    note = note_of(desk, "n1")
    decide_all(other, note)
    assert desk.finals()["n1"].by == ("a.meier",)
    press(other, note, "undo")
    assert desk.finals()["n1"].by == ()
    assert desk.pace("a.meier").confirmed == 0
    other.ledger.close()
