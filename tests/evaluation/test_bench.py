"""Each detector runs in a process of its own.

What it takes is its own, and what goes wrong there is said.
"""

import pytest

from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import SpanSet
from deid_evaluation.bench import Contestant, contestants, measure

BODY = """
import os
import sys
import threading
import time

from deid_assets import Phi, Span, SpanSet


class Detector:
    name = "@NAME@"
    version = "7"
    labels = frozenset({Phi.NAME})

    def __init__(self, *, model="", megabytes=0, seconds=0.0, word="Lee"):
        self.ballast = bytearray(megabytes * 2**20)
        self.ballast[:: 4096] = b"x" * len(self.ballast[:: 4096])
        time.sleep(seconds)
        self.word = word

    def detect(self, notes):
        for note in notes:
            print(note.text)
            os.write(2, note.text.encode())
            if "EXPLODE" in note.text:
                raise LookupError(note.text)
            if "DIE" in note.text:
                os._exit(9)
            if "THREAD" in note.text:
                threading.Thread(target=time.sleep, args=(600,)).start()
            if "HANG" in note.text:
                time.sleep(600)
            at = note.text.find(self.word)
            found = Span(max(at, 0), max(at, 0) + len(self.word), Phi.NAME, 0.9, self.name)
            yield SpanSet.of(note, [found] if at >= 0 else [])
"""


@pytest.fixture
def runner(tmp_path, monkeypatch, write_detector):
    """The name of a detector that does what its notes say."""
    write_detector(tmp_path, "benched", body=BODY)
    monkeypatch.syspath_prepend(tmp_path)
    return "benched"


def notes_of(*texts):
    return [Note(f"n{at}", text, lang="en") for at, text in enumerate(texts)]


def test_a_run_gives_one_outcome_per_note_and_what_it_took(runner, capfd):
    notes = notes_of("Seen by Lee.", "EXPLODE", "nothing here")

    run = measure(Contestant(runner, runner), notes)

    found, failed, empty = run.outcomes
    assert isinstance(found, SpanSet)
    assert [(span.start, span.end, span.label) for span in found] == [(8, 11, Phi.NAME)]
    assert failed == Failed("n1", "spans_benched", "LookupError")
    assert empty == SpanSet.of(notes[2], [])
    assert (run.version, run.labels, run.failed, run.fault) == ("7", {Phi.NAME}, 1, "")
    assert (run.cost.notes, run.cost.chars) == (3, sum(len(note.text) for note in notes))
    assert run.cost.detect_s > 0
    assert run.cost.notes_per_s > 0
    assert capfd.readouterr() == ("", "")


def test_what_a_detector_prints_is_not_seen(runner, capfd):
    measure(Contestant(runner, runner), notes_of("Quillfeather"))

    assert "Quillfeather" not in "".join(capfd.readouterr())


def test_memory_is_that_of_the_detector_alone(runner):
    ballast = bytearray(200 * 2**20)
    ballast[::4096] = b"x" * len(ballast[::4096])

    heavy = measure(Contestant("heavy", runner, {"megabytes": 150}), notes_of("Lee"))
    light = measure(Contestant("light", runner), notes_of("Lee"))

    if not light.cost.peak_bytes:
        pytest.skip("the system does not tell a process its memory")
    assert 140 * 2**20 < heavy.cost.peak_bytes - light.cost.peak_bytes < 160 * 2**20
    assert light.cost.peak_bytes < 150 * 2**20


def test_start_up_is_measured_apart_from_detection(runner):
    run = measure(Contestant(runner, runner, {"seconds": 0.5}), notes_of("Lee"))

    assert run.cost.start_s >= 0.5
    assert run.cost.detect_s < run.cost.start_s


@pytest.mark.parametrize(
    ("options", "text", "limit_s", "fault"),
    [
        ({}, "DIE", None, "its process ended early"),
        ({}, "HANG", 3.0, "stopped after 3 s"),
        ({"colour": "red"}, "Lee", None, "takes no option 'colour'"),
    ],
)
def test_a_detector_without_a_result_says_why(runner, options, text, limit_s, fault):
    run = measure(Contestant(runner, runner, options), notes_of(text), limit_s=limit_s)

    assert fault in run.fault
    assert text not in run.fault or text == "Lee"
    assert (run.outcomes, run.cost) == ((), None)


def test_a_detector_that_is_not_installed_is_a_fault_that_names_the_others(runner):
    assert (
        "unknown detector 'nobody'; installed: "
        in measure(Contestant("nobody", "nobody"), notes_of("Lee")).fault
    )


def test_a_thread_that_is_left_running_does_not_keep_the_result_back(runner):
    run = measure(Contestant(runner, runner), notes_of("THREAD"), limit_s=60)

    assert (run.fault, len(run.outcomes)) == ("", 1)


def test_there_must_be_notes_and_time(runner):
    with pytest.raises(InputError, match="at least one note"):
        measure(Contestant(runner, runner), [])
    with pytest.raises(ConfigError, match="must be positive"):
        measure(Contestant(runner, runner), notes_of("Lee"), limit_s=0)


@pytest.mark.parametrize(
    ("specs", "options", "shown"),
    [
        (["rules"], {}, [("rules", "rules", {})]),
        (["spacy=models/a"], {}, [("spacy", "spacy", {"model": "models/a"})]),
        (
            ["spacy=models/a", "spacy=models/b"],
            {"spacy": {"labels": {}}},
            [
                ("spacy=a", "spacy", {"labels": {}, "model": "models/a"}),
                ("spacy=b", "spacy", {"labels": {}, "model": "models/b"}),
            ],
        ),
    ],
)
def test_contestants_are_named_so_that_each_can_be_told_apart(specs, options, shown):
    assert [(one.name, one.plugin, one.options) for one in contestants(specs, options)] == shown


@pytest.mark.parametrize(
    ("specs", "options", "message"),
    [
        ([], {}, "at least one detector"),
        (["rules", "rules"], {}, "named twice"),
        (
            ["rules"],
            {"presidio": {"context": False}},
            "an option is for 'presidio', but the detectors are rules",
        ),
    ],
)
def test_contestants_that_make_no_sense_are_refused(specs, options, message):
    with pytest.raises(ConfigError, match=message):
        contestants(specs, options)
