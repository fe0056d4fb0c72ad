"""An installation on disk with detectors of its own, for tests that run the asset graph."""

import json
import os
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no deadline", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("no deadline")

for variable in (
    "DEID_HOME",
    "DEID_CONFIG",
    "DEID_DATABASE_URL",
    "DEID_REPORTS_URL",
    "DAGSTER_HOME",
):
    # `make` names the installation beside it, which `make run` fills
    os.environ.pop(variable, None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # by a shell, in the background; the tests' processes would too
    signal.signal(signal.SIGINT, signal.default_int_handler)

STENCIL = '''
"""Test detector: names that begin with Zed, and seven-digit record numbers."""

import re

from deid_assets import Phi, Span, SpanSet

PATTERNS = ((Phi.NAME, re.compile(r"\\bZed[a-z]+\\b")), (Phi.MRN, re.compile(r"\\b[0-9]{7}\\b")))


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME, Phi.MRN})

    def __init__(self, *, raise_on="", skip="", import_fails=False):
        if import_fails:
            raise RuntimeError("no model file")
        self._raise_on, self._skip = raise_on, skip

    def detect(self, notes):
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        if self._raise_on and self._raise_on in note.text:
            raise LookupError(f"cannot read {note.text}")
        for label, pattern in PATTERNS:
            if label != self._skip:
                for match in pattern.finditer(note.text):
                    yield Span(match.start(), match.end(), label, 0.9, self.name)
'''

SETTINGS = """\
ensemble = ["stencil"]
recipes = []
policies = ["tag", "blackout"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
[gates]
min_gold_characters = 1
"""

PEOPLE = (
    "Zedmarlow",
    "Zedquill",
    "Zedharrow",
    "Zedpenrose",
    "Zedfinch",
    "Zedlister",
    "Zedwarrick",
    "Zedtolland",
)
STORIES = (
    (
        "Chest pain since noon, relieved by rest; troponin negative twice and the tracing is"
        " unchanged."
    ),
    "Fell on ice and landed on the left hip. Films show no break; walks with a frame.",
    "Fever and productive cough for four days, crackles at the right base, amoxicillin begun.",
    "Reviewed after cataract surgery: the wound is clean and vision has improved markedly.",
    "Insulin dose raised because morning sugars stay above target; diet was discussed at length.",
    "Migraine with aura twice a week. Started on a low dose of propranolol in the evening.",
    "Routine antenatal visit, fundal height as expected, movements felt, next scan booked.",
    "Psoriasis on elbows and scalp, topical steroid renewed, joints are quiet on examination.",
)


def lay_out_detector(site: Path, name: str, *, body: str = STENCIL) -> None:
    """Lay a detector's distribution out in a folder, as pip would."""
    package, info = site / f"deid_{name}", site / f"deid_{name}-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(body.replace("@NAME@", name))
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: deid_{name}\nVersion: 1.0\nSummary: For tests\n"
    )
    (info / "entry_points.txt").write_text(
        f"[deid_assets.detectors]\n{name} = deid_{name}:Detector\n"
    )


def make_record(
    number: int, story: str, *, person: str, record: int, gold: bool = True
) -> dict[str, object]:
    """One line of the exchange format, with its gold spans."""
    text = f"{person}, record {record}. {story}\n"
    mrn = text.index(str(record))
    spans = [
        {"start": 0, "end": len(person), "label": "NAME"},
        {"start": mrn, "end": mrn + 7, "label": "MRN"},
    ]
    fields = {"id": f"note-{number}", "lang": "en", "text": text, "patient_id": f"patient-{number}"}
    return {**fields, "spans": spans} if gold else fields


def make_records(first: int = 0, *, gold: bool = True) -> list[dict[str, object]]:
    """Eight notes about different things, all different for another ``first``."""
    return [
        make_record(
            first + n,
            story,
            person=f"{person}{chr(97 + first % 26)}",
            record=4_000_000 + first + n,
            gold=gold,
        )
        for n, (person, story) in enumerate(zip(PEOPLE, STORIES, strict=True))
    ]


class Installation:
    """A home folder with settings, and the graph run in process on it.

    Args:
        root: Holds ``deid.toml``, ``home/`` and ``dagster/``.
    """

    detectors: Sequence[str] = ("stencil", "shade")
    audits: Sequence[str] = ()
    default_settings = SETTINGS

    def __init__(self, root: Path) -> None:
        self.root, self.batch = root, ""
        self.ran: set[str] = set()
        self.home, self.dagster_home = root / "home", root / "dagster"

    @property
    def store(self) -> Path:
        return self.home / "store"

    def configure(self, settings: str) -> None:
        """Replace the settings."""
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "deid.toml").write_text(settings)

    def environment(self) -> dict[str, str]:
        """What a process of this installation needs to be told."""
        return {
            "DEID_CONFIG": str(self.root / "deid.toml"),
            "DEID_HOME": str(self.home),
            "DAGSTER_HOME": str(self.dagster_home),
            "DEID_KEY": "5a" * 32,
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "DAGSTER_REDACT_USER_CODE_ERRORS": "1",
        }

    def receive(self, records: Sequence[object], *, name: str = "notes.jsonl") -> str:
        """Drop a file, take it in, and return its batch."""
        from deid_assets.intake.landing import take_in

        landing = self.home / "landing"
        landing.mkdir(parents=True, exist_ok=True)
        (landing / name).write_text("".join(json.dumps(record) + "\n" for record in records))
        (batch,) = take_in(self.settings(), settle_s=0)
        return batch

    def settings(self):
        from deid_assets.config import Settings

        return Settings.load()

    def opened(self):
        """The installation, opened anew."""
        from deid_assets.runtime.installation import Installation as Opened

        return Opened(self.settings())

    def resources(self):
        """What a hand-made asset or sensor is given, as the graph gives it."""
        from deid_assets.defs.resources import installation_resource
        from deid_assets.runtime.snapshot import Snapshot

        return {"installation": installation_resource(Snapshot.take(self.settings(), plugins={}))}

    def definitions(self):
        """The graph with the test detectors only, so that what else is installed does
        not matter.
        """
        from deid_assets import plugins
        from deid_assets.defs.build import definitions_of_settings

        found = plugins.available()
        audits = plugins.available(plugins.AUDITS)
        return definitions_of_settings(
            self.settings(),
            plugins={name: found[name] for name in self.detectors},
            audits={name: audits[name] for name in self.audits},
        )

    @cached_property
    def instance(self):
        """A Dagster instance in memory: events in SQLite files would take most of the time."""
        import dagster as dg

        return dg.DagsterInstance.ephemeral()

    def run(self, batch: str | None, *assets: str, job: str = "main_job"):
        """Make assets of a batch, all if none is named, and return what Dagster says of the run."""
        import dagster as dg

        if batch:
            self.instance.add_dynamic_partitions("batches", [batch])
            self.ran.add(batch)
        return (
            self.definitions()
            .resolve_job_def(job)
            .execute_in_process(
                partition_key=batch,
                asset_selection=[dg.AssetKey(asset) for asset in assets] or None,
                instance=self.instance,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                raise_on_error=False,
            )
        )

    @staticmethod
    def failures(result) -> dict[str, str]:
        """Step to what Dagster shows of its failure."""
        steps = (event for event in result.all_events if event.is_step_failure)
        return {
            step.step_key: (
                step.step_failure_data.user_failure_data.description
                if step.step_failure_data.user_failure_data
                else step.step_failure_data.error_display_string
            )
            for step in steps
        }

    def run_scores(self):
        """Make the score cards and the leaderboard."""
        return self.run(None, job="nightly_scorecards")


WRITING = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.chmod",
    "os.link",
    "os.symlink",
    "shutil.rmtree",
    "sqlite3.connect",
}


def is_in_memory(database):
    """Whether an SQLite database is on no disk."""
    return "mode=memory" in str(database) or str(database) == ":memory:"


def counts_as_write(event, arguments):
    """Whether an event of Python's audit hooks changes what is on disk."""
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
    return event in WRITING and not (event == "sqlite3.connect" and is_in_memory(arguments[0]))


def run_killed_at(step, action):
    """Run ``action`` in a process that dies before its ``step``-th file operation.

    Return whether it died.

    A statement in SQLite counts as one, ``COMMIT`` among them; one of a database in memory does
    not: nothing is left of it.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        left = step

        def count(event, arguments):
            if counts_as_write(event, arguments):
                one()

        def one():
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def traced(*arguments, connect=sqlite3.connect, **options):
            connection = connect(*arguments, **options)
            if not is_in_memory(arguments[0]):
                connection.set_trace_callback(lambda _: one())
            return connection

        sys.addaudithook(count)
        sqlite3.connect = sqlite3.dbapi2.connect = traced
        code = 3
        try:
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


@pytest.fixture(scope="session")
def killed_at():
    """A function that runs another in a process, which dies before its n-th file operation."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    return run_killed_at


@pytest.fixture(scope="session")
def note_records():
    """A function that gives eight notes, others for another number."""
    return make_records


@pytest.fixture(scope="session")
def note_record():
    """A function that gives one note."""
    return make_record


@pytest.fixture(scope="session")
def write_detector():
    """A function that lays a detector's distribution out in a folder."""
    return lay_out_detector


@pytest.fixture(scope="session")
def detector_site(tmp_path_factory):
    """A folder on the path with the detectors ``stencil`` and ``shade``."""
    site = tmp_path_factory.mktemp("site")
    for name in Installation.detectors:
        lay_out_detector(site, name)
    sys.path.insert(0, str(site))
    yield site
    sys.path.remove(str(site))


_IMPORTED: list[bytes] = []
"""Which plugins could be imported in the last installation: trying all of them takes seconds."""


@contextmanager
def _installed(root: Path) -> Iterator[Installation]:
    from deid_assets.defs.instance import harden_process

    installation = Installation(root)
    before = dict(os.environ)
    os.environ.update(installation.environment())
    harden_process()
    memory = installation.home / "imports.json"
    if _IMPORTED and not memory.exists():
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_bytes(_IMPORTED[-1])
    try:
        yield installation
    finally:
        if memory.exists():
            _IMPORTED[:] = [memory.read_bytes()]
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _copied(made: Installation, root: Path) -> Iterator[Installation]:
    shutil.copytree(made.root, root)
    with _installed(root) as copy:
        copy.batch, copy.detectors = made.batch, made.detectors
        copy.ran = {*made.ran}
        copy.instance.add_dynamic_partitions("batches", sorted(made.ran))
        yield copy
        copy.instance.dispose()


@pytest.fixture(scope="session")
def installed(detector_site):
    """A context manager that opens an installation in a folder, for what a module makes once."""
    return _installed


@pytest.fixture(scope="session")
def copied(detector_site):
    """A context manager that opens a copy, in a folder, of an installation that was made once.

    Its Dagster instance knows the batches, and nothing of what was made.
    """
    return _copied


@pytest.fixture
def installation(tmp_path, detector_site):
    """An installation without notes."""
    with _installed(tmp_path / "installation") as fresh:
        fresh.configure(SETTINGS)
        yield fresh
        fresh.instance.dispose()


@pytest.fixture(scope="session")
def shipped_once(tmp_path_factory, detector_site):
    """An installation whose first batch is made in full; to be copied, see ``shipped``."""
    with _installed(tmp_path_factory.mktemp("shipped")) as made:
        made.configure(SETTINGS)
        made.batch = made.receive(make_records())
        assert made.failures(made.run(made.batch)) == {}
        assert made.failures(made.run_scores()) == {}
    yield made
    made.instance.dispose()


@pytest.fixture
def shipped(tmp_path, shipped_once):
    """A copy of an installation whose first batch, ``batch``, is made in full.

    ``history`` is the Dagster instance that made it, to be read only; ``instance`` knows nothing
    yet.
    """
    shutil.copytree(shipped_once.root, tmp_path / "shipped")
    with _installed(tmp_path / "shipped") as copy:
        copy.batch, copy.history = shipped_once.batch, shipped_once.instance
        yield copy
        copy.instance.dispose()
