"""What is rejected for good becomes a signed rule, and is suggested no more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from deid_assets import Phi, Span
from deid_assets.store.denials import Denials
from deid_assets.store.files import StoreFiles
from deid_review.commands import app
from deid_review.desk import KeyPress, ReviewRefusedError
from deid_review.false_alarms import find_rejected_values
from deid_review.ledger import ADJUDICATION
from deid_review.measures import precisions
from deid_review.queueing import QueueOptions, make_queue
from deid_review.suggestions import Kind


@pytest.fixture
def whole(settings, batch, desk_of):
    """A desk with every note in the sample."""
    found = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=0))
    yield found
    found.ledger.close()


def press(desk, note, action, who="a.meier", stream=None, **more):
    seen = desk.ledger.last(note.note_id, stream or who)
    return desk.press(note, stream or who, who, KeyPress(action, seen=seen, **more))


def ward(desk, note_id):
    note = next(one for one in desk.queue() if one.note_id == note_id)
    marks = desk.state(note, "a.meier").in_order
    return note, next(one for one in marks if one.label == "HOSPITAL")


def settle(desk, but=()):
    for note in desk.queue():
        for mark in desk.state(note, "a.meier").pending:
            action = "reject" if (note.note_id, mark.label) in but else "accept"
            press(desk, note, action, mark=mark.mark, sure=True)
        press(desk, note, "confirm")


def call(batch, command, *arguments):
    found = CliRunner().invoke(app, [command, batch, *arguments])
    return found.exit_code, found.output


def rules_of(settings):
    return Denials(StoreFiles(settings.store, key=settings.receipt_key())).read()


def test_a_value_is_rejected_for_good_with_its_count_and_becomes_a_rule(whole, settings, batch):
    note, mark = ward(whole, "n2")
    asked = press(whole, note, "remember-all", mark=mark.mark)
    assert asked.asks
    assert "3 occurrences in 3 notes here, and in every batch" in asked.said
    press(whole, note, "remember-all", mark=mark.mark, sure=True)
    assert ward(whole, "n5")[1].is_remembered
    press(whole, note, "undo")
    assert not ward(whole, "n5")[1].is_remembered
    press(whole, note, "remember-all", mark=mark.mark, sure=True)
    assert call(batch, "rules")[1].startswith("nothing was rejected for good in a settled note")
    settle(whole)

    code, said = call(batch, "rules", "--plan")
    assert code == 0
    assert "would leave 3 places in 3 notes of 3 patients" in said
    assert "ward" not in said.lower()
    assert rules_of(settings).allowed == ()
    assert call(batch, "return")[0] == 0
    (rule,) = rules_of(settings).allowed
    assert (rule.value, rule.category, rule.lang) == ("ward B", "HOSPITAL", "en")
    assert (rule.said, rule.by) == ("second:HOSPITAL", "a.meier")
    assert len(rules_of(settings).cases) == 3

    text = whole.view.notes["n2"].text
    start = text.index("ward B")
    place = Span(start, start + 6, Phi.HOSPITAL, 1.0, "second")
    view = replace(whole.view, allowed={"n2": [place]})
    whole.ledger.path.unlink()
    again = type(whole.ledger)(whole.ledger.path)
    make_queue(view, again, settings.key(), QueueOptions(6, blind=0, double=0))
    kinds = {note: [m.kinds for m in again.marks(note)] for note in ("n2", "n5")}
    assert (Kind.NEAR_MISS,) not in kinds["n2"]
    assert (Kind.NEAR_MISS,) in kinds["n5"]
    again.close()


def test_deciding_between_reviewers_makes_no_rule_and_counts_for_no_suggestion(whole):
    note = ward(whole, "n2")[0]
    name, date, other, place = (one.mark for one in whole.state(note, "a.meier").in_order)
    for who, as_user in (("a.meier", False), ("b.kim", True)):
        for mark in (name, place):
            press(whole, note, "reject", who, mark=mark, sure=True)
        press(whole, note, "accept", who, mark=date)
        if as_user:
            press(whole, note, "relabel", who, mark=other, label="USERNAME")
        else:
            press(whole, note, "accept", who, mark=other)
        press(whole, note, "confirm", who)
    before = precisions(whole.ledger)

    # the marks on which they differ have numbers of their own
    own = whole.state(note, ADJUDICATION).in_order
    assert [one.label for one in own] == ["DATE", "NAME", "USERNAME"]
    for action in ("accept-all", "reject-all", "remember-all"):
        with pytest.raises(ReviewRefusedError, match="on which reviewers differ"):
            press(whole, note, action, "c.roe", ADJUDICATION, mark=own[0].mark, sure=True)
    for mark, action in zip(own, ("reject", "accept", "reject"), strict=True):
        press(whole, note, action, "c.roe", ADJUDICATION, mark=mark.mark, sure=True)
    press(whole, note, "confirm", "c.roe", ADJUDICATION)
    assert precisions(whole.ledger) == before
    assert find_rejected_values(whole).alarms == []
    every = find_rejected_values(whole, is_every=True)
    assert [one.value for one in every.alarms] == ["Zedamar", "ward B"]
    assert every.by == ("a.meier", "b.kim")


def test_no_rule_is_made_of_what_somebody_accepted_elsewhere_in_the_review(whole, settings, batch):
    settle(whole, but={("n2", "HOSPITAL")})
    code, said = call(batch, "rules", "--rejected")
    assert (code, "no rule of 1 values: annotated as an identifier elsewhere" in said) == (0, True)
    assert rules_of(settings).allowed == ()
