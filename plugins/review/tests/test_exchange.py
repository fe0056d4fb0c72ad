"""Annotations out to other tools and back, and back to the batch, whose gates measure with them."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from deid_assets import DeidError
from deid_assets.extending.reviewing import return_to_batch
from deid_assets.formats import Annotated, read_notes
from deid_assets.intake import reviewed
from deid_assets.intake.arrivals import find_arrival
from deid_assets.intake.reader import landing_folder, read_batch
from deid_assets.store.files import StoreFiles
from deid_review.desk import KeyPress
from deid_review.exchange import export_notes, gold_of, import_notes
from deid_review.measures import final_of
from deid_review.queueing import QueueOptions, make_queue

FORMS = [
    ("label-studio", "out.json", "label-studio"),
    ("prodigy", "out.jsonl", "prodigy"),
    (None, "out.csv", None),
    (None, "out.jsonl", None),
    ("brat", "folder", "brat"),
]


@pytest.fixture
def desk(settings, batch, desk_of):
    """A desk with every note in the sample, of which all but one are decided."""
    found = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=0))
    for note in found.queue():
        if note.note_id == "n6":
            continue
        for mark in found.state(note, "a.meier").pending:
            action = "reject" if mark.label == "HOSPITAL" else "accept"
            seen = found.ledger.last(note.note_id, "a.meier")
            press = KeyPress(action, mark=mark.mark, sure=True, seen=seen)
            found.press(note, "a.meier", "a.meier", press)
        seen = found.ledger.last(note.note_id, "a.meier")
        found.press(note, "a.meier", "a.meier", KeyPress("confirm", seen=seen))
    yield found
    found.ledger.close()


def places(spans):
    return sorted((span.start, span.end, span.label) for span in spans)


@pytest.mark.parametrize(("to", "name", "back"), FORMS)
def test_what_is_written_comes_back_the_same(desk, tmp_path, to, name, back):
    out = tmp_path / name
    before = os.umask(0)
    try:
        assert export_notes(desk, out, to=to, are_suggestions=False) == 5
    finally:
        os.umask(before)
    assert not out.stat().st_mode & 0o077
    found = import_notes(desk, out, reviewer="b.kim", format_name=back, are_unchanged=True)
    assert (found.taken, found.refused) == (5, [])
    for note in desk.queue():
        if note.note_id != "n6":
            assert final_of(desk.ledger, note).by == ("a.meier", "b.kim")
            assert not final_of(desk.ledger, note).differs


def test_the_queue_goes_out_with_its_suggestions_in_the_offsets_of_each_tool(desk, tmp_path):
    export_notes(desk, tmp_path / "q.json", to="label-studio", are_suggestions=True)
    tasks = json.loads((tmp_path / "q.json").read_text())
    assert len(tasks) == 6
    for task in tasks:
        units = task["data"]["text"].encode("utf-16-le")
        for region in task["predictions"][0]["result"]:
            value = region["value"]
            covered = units[2 * value["start"] : 2 * value["end"]].decode("utf-16-le")
            assert covered == value["text"]
    assert (tmp_path / "q.json").stat().st_mode & 0o077 == 0


def test_the_sample_alone_is_taken_where_asked_for(settings, batch, desk_of, desk):
    del desk
    few = desk_of(settings, batch)
    make_queue(few.view, few.ledger, settings.key(), QueueOptions(2, blind=0, double=0))
    sampled = {one.note_id for one in few.queue() if one.is_sampled}
    assert set(gold_of(few, only_sampled=True)) == sampled & set(gold_of(few))
    few.ledger.close()


def test_of_a_bad_file_each_fault_is_a_line_without_text_and_the_rest_is_taken(desk, tmp_path):
    out = tmp_path / "out.jsonl"
    export_notes(desk, out, to="prodigy", are_suggestions=False)
    tasks = [json.loads(line) for line in out.read_text().splitlines()]
    tasks[0]["text"] += " Zedother"
    tasks[1]["spans"] = [{"start": 5, "end": 4_000, "label": "NAME"}]
    tasks[2]["spans"] = [{"start": 0, "end": 3, "label": "Zedlabel"}]
    out.write_text("".join(json.dumps(one) + "\n" for one in tasks[:4]) + "Zedbroken\n")
    found = import_notes(desk, out, reviewer="b.kim", format_name="prodigy")
    assert found.taken == 1
    assert len(found.refused) == 4
    assert "Zed" not in "".join(found.refused)


def test_the_batch_has_the_annotations_and_what_rests_on_it_is_out_of_date(settings, batch, desk):
    files = StoreFiles(settings.store, key=settings.receipt_key())
    before = find_arrival(files, batch).receipt.digest
    gold = gold_of(desk)
    assert sorted(gold) == ["n1", "n2", "n3", "n4", "n5"]
    assert return_to_batch(settings, batch, gold) == 5
    found = {one.what.note.note_id: one.what for one in read_batch(settings, files, batch)}
    for name, spans in gold.items():
        assert places(found[name].spans) == places(spans)
        assert found[name].note.patient_id == desk.view.notes[name].patient_id
    assert found["n6"].spans is None
    assert find_arrival(files, batch).receipt.digest != before
    folder = landing_folder(settings, batch)
    assert [path.name for path in folder.iterdir()] == ["notes.drafts"]
    assert folder.stat().st_mode & 0o077 == 0
    assert not list((folder.parent / reviewed.STAGED).iterdir())
    # once more, with another decision, replaces it
    assert return_to_batch(settings, batch, {"n4": gold["n4"]}) == 1


@pytest.mark.parametrize("at", ["sign_replacement", "rename", "rename_again"])
def test_a_return_that_is_killed_is_completed_by_the_next(settings, batch, desk, monkeypatch, at):
    gold = gold_of(desk)

    class KilledError(BaseException):
        pass

    calls = []

    def kill(*_args, **_more):
        raise KilledError

    real = reviewed.Path.rename

    def rename(path, target):
        if batch in str(path) and "landing" in str(path):
            calls.append(path)
            if len(calls) == (1 if at == "rename" else 2):
                raise KilledError
        return real(path, target)

    with monkeypatch.context() as patch:
        if at == "sign_replacement":
            patch.setattr(reviewed, "sign_replacement", kill)
        else:
            patch.setattr(reviewed.Path, "rename", rename)
        with pytest.raises(KilledError):
            return_to_batch(settings, batch, gold)
    files = StoreFiles(settings.store, key=settings.receipt_key())
    reviewed.complete_returns(settings, files)  # as the next run and an erasure do
    assert not list((landing_folder(settings, batch).parent / reviewed.STAGED).iterdir())
    assert len(list(read_batch(settings, files, batch))) == 6
    assert return_to_batch(settings, batch, gold) == 5
    found = [one.what for one in read_batch(settings, files, batch)]
    assert len(found) == 6
    assert sum(one.spans is not None for one in found) == 5


def test_a_note_that_changed_since_is_refused_by_name_and_nothing_is_written(
    settings, batch, desk, tmp_path
):
    gold = gold_of(desk)
    folder = landing_folder(settings, batch)
    shutil.copytree(folder, tmp_path / "kept")
    with pytest.raises(DeidError, match="n1"):
        return_to_batch(settings, batch, {"n1": gold["n2"]})
    with pytest.raises(DeidError, match="no such note"):
        return_to_batch(settings, batch, {**gold, "n99": gold["n2"]})
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        p.name for p in (tmp_path / "kept").iterdir()
    )


def test_the_notes_are_what_gates_read(desk, tmp_path):
    out = tmp_path / "gold.jsonl"
    export_notes(desk, out, to=None, are_suggestions=False)
    read = [one for one in read_notes(out) if isinstance(one, Annotated)]
    assert len(read) == 5
    assert all(one.spans is not None for one in read)
