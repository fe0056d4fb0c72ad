"""What was confirmed is what is kept: nothing that the page showed is lost or comes back."""

import time

import pytest

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import InputError
from deid_review import database
from deid_review.desk import KeyPress, ReviewDesk, ReviewRefusedError
from deid_review.exchange import gold_of
from deid_review.ledger import ADJUDICATION, Ledger, StaleNoteError
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


def test_no_key_is_answered_between_reading_and_filling(settings, whole, monkeypatch):
    note = whole.queue()[-1]
    monkeypatch.setattr(database, "_BUSY_S", 0.05)
    server, read = Ledger(whole.ledger.path), whole.ledger.all_events
    entry = DecisionEntry(note.note_id, ReviewAction.CONFIRM)

    def read_while_somebody_presses(**given):
        found = read(**given)
        with pytest.raises(InputError, match="another process holds it; do it again"):
            server.record([entry], stream=WHO, reviewer=WHO)
        return found

    monkeypatch.setattr(whole.ledger, "all_events", read_while_somebody_presses)
    make_queue(whole.view, whole.ledger, settings.key(), QueueOptions(1, blind=0, double=0))
    assert read() == []
    server.close()


@pytest.mark.parametrize("action", ["confirm", "undo", "add", "accept", "accept-all"])
def test_a_key_on_a_page_of_an_older_queue_is_refused(settings, whole, action):
    note = next(one for one in whole.queue() if one.note_id == "n1")
    if action == "undo":
        press(whole, note, "accept", mark=1)
    if action == "confirm":
        for mark in whole.state(note, WHO).pending:
            press(whole, note, "accept", mark=mark.mark)
    seen = whole.ledger.last("n1", WHO)
    make_queue(whole.view, whole.ledger, settings.key(), QueueOptions(6, blind=0, double=0))
    before = whole.ledger.all_events()
    key = KeyPress(action, mark=1, start=8, end=11, label="NAME", sure=True, seen=seen)
    note = next(one for one in whole.queue() if one.note_id == "n1")
    with pytest.raises(StaleNoteError):
        whole.press(note, WHO, WHO, key)
    assert whole.ledger.all_events() == before


def test_what_a_page_has_seen_is_of_one_note_and_exact_in_its_script(whole):
    seen = [whole.ledger.last(note.note_id, WHO) for note in whole.queue()]
    assert len(set(seen)) == len(seen)  # another note may have its place in the next queue
    assert max(seen) < 2**52


def test_undo_on_an_old_page_takes_nothing_back(whole):
    note = next(one for one in whole.queue() if one.note_id == "n1")
    press(whole, note, "accept", mark=1)
    press(whole, note, "accept", mark=2)
    seen = whole.ledger.last("n1", WHO)
    press(whole, note, "undo")
    with pytest.raises(StaleNoteError):
        whole.press(note, WHO, WHO, KeyPress("undo", seen=seen))
    assert [event.mark for _, event in whole.ledger.all_events()] == [1]


def test_a_note_confirmed_before_pre_marks_were_kept_is_open_and_can_be_settled(
    settings, batch, desk_of, whole
):
    desk, note = premarked_desk(settings, batch, desk_of, whole)
    for mark in desk.state(note, WHO).pending:
        press(desk, note, "accept", mark=mark.mark)
    old = DecisionEntry(note.note_id, ReviewAction.CONFIRM)
    desk.ledger.record([old], stream=WHO, reviewer=WHO)
    assert any(one.status is ReviewStatus.PREMARKED for one in desk.state(note, WHO).in_order)
    assert not desk.state(note, WHO).is_confirmed  # on the page as in what is exported
    assert desk.finals()[note.note_id].marks is None
    press(desk, note, "confirm")
    assert len(desk.finals()[note.note_id].marks) == len(desk.state(note, WHO).in_order)
    desk.ledger.close()


def test_what_was_adjudicated_is_not_undone_from_another_note(settings, batch, desk_of):
    desk = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=1.0))
    first, second = (note for note in desk.queue() if note.note_id in {"n1", "n2"})
    press(desk, first, "accept-all", mark=1, sure=True)
    decide(desk, second)
    name, *others = desk.state(second, "b.kim").in_order
    press(desk, second, "reject", mark=name.mark, sure=True, who="b.kim")
    for mark in others:
        press(desk, second, "accept", mark=mark.mark, who="b.kim")
    press(desk, second, "confirm", who="b.kim")
    for mark in desk.state(second, ADJUDICATION).pending:
        press(desk, second, "reject", mark=mark.mark, sure=True, who=ADJUDICATION)
    press(desk, second, "confirm", who=ADJUDICATION)
    decided = desk.finals()["n2"]
    assert decided.marks
    with pytest.raises(ReviewRefusedError, match="adjudicated"):
        press(desk, first, "undo")
    assert desk.finals()["n2"] == decided
    desk.ledger.close()


@pytest.mark.parametrize("what", ["queue", "undo"])
def test_an_approval_is_void_whatever_the_clock_says(settings, whole, monkeypatch, what):
    for note in whole.queue():
        decide(whole, note)
    whole.approve(WHO)
    now, now_ns = time.time(), time.time_ns()
    monkeypatch.setattr(time, "time", lambda: now - 3600)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns - 3600 * 10**9)
    if what == "undo":
        press(whole, whole.queue()[0], "undo")
    else:
        make_queue(whole.view, whole.ledger, settings.key(), QueueOptions(6, blind=0, double=0))
    assert whole.ledger.approvals() == []


def test_approvals_of_an_older_file_are_read(settings, whole):
    for note in whole.queue():
        decide(whole, note)
    with whole.ledger.writing() as held:
        held.execute("DROP TABLE approvals")
        held.execute("CREATE TABLE approvals (reviewer TEXT, at REAL, last INTEGER, notes INTEGER)")
        last = whole.ledger.version()[0]
        held.execute("INSERT INTO approvals VALUES (?, ?, ?, 6)", (WHO, time.time(), last))
    again = Ledger(whole.ledger.path)
    assert [who for who, _ in again.approvals()] == [WHO]
    again.approve("b.kim", 6)
    assert [who for who, _ in again.approvals()] == [WHO, "b.kim"]
    make_queue(whole.view, again, settings.key(), QueueOptions(6, blind=0, double=0))
    assert again.approvals() == []
    again.close()


def test_a_batch_is_not_approved_while_somebody_decides(whole, monkeypatch):
    for note in whole.queue():
        decide(whole, note)
    monkeypatch.setattr(database, "_BUSY_S", 0.05)
    other, finals = Ledger(whole.ledger.path), whole.finals
    entry = DecisionEntry("n1", ReviewAction.REJECT, 1)

    def look_while_somebody_presses():
        found = finals()
        with pytest.raises(InputError, match="do it again"):
            other.record([entry], stream=WHO, reviewer=WHO)
        return found

    monkeypatch.setattr(whole, "finals", look_while_somebody_presses)
    whole.approve(WHO)
    assert [who for who, _ in whole.ledger.approvals()] == [WHO]
    other.close()


def test_spans_are_found_by_place_as_by_looking_at_each():
    text = "word " * 400
    note = Note("n", text)
    spans = [
        Span(start, min(start + 3 + start % 17, len(text)), Phi.NAME, 0.9, "x")
        for start in range(0, len(text) - 20, 3)
    ]
    spans.append(Span(0, len(text), Phi.HOSPITAL, 0.5, "x"))  # over all of them
    spans.sort()
    found = SpansByPlace(spans)
    for asked in spans[::7]:
        assert found.overlapping(asked) == [one for one in spans if one.overlaps(asked)]
    merged = SpanSet.of(note, [Span(at, at + 4, Phi.NAME, 0.9, "x") for at in range(0, 2000, 5)])
    said = {"x": merged, "y": SpanSet.of(note, spans)}
    assert len(suggestions_of(note, merged, said, labels_of({"x": {"n": merged}}))) >= 400


def test_the_time_for_a_note_grows_with_its_spans_alone():
    """Work is counted, not timed: how many spans are looked at for each that is found."""
    count = 4096
    text = "Jane Lee x " * count
    looked = []

    class Counted(list):
        def __getitem__(self, at):
            looked.append(at)
            return super().__getitem__(at)

    small = [Span(11 * at, 11 * at + 8, Phi.NAME, 0.9, "x") for at in range(count)]
    found = SpansByPlace([Span(0, len(text), Phi.HOSPITAL, 0.5, "x"), *small])
    found._reaches = [Counted(level) for level in found._reaches]
    assert all(len(found.overlapping(span)) == 2 for span in small)
    assert len(looked) < 100 * count  # 16 million where each is compared with each
    assert SpansByPlace([]).overlapping(small[0]) == []
