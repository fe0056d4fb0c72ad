"""An unchanged note is never read again by a detector; what cannot be trusted is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deid_assets import Note, plugins
from deid_assets.assets.detection import make_spans
from deid_assets.assets.records import record_notes
from deid_assets.erasure.carrying import erase_patient
from deid_assets.erasure.planning import ErasureOrder
from deid_assets.intake.arrivals import list_files, sign_replacement
from deid_assets.intake.reader import landing_folder
from deid_assets.intake.states import look
from deid_assets.intake.withdrawal import releases_of, withdraw
from deid_assets.plugins.installed import versions_behind
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.processes import end_workers
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.store.files import UnsignedReceipt, inputs_of
from deid_assets.store.frames import notes_to_table
from deid_assets.vault.log import AccessRequest

pytestmark = pytest.mark.long

COUNTING = '''
"""Test detector: names that begin with Zed; writes down the id of each note that it reads."""

import os
import re
import time

from deid_assets import Phi, Span, SpanSet

READS = os.environ["DEID_HOME"] + "/../reads-@NAME@"


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME, Phi.MRN})

    def __init__(self, *, names="Zed", raise_on="", pause=0.0):
        self._names, self._raise_on, self._pause = re.compile(names + "[a-z]+"), raise_on, pause

    def detect(self, notes):
        for note in notes:
            time.sleep(self._pause)
            with open(READS, "a") as file:
                file.write(note.note_id + "\\n")
            if self._raise_on and self._raise_on in note.text:
                raise LookupError("cannot read it")
            found = [match.span() for match in self._names.finditer(note.text)]
            yield SpanSet.of(note, [Span(*at, Phi.NAME, 0.9, self.name) for at in found])
'''
SETTINGS = """\
ensemble = ["counting"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
[gates]
min_gold_characters = 1
residual_sample = 1
near_duplicates = 1
recall = {}
recall_lower_bound = {}
notes_covered_lower_bound = 0
"""
SPANS = ("raw_notes", "spans_counting")
WHOLE = (*SPANS, "gold_annotations", "merged_spans", "redacted_notes_tag")


class Counted:
    """An installation whose detector counts what it reads."""

    def __init__(self, installation) -> None:
        self.installation = installation
        self.configure()

    def configure(self, *, before="", after=""):
        self.installation.configure(before + SETTINGS + after)

    def reads(self, detector="counting"):
        """Return how often each note was read since this was last asked."""
        path = self.installation.root / f"reads-{detector}"
        lines = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return Counter(lines)

    def opened(self):
        """The installation as a process finds it that starts now."""
        known, settings = plugins.available(), self.installation.settings()
        installed = {name: known[name] for name in ("counting", "tallying")}
        return Installation(settings, snapshot=Snapshot.take(settings, plugins=installed))

    def put(self, batch, notes):
        """Store the notes of a batch."""
        opened, receipt = self.opened(), UnsignedReceipt(code_version="1")
        opened.files.write("raw_notes", batch, {"notes": notes_to_table(notes)}, receipt=receipt)
        record_notes(opened, batch, notes)
        opened.close()

    def make(self, batch, detector="counting"):
        """Make and store the spans of a batch without Dagster, and return what the body gave."""
        opened = self.opened()
        output = make_spans(batch, opened, detector=detector)
        unsigned = UnsignedReceipt("1", inputs_of(output.sources), counts=output.counts)
        name = f"spans_{detector}"
        receipt = opened.files.write(name, batch, output.tables, receipt=unsigned)
        output.publish(receipt)
        opened.close()
        return output

    def run(self, batch, *assets):
        """Make assets with Dagster; return what it shows of the spans, and the lines of its log."""
        result = self.installation.run(batch, *assets)
        assert self.installation.failures(result) == {}
        events = result.get_asset_materialization_events()
        made = {one.asset_key.to_user_string(): one.materialization.metadata for one in events}
        log = self.installation.instance.all_logs(result.run_id)
        return made["spans_counting"], [
            entry.dagster_event.message for entry in log if entry.is_dagster_event
        ]

    def replace(self, batch, records):
        """Put other records in the place of a batch's, as a feed does."""
        opened = self.opened()
        folder = landing_folder(opened.settings, batch)
        (path,) = folder.iterdir()
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        sign_replacement(opened.files, batch, list_files([path], root=folder))

    def path(self, asset, batch, table):
        """Return the file of a stored table."""
        (found,) = self.installation.store.glob(f"internal/{asset}/{batch}/{table}-*.parquet")
        return found

    def spans(self, batch):
        files = self.opened().files
        found = [files.read("spans_counting", batch, name) for name in ("notes", "spans")]
        return [table.to_pylist() for table in found]


@pytest.fixture
def counted(installation, write_detector, tmp_path, monkeypatch):
    site = tmp_path / "counting"
    for name in ("counting", "tallying"):
        write_detector(site, name, body=COUNTING)
    monkeypatch.syspath_prepend(site)
    installation.detectors = ("counting", "tallying")
    yield Counted(installation)
    end_workers()


@pytest.fixture
def records(note_records):
    return [record | {"spans": []} for record in note_records()]


@pytest.fixture
def notes(records):
    return notes_of(records)


def notes_of(records):
    return [Note(one["id"], one["text"], one["patient_id"], "en") for one in records]


def ids(notes):
    return Counter(one.note_id if isinstance(one, Note) else one["id"] for one in notes)


def test_the_graph_reads_only_what_changed_and_says_so(counted, records, note_record):
    batch = counted.installation.receive(records)
    first, _ = counted.run(batch, *WHOLE)
    assert first["read"].value == "8 of 8 notes read"
    digest = counted.opened().files.receipt("spans_counting", batch).digest
    counted.reads()

    same, log = counted.run(batch, *WHOLE)

    assert counted.reads() == Counter()
    assert "redacted_notes_tag: 0 of 8 redacted notes searched again" in log
    assert (same["read"].value, same["notes_read"].value) == ("0 of 8 notes read again", 0)
    assert "spans_counting: 0 of 8 notes read again" in log
    assert counted.opened().files.receipt("spans_counting", batch).digest == digest

    changed = note_record(3, "Seen again.", person="Zednovak", record=4_000_003) | {"spans": []}
    new = note_record(90, "Seen first.", person="Zedolsen", record=4_000_090) | {"spans": []}
    counted.replace(batch, [*records[1:3], changed, *records[4:], new])
    made, log = counted.run(batch, *WHOLE)

    assert made["read"].value == "2 of 8 notes read again"
    assert "spans_counting: 2 of 8 notes read again" in log
    assert {"note-3", "note-90"} <= set(counted.reads())  # and one where residual hits are sought
    found, _ = counted.spans(batch)
    assert [row["note_id"] for row in found] == [*(f"note-{n}" for n in range(1, 8)), "note-90"]
    warm = redacted(counted, batch)
    assert len(warm[0]) == 8
    assert not any("Zed" in row["text"] for row in warm[0])

    counted.configure(before="reuse_answers = false\n")
    counted.run(batch, *WHOLE)

    assert redacted(counted, batch) == warm


def redacted(counted, batch):
    files = counted.opened().files
    tables = [files.read("redacted_notes_tag", batch, name) for name in ("notes", "edits")]
    return [table.to_pylist() for table in tables]


FINDS_MORE_AFTER_A_TAG = """
[detectors.counting]
names = '(?:(?<=NAME\\], )rec|Zed)'
"""


@pytest.mark.slow
def test_a_search_that_found_something_is_answered_too_and_only_a_changed_note_is_searched(
    counted, records, note_record
):
    settings = SETTINGS.replace("residual_sample = 1", "residual_sample = 0")
    counted.installation.configure(settings + FINDS_MORE_AFTER_A_TAG)
    batch = counted.installation.receive(records)
    _, log = counted.run(batch, *WHOLE)
    assert "redacted_notes_tag: 16 of 16 redacted notes searched" in log  # each, and each again
    assert counted.reads() == Counter(dict.fromkeys(ids(records), 3))
    first = redacted(counted, batch)
    assert not any("record" in row["text"] for row in first[0])

    _, log = counted.run(batch, *WHOLE)

    assert counted.reads() == Counter()
    assert "redacted_notes_tag: 0 of 16 redacted notes searched again" in log
    assert redacted(counted, batch) == first

    # Of a batch in which one note changed, that one is searched.
    changed = note_record(3, "Seen again.", person="Zednovak", record=4_000_003) | {"spans": []}
    counted.replace(batch, [*records[:3], changed, *records[4:]])
    _, log = counted.run(batch, *WHOLE)
    assert counted.reads() == Counter({"note-3": 3})
    assert "redacted_notes_tag: 2 of 16 redacted notes searched again" in log


def test_a_note_that_another_batch_has_is_not_read_again(counted, notes):
    counted.put("first", notes)
    counted.make("first")
    counted.reads()
    new = Note("note-91", "Zedberg came for a review.", "patient-91", "en")

    counted.put("second", [*notes[2:], new])
    made = counted.make("second")

    assert made.metadata["read"] == "1 of 7 notes read again"
    assert counted.reads() == Counter(["note-91"])
    first, second = counted.spans("first")[1], counted.spans("second")[1]
    assert [row for row in second if row["note_id"] == "note-4"] == [
        row for row in first if row["note_id"] == "note-4"
    ]


def declare(site, line):
    """Add a line to the metadata of the detector's distribution."""
    metadata = site / "counting" / "deid_counting-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text() + f"{line}\n")
    versions_behind.cache_clear()  # of a process, which starts anew


def test_patient_and_id_count_unless_the_detector_looks_at_text_alone(counted, records, tmp_path):
    def put(batch, patient):
        counted.put(batch, notes_of([one | {"patient_id": patient} for one in records]))
        counted.make(batch)
        return counted.reads()

    assert put("first", "a") == ids(records)
    assert put("second", "b") == ids(records)

    declare(tmp_path, "Keywords: regex,reads-text")
    assert put("third", "c") == ids(records)  # was asked for all fields before
    assert put("fourth", "d") == Counter()


@pytest.mark.parametrize(
    ("keywords", "after"),
    [
        ("regex,asks-raise_on", "[detectors.counting]\nraise_on = '127.0.0.1:8080'\n"),
        pytest.param("regex,answers-vary", "", marks=pytest.mark.slow),
        pytest.param(
            "regex",
            "[detectors.counting]\nraise_on = 'http://127.0.0.1:8080/v1'\n",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["declared of an option", "declared", "an address"],
)
def test_what_may_be_exchanged_behind_an_address_is_asked_again(
    counted, notes, tmp_path, keywords, after
):
    declare(tmp_path, f"Keywords: {keywords}")
    counted.configure(after=after)
    counted.put("batch", notes)
    counted.make("batch")
    counted.reads()

    made = counted.make("batch")

    assert counted.reads() == ids(notes)
    assert made.metadata["read"] == "8 of 8 notes read"


@pytest.mark.slow
def test_an_option_by_which_nothing_is_asked_is_no_address(counted, notes, tmp_path):
    declare(tmp_path, "Keywords: regex,asks-raise_on")
    counted.put("batch", notes)
    counted.make("batch")
    counted.reads()

    assert counted.make("batch").metadata["read"] == "0 of 8 notes read again"


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "[detectors.counting]\nnames = '(Zed|Xan)'\n"), ("reuse_answers = false\n", "")],
    ids=["options", "off"],
)
def test_other_options_or_the_setting_read_everything(counted, notes, before, after):
    counted.put("batch", notes)
    counted.make("batch")
    counted.reads()

    counted.configure(before=before, after=after)
    made = counted.make("batch")

    assert counted.reads() == ids(notes)
    assert made.metadata["read"] == "8 of 8 notes read"


def test_other_code_and_other_packages_read_everything(counted, notes, tmp_path):
    counted.put("batch", notes)
    counted.make("batch")
    counted.reads()

    declare(tmp_path, "Requires-Dist: deid-tallying")
    counted.make("batch")
    assert counted.reads() == ids(notes)

    code = tmp_path / "counting" / "deid_counting" / "__init__.py"
    code.write_text(f"{code.read_text()}# edited\n")
    end_workers()
    counted.make("batch")
    assert counted.reads() == ids(notes)


def test_another_version_of_a_model_that_is_installed_reads_everything(counted, notes, tmp_path):
    counted.configure(after="[detectors.counting]\nraise_on = 'deid_tallying'\n")
    counted.put("batch", notes)
    counted.make("batch")
    assert counted.reads() == ids(notes)

    (metadata,) = (tmp_path / "counting").glob("deid_tallying-*.dist-info/METADATA")
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    versions_behind.cache_clear()  # of a process, which starts anew
    counted.make("batch")

    assert counted.reads() == ids(notes)


def test_a_detector_that_depends_on_other_notes_reads_all_of_them(counted, notes, tmp_path):
    declare(tmp_path, "Keywords: regex,reads-batch")
    counted.put("batch", notes)
    for _ in range(2):
        counted.make("batch")
        assert counted.reads() == ids(notes)


def test_a_note_that_failed_is_asked_again(counted, notes):
    counted.configure(after="[detectors.counting]\nraise_on = 'Insulin'\n")
    counted.put("batch", notes)
    counted.make("batch")
    counted.reads()

    made = counted.make("batch")

    assert made.metadata["notes_read"] == 1
    assert set(counted.reads()) == {"note-4"}


def test_a_new_detector_is_made_alone(counted, notes):
    counted.put("batch", notes)
    counted.make("batch")
    counted.reads()

    counted.make("batch", "tallying")

    assert counted.reads() == Counter()
    assert counted.reads("tallying") == ids(notes)


@pytest.mark.parametrize("how", ["damaged", "foreign", "unsigned"])
def test_what_was_altered_answers_nothing(counted, notes, how):
    counted.put("batch", notes)
    counted.make("batch")
    honest = counted.spans("batch")
    folder = counted.path("spans_counting", "batch", "spans").parent
    if how == "damaged":
        path = counted.path("spans_counting", "batch", "spans")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif how == "foreign":
        counted.put("other", [Note(note.note_id, "Nobody.", note.patient_id) for note in notes])
        counted.make("other")
        shutil.rmtree(folder)
        shutil.copytree(folder.parent / "other", folder)
    else:
        receipt = json.loads((folder / "receipt.json").read_text())
        receipt["counts"]["spans"] = 0
        (folder / "receipt.json").write_text(json.dumps(receipt))
    counted.reads()

    made = counted.make("batch")

    assert counted.reads() == ids(notes)
    assert made.remarks == [
        "8 of 8 notes read",
        "spans_counting@batch was altered, and answers nothing",
    ]
    assert counted.spans("batch") == honest


def test_what_is_withdrawn_or_erased_answers_nothing(counted, records):
    first = counted.installation.receive(records)
    counted.run(first, *SPANS)
    second = counted.installation.receive(records[:5], name="second.jsonl")
    counted.run(second, *SPANS)
    opened = counted.opened()
    order = ErasureOrder("patient-3", AccessRequest("Officer", "Objection"))
    assert erase_patient(opened.settings, order) is not None
    found = look(opened.settings, opened.files, second)
    withdraw(opened.settings, opened.files, releases_of(opened.settings, opened.files), found)
    assert not [*counted.installation.store.glob("internal/*counting/*/*.parquet")]
    counted.reads()

    made, _ = counted.run(first, *SPANS)

    assert made["read"].value == "7 of 7 notes read"
    assert "note-3" not in counted.reads()


MAKING = """
import os
import sys

from deid_assets import plugins
from deid_assets.assets import answering
from deid_assets.assets.detection import make_spans
from deid_assets.config import Settings
from deid_assets.runtime import detectors
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import Snapshot

if __name__ == "__main__":
    answering.KEPT_S, answering.KEPT_SHARE = 0.0, 1e9
    detectors.CHUNK_CHARS = 300
    known, settings = plugins.available(), Settings.load()
    installed = {name: known[name] for name in ("counting", "tallying")}
    snapshot = Snapshot.take(settings, plugins=installed)
    make_spans("batch", Installation(settings, snapshot=snapshot), detector="counting")
"""


def test_what_a_killed_run_stored_is_not_read_again(counted, note_records, tmp_path):
    notes = notes_of([one for first in range(0, 64, 8) for one in note_records(first)])
    counted.configure(before="workers = 1\n", after="[detectors.counting]\npause = 0.1\n")
    counted.put("batch", notes)
    script = tmp_path / "making.py"
    script.write_text(MAKING)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    stored: set[str] = set()
    for _ in range(2):
        child = subprocess.Popen([sys.executable, str(script)], env=environment)
        patience = time.monotonic() + 120
        while len(begun(counted)) <= len(stored) + 2:
            assert child.poll() is None
            assert time.monotonic() < patience
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        time.sleep(1.0)  # a worker that lost its parent ends
        read = counted.reads()
        assert not stored & set(read)
        assert max(read.values()) == 1
        stored = begun(counted)

    made = counted.make("batch")

    assert counted.reads() == ids([note for note in notes if note.note_id not in stored])
    assert made.metadata["notes_read"] == len(notes) - len(stored)
    assert [row["note_id"] for row in counted.spans("batch")[0]] == [one.note_id for one in notes]
    assert begun(counted) == set()


def begun(counted):
    """Return the notes of which a run stored what it found before its end."""
    files = counted.opened().files
    if files.find("begun_counting", "batch") is None:
        return set()
    return set(files.read("begun_counting", "batch", "notes").column("note_id").to_pylist())


WORDS = st.sampled_from(["Zedquill", "Zedfinch", "walks", "4000001", "well.", "\n", "ß", "e\u0301"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=6)


@settings(
    max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(before=TEXTS, after=TEXTS)
def test_answers_are_the_same_with_and_without_what_is_stored(counted, before, after):
    def made_of(texts):
        return [Note(f"n{at}", text, f"p{at % 3}", "en") for at, text in enumerate(texts)]

    counted.configure()
    counted.put("batch", made_of(before))
    counted.make("batch")
    counted.put("batch", made_of([*before[:2], *after]))
    counted.make("batch")
    warm = counted.spans("batch")

    counted.configure(before="reuse_answers = false\n")
    counted.make("batch")
    cold = counted.spans("batch")

    without = [[{**row, "question": None} for row in table] for table in warm]
    assert without[0] == cold[0]
    assert warm[1] == cold[1]
