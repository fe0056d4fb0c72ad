"""What was confirmed is what is kept: nothing that the page showed is lost or comes back."""

import pytest

from deid_assets import Note, Phi, Span, SpanSet
from deid_review.desk import KeyPress, ReviewDesk, ReviewRefusedError
from deid_review.exchange import gold_of
from deid_review.ledger import StaleNoteError
from deid_review.measures import precisions, recall
from deid_review.queueing import QueueOptions, make_queue
from deid_review.records import DecisionEntry
from deid_review.states import ReviewAction, ReviewStatus
from deid_review.suggestions import Kind, SpansByPlace, labels_of, suggestions_of

WHO = "a.meier"


def press(desk, note, action, *, who=WHO, **given):
    seen = desk.ledger.last(note.note_id, who)
    return desk.press(note, who, who, KeyPress(action, seen=seen, **given))


def decide(desk, note, *, who=WHO):
    """Accept every suggestion of a note, and confirm it."""
    for mark in desk.state(note, who).pending:
        press(desk, note, "accept", mark=mark.mark, who=who)
    press(desk, note, "confirm", who=who)


@pytest.fixture
def whole(settings, batch, desk_of):
    """A desk whose queue has every note, each of them sampled."""
    found = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=0), least=0.2)
    yield found
    found.ledger.close()


def premarked_desk(settings, batch, desk_of, whole):
    """A desk where names and days are pre-marked, and a note that nobody has touched."""
    notes = whole.queue()
    for note in notes[:-1]:
        decide(whole, note)
    again = desk_of(settings, batch, least=0.2)
    (left,) = [note for note in again.queue() if not again.ledger.streams(note.note_id)]
    return again, left


def test_what_was_pre_marked_when_a_note_was_confirmed_is_an_annotation(
    settings, batch, desk_of, whole
):
    desk, note = premarked_desk(settings, batch, desk_of, whole)
    shown = desk.state(note, WHO).in_order
    premarked = [one for one in shown if one.status is ReviewStatus.PREMARKED]
    before = precisions(desk.ledger)
    decide(desk, note)
    places = {(one.start, one.end) for one in shown}
    assert {(one.start, one.end) for one in desk.finals()[note.note_id].marks} == places
    assert {(one.start, one.end) for one in gold_of(desk)[note.note_id].spans} == places
    strict = desk_of(settings, batch, least=1.0)  # nothing is pre-marked any more
    assert strict.state(note, WHO).is_confirmed
    assert not strict.state(note, WHO).pending
    after = precisions(desk.ledger)
    pressed = len(shown) - len(premarked)
    gained = sum(one.of for one in after.values()) - sum(one.of for one in before.values())
    assert premarked or not places
    assert gained <= pressed * len(Kind)
    value = desk.ledger.marks(note.note_id)
    assert all(desk.ledger.count_accepted(one.value, WHO) for one in value)
    desk.ledger.close()
    strict.ledger.close()


def test_undo_takes_back_what_a_confirmation_took(settings, batch, desk_of, whole):
    desk, note = premarked_desk(settings, batch, desk_of, whole)
    before = [one.status for one in desk.state(note, WHO).in_order]
    decided = [one.mark for one in desk.state(note, WHO).pending]
    decide(desk, note)
    press(desk, note, "undo")
    for _ in decided:
        press(desk, note, "undo")
    assert [one.status for one in desk.state(note, WHO).in_order] == before
    desk.ledger.close()


def test_a_confirmation_never_stands_over_a_pending_mark(whole):
    first, second = (note for note in whole.queue() if note.note_id in {"n1", "n2"})
    name = next(one for one in whole.state(first, WHO).in_order if one.label == "NAME")
    press(whole, first, "accept-all", mark=name.mark, sure=True)
    decide(whole, second)
    press(whole, first, "undo")
    assert not whole.state(second, WHO).is_confirmed
    for _ in range(6):  # whatever is taken back after it
        try:
            press(whole, second, "undo")
        except ReviewRefusedError:
            break
        state = whole.state(second, WHO)
        assert not (state.is_confirmed and state.pending)
    assert whole.finals()[second.note_id].marks is None


def test_no_queue_and_no_open_one_is_approved_and_a_new_queue_makes_it_void(
    settings, batch, desk_of
):
    desk = desk_of(settings, batch, options=QueueOptions(2, blind=0, double=0))
    for note in desk.queue():
        decide(desk, note)
    desk.approve(WHO)
    assert [who for who, _ in desk.ledger.approvals()] == [WHO]
    make_queue(desk.view, desk.ledger, settings.key(), QueueOptions(6, blind=0, double=0))
    assert desk.ledger.approvals() == []
    with pytest.raises(ReviewRefusedError, match="not settled"):
        desk.approve(WHO)
    with desk.ledger.writing() as held:
        held.execute("DELETE FROM marks")
        held.execute("DELETE FROM notes")
    empty = ReviewDesk(desk.view, desk.ledger, settings.key())
    with pytest.raises(ReviewRefusedError, match="no queue"):
        empty.approve(WHO)
    desk.ledger.close()


@pytest.mark.parametrize("sizes", [(1, 6), (2, 4), (6, 2), (3, 6)])
def test_the_sample_is_that_of_the_last_draw(settings, batch, desk_of, sizes):
    first, then = sizes
    desk = desk_of(settings, batch, options=QueueOptions(first, blind=0, double=0))
    for note in desk.queue():
        decide(desk, note)
    counts = make_queue(
        desk.view, desk.ledger, settings.key(), QueueOptions(then, blind=0, double=0)
    )
    sampled = {note.note_id for note in desk.ledger.notes() if note.is_sampled}
    assert len(sampled) == counts.sampled == then
    for note in desk.queue():
        if not desk.state(note, WHO).is_confirmed:
            decide(desk, note)
    measured = recall(desk.queue(), desk.finals(), desk.view.merged)
    every = [desk.finals()[note_id].marks for note_id in sampled]
    assert measured.of == sum(map(len, every))
    desk.ledger.close()


def test_a_key_on_a_note_that_left_the_queue_is_not_answered_as_stored(whole):
    note = whole.queue()[0]
    with whole.ledger.writing() as held:
        held.execute("DELETE FROM marks WHERE note_id = ?", (note.note_id,))
        held.execute("DELETE FROM notes WHERE note_id = ?", (note.note_id,))
    entry = DecisionEntry(note.note_id, ReviewAction.CONFIRM)
    with pytest.raises(StaleNoteError, match="no more in it"):
        whole.ledger.record([entry], stream=WHO, reviewer=WHO)


def test_a_key_between_reading_and_filling_is_kept(settings, whole, monkeypatch):
    note = whole.queue()[-1]
    ledger, read = whole.ledger, whole.ledger.all_events
    pressed = []

    def read_then_press(**given):
        found = read(**given)
        if not pressed:
            pressed.append(note.note_id)
            entry = DecisionEntry(note.note_id, ReviewAction.CONFIRM)
            ledger.record([entry], stream=WHO, reviewer=WHO)
        return found

    monkeypatch.setattr(ledger, "all_events", read_then_press)
    counts = make_queue(whole.view, ledger, settings.key(), QueueOptions(1, blind=0, double=0))
    assert counts.kept == 1
    assert [note_id for note_id, _ in read()] == [note.note_id]


def test_spans_are_found_by_place_as_by_looking_at_each():
    text = "word " * 400
    note = Note("n", text)
    spans = [
        Span(start, min(start + 3 + start % 17, len(text)), Phi.NAME, 0.9, "x")
        for start in range(0, len(text) - 20, 3)
    ]
    found = SpansByPlace(spans)
    for asked in spans[::7]:
        assert found.overlapping(asked) == [one for one in spans if one.overlaps(asked)]
    merged = SpanSet.of(note, [Span(at, at + 4, Phi.NAME, 0.9, "x") for at in range(0, 2000, 5)])
    said = {"x": merged, "y": SpanSet.of(note, spans)}
    assert len(suggestions_of(note, merged, said, labels_of({"x": {"n": merged}}))) >= 400
