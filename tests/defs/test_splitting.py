"""A large arrival becomes several batches.

Nothing is lost, patients stay whole, memory stays flat.
"""

import gzip
import json
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest

from deid_assets.defs.jobs import ARRIVAL_TAG, SPLITTING_JOB, TRIES, runs_of_arrivals
from deid_assets.defs.placing import Place
from deid_assets.formats.annotated import Annotated, Annotation, Fault, ParsedNote, Problem
from deid_assets.formats.parsed_notes import encode_parsed_note, read_parsed_notes
from deid_assets.intake import grouping
from deid_assets.intake.grouping import NOTE_CHARACTERS
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import landing_store, read_batch
from deid_assets.intake.splitting import split_arrivals, waiting
from deid_assets.intake.states import batch_ids

LIMIT = 13_000
TEXT = "Zedmarlow, record 4411223. Chest pain since noon, relieved by rest. "


@pytest.fixture
def settings(installation):
    installation.configure(
        f'ensemble = ["stencil"]\nrecipes = []\n[batches]\nmax_characters = {LIMIT}\n'
    )
    found = installation.settings()
    found.landing.mkdir(parents=True)
    return found


def record(number, *, patients=7, repeat=1):
    return {
        "id": f"n{number}",
        "text": TEXT * repeat,
        "patient_id": f"p{number % patients}",
        "lang": "en",
    }


def lines(records):
    return "".join(json.dumps(each) + "\n" for each in records)


def batches_of(settings, opened):
    """Batch to its notes and its faults, after everything was taken in and split."""
    take_in(settings, settle_s=0)
    split_arrivals(settings)
    found = {}
    for batch in batch_ids(settings):
        entries = [each.what for each in read_batch(opened.settings, opened.files, batch)]
        notes = [entry.note for entry in entries if isinstance(entry, Annotated)]
        found[batch] = notes, [entry for entry in entries if isinstance(entry, Fault)]
    return found


def test_every_note_is_in_one_batch_and_a_patient_in_one_too(settings, installation):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    found = batches_of(settings, installation.opened())

    ids = [note.note_id for notes, _ in found.values() for note in notes]
    assert sorted(ids) == sorted(f"n{n}" for n in range(40))
    for patient in range(7):
        assert (
            len(
                {
                    batch
                    for batch, (notes, _) in found.items()
                    if f"p{patient}" in {n.patient_id for n in notes}
                }
            )
            == 1
        )
    assert len(found) > 3
    assert all(
        sum(len(n.text) + NOTE_CHARACTERS for n in notes) <= LIMIT for notes, _ in found.values()
    )
    assert waiting(landing_store(settings)) == []


@pytest.mark.parametrize("kind", ["folder", "zip", "gz", "one"])
def test_an_archive_and_a_folder_are_split_like_a_file(settings, installation, kind):
    halves = [lines(record(n) for n in range(20)), lines(record(n) for n in range(20, 40))]
    if kind == "folder":
        (settings.landing / "monday").mkdir()
        for number, half in enumerate(halves):
            (settings.landing / "monday" / f"{number}.jsonl").write_text(half)
    elif kind == "zip":
        with zipfile.ZipFile(settings.landing / "monday.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for number, half in enumerate(halves):
                archive.writestr(f"{number}.jsonl", half)
    elif kind == "gz":
        (settings.landing / "monday.jsonl.gz").write_bytes(gzip.compress("".join(halves).encode()))
    else:
        (settings.landing / "monday.jsonl").write_text("".join(halves))
    found = batches_of(settings, installation.opened())

    assert [sorted(note.note_id for note in notes) for notes, _ in found.values()] == [
        sorted(f"n{n}" for n in range(40) if n % 7 in patients)
        for patients in ((0, 1), (2, 3), (4, 5), (6,))
    ]


def test_what_cannot_be_read_is_withheld_once_and_a_doubled_id_is_seen_across_batches(
    settings, installation
):
    wrong = [
        '{"id": "broken"\n',
        '{"id": "bare"}\n',
        json.dumps({"id": "n0", "text": "another"}) + "\n",
    ]
    (settings.landing / "notes.jsonl").write_text(
        lines(record(n) for n in range(40)) + "".join(wrong)
    )
    found = batches_of(settings, installation.opened())

    kept = [note.note_id for notes, _ in found.values() for note in notes]
    withheld = [fault.kind for _, faults in found.values() for fault in faults]
    assert (len(kept), len(set(kept))) == (40, 40)
    assert sorted(withheld) == ["duplicate-id", "malformed", "missing-field"]


def test_a_patient_with_more_than_a_batch_is_a_batch(settings, installation):
    (settings.landing / "notes.jsonl").write_text(lines(record(n, patients=1) for n in range(40)))
    ((notes, _),) = batches_of(settings, installation.opened()).values()

    assert len(notes) == 40


def test_what_turns_out_to_fit_is_one_batch_as_it_arrived(settings, installation):
    (settings.landing / "notes.jsonl").write_text(lines(record(n, repeat=2) for n in range(11)))
    take_in(settings, settle_s=0)
    assert batch_ids(settings) == []
    (batch,) = split_arrivals(settings)

    assert batch_ids(settings) == [batch]
    assert "-" not in batch[2:]


def test_the_same_file_dropped_again_adds_nothing(settings, installation):
    content = lines(record(n) for n in range(40))
    (settings.landing / "notes.jsonl").write_text(content)
    take_in(settings, settle_s=0)
    (settings.landing / "again.jsonl").write_text(content)
    take_in(settings, settle_s=0)
    first = split_arrivals(settings)
    (settings.landing / "later.jsonl").write_text(content)

    assert (take_in(settings, settle_s=0), split_arrivals(settings)) == ([], [])
    assert batch_ids(settings) == first
    assert list(settings.landing.iterdir()) == []


class KilledError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("at", range(8))
def test_a_killed_split_is_completed_by_the_next(settings, installation, monkeypatch, at):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    take_in(settings, settle_s=0)
    done, rename = 0, Path.rename

    def killed(self, target):
        nonlocal done
        done += 1
        if done > at:
            raise KilledError
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with suppress(KilledError):
            split_arrivals(settings)
    split_arrivals(settings)
    found = batches_of(settings, installation.opened())

    assert sorted(note.note_id for notes, _ in found.values() for note in notes) == sorted(
        f"n{n}" for n in range(40)
    )
    assert not list((landing_store(settings) / ".large").iterdir())


def test_what_is_kept_of_the_notes_is_open_to_its_owner_only(settings, installation):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    take_in(settings, settle_s=0)
    split_arrivals(settings)
    folders = [
        path
        for path in [landing_store(settings), *landing_store(settings).rglob("*")]
        if path.is_dir()
    ]

    assert {path.stat().st_mode & 0o077 for path in folders} == {0}


def test_erasing_a_part_erases_the_arrival_that_it_was_cut_from(settings, installation):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    take_in(settings, settle_s=0)
    part, *others = split_arrivals(settings)

    assert installation.opened().files.erase(part) == ["arrival", "landing"]
    assert batch_ids(settings) == others
    assert not list((landing_store(settings) / ".whole").iterdir())


def test_memory_is_that_of_a_few_notes_not_of_the_file(settings, monkeypatch):
    monkeypatch.setattr(grouping, "_BUFFER_BYTES", 2**16)

    def peak(notes):
        (settings.landing / "notes.jsonl").write_text(
            lines(record(n, patients=notes // 3, repeat=50) for n in range(notes))
        )
        take_in(settings, settle_s=0)
        tracemalloc.start()
        split_arrivals(settings)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(20)  # what is loaded once
    small, large = peak(100), peak(300)
    assert large < small + 2**18


@pytest.fixture
def tick(installation):
    """What the sensor asks for: key, job, partition and tags of each run."""

    def ticked():
        with dg.build_sensor_context(
            instance=installation.instance, resources=installation.resources()
        ) as context:
            return runs_of_arrivals(
                context.instance, context.resources.installation, Place()
            ).run_requests

    return ticked


def test_the_sensor_starts_a_run_that_splits_and_then_a_run_for_each_batch(
    settings, installation, tick
):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    definitions = installation.definitions()
    take_in(settings, settle_s=0)

    (first,) = tick()
    assert first.job_name == SPLITTING_JOB
    job = definitions.resolve_job_def(SPLITTING_JOB)
    assert job.execute_in_process(instance=installation.instance, tags=first.tags).success
    assert [request.partition_key for request in tick()] == batch_ids(settings)


def test_a_split_that_failed_is_asked_for_again_but_not_for_ever(settings, installation, tick):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    job = installation.definitions().resolve_job_def(SPLITTING_JOB)
    take_in(settings, settle_s=0)
    (arrived,) = (landing_store(settings) / ".large").rglob("notes.jsonl")
    content = arrived.read_text()
    arrived.write_text(content + content)
    asked = []
    for _ in range(TRIES):
        (request,) = tick()
        assert tick()[0].run_key == request.run_key  # while a run is on its way, it is the same one
        asked.append(request.run_key)
        job.execute_in_process(
            instance=installation.instance, tags=request.tags, raise_on_error=False
        )
    assert len(set(asked)) == TRIES
    assert tick()[0].run_key == asked[-1]

    arrived.write_text(content)
    assert job.execute_in_process(instance=installation.instance, tags=request.tags).success
    assert waiting(landing_store(settings)) == []


def test_what_is_raised_while_an_arrival_is_split_says_no_text(settings, installation, monkeypatch):
    (settings.landing / "notes.jsonl").write_text(lines(record(n) for n in range(40)))
    job = installation.definitions().resolve_job_def(SPLITTING_JOB)
    take_in(settings, settle_s=0)

    def killed(_self, _target):
        raise KilledError(TEXT)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        done = job.execute_in_process(instance=installation.instance, raise_on_error=False)
    (failure,) = (event for event in done.all_events if event.is_step_failure)
    assert (
        failure.step_failure_data.user_failure_data.description
        == "landing, batch all: BaseException; nothing was stored"
    )
    assert not any(
        "Zedmarlow" in str(event) for event in installation.instance.all_logs(done.run_id)
    )


def test_one_arrival_that_cannot_be_split_does_not_hold_the_others_back(
    settings, installation, tick
):
    job = installation.definitions().resolve_job_def(SPLITTING_JOB)
    for name, first in (("a", 0), ("b", 100)):
        (settings.landing / f"{name}.jsonl").write_text(
            lines(record(n) for n in range(first, first + 40))
        )
    take_in(settings, settle_s=0)
    one, other = tick()
    for broken in (landing_store(settings) / ".large" / one.tags[ARRIVAL_TAG]).rglob("*.jsonl"):
        broken.write_text("{}")

    done = [
        job.execute_in_process(
            instance=installation.instance, tags=request.tags, raise_on_error=False
        ).success
        for request in (one, other)
    ]
    assert done == [False, True]
    assert waiting(landing_store(settings)) == [one.tags[ARRIVAL_TAG]]


def test_drafts_survive_being_written(tmp_path):
    annotation = Annotation(((0, 3), (5, 9)), "PERSON", "Zed", 0.5, "x", "N", 4)
    draft = ParsedNote(
        "f",
        "n",
        "te\u2028xt \ud800",
        (annotation,),
        (Problem("kind", "why"),),
        3,
        "p",
        "en",
        {"a": "b"},
    )
    given = [draft, ParsedNote("f", "m", ""), Fault.at("f", "malformed", "why; mend", line=3)]
    (tmp_path / "drafts").write_bytes(b"".join(map(encode_parsed_note, given)))

    assert list(read_parsed_notes([tmp_path / "drafts"])) == given
