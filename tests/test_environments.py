"""Detectors in virtual environments of their own, made for the tests."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from deid_assets import Note, Phi, SpanSet, plugins
from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import PluginError, ProvenanceError
from deid_assets.defs.build import definitions_of
from deid_assets.plugins import environments
from deid_assets.runtime.importing import add_import_faults
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.runtime.taggers import find_installed_detectors

pytestmark = pytest.mark.long
SECRET = "Zedmarlow"
SIDEKICK = '''
"""Finds names with a library that is in its own environment alone, and tells all it reads."""

import logging
import os
import sys

import oddlib

from deid_assets import Phi, Span, SpanSet


class Detector:
    name = "@NAME@"
    version = oddlib.__version__
    labels = frozenset({Phi.NAME})
    native_labels = frozenset({"person"})

    def __init__(self, *, name="@NAME@", score=0.9):
        self.name, self._score = name, score

    def detect(self, notes):
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        print(note.text)
        os.write(2, note.text.encode())
        logging.getLogger().error("read %s", note.text)
        if "RAISE" in note.text:
            raise LookupError(note.text)
        if "NAMED" in note.text:
            raise type(note.text.split()[0], (Exception,), {})
        if "ABORT" in note.text:
            os.abort()
        if "WAIT" in note.text:
            sys.stdin = open(note.meta["pipe"])
            sys.stdin.read()
        for match in oddlib.NAMES.finditer(note.text):
            yield Span(*match.span(), Phi.NAME, self._score, self.name, "person")
'''
ODDLIB = 'import re\n\n__version__ = "7"\nNAMES = re.compile(r"\\bZed[a-z]+\\b")\n'


@pytest.fixture(scope="module")
def made_venv(tmp_path_factory, write_detector):
    """A virtual environment with the detector ``sidekick`` and nothing else at all."""
    folder = tmp_path_factory.mktemp("venv") / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    write_detector(site, "sidekick", body=SIDEKICK)
    (site / "oddlib.py").write_text(ODDLIB)
    info = site / "oddlib-7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: oddlib\nVersion: 7\n")
    return folder


@pytest.fixture
def venv(made_venv):
    (site,) = made_venv.glob("lib/python*/site-packages")
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    yield made_venv
    for path, content in before.items():
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def site_of(venv):
    (site,) = venv.glob("lib/python*/site-packages")
    return site


def loaded(venv, **options):
    return plugins.load("sidekick", options={"environment": str(venv), **options})


def notes(*texts):
    return [Note(f"n-{number}", text) for number, text in enumerate(texts)]


def test_it_detects_there_and_not_here(venv):
    with pytest.raises(PluginError, match="unknown detector 'sidekick'"):
        plugins.load("sidekick")

    detector = loaded(venv, score=0.5)
    (first, second) = detect(detector, notes(f"{SECRET}, seen.", "Nobody."))

    (span,) = first
    assert (span.start, span.end, span.label, span.score) == (0, 9, Phi.NAME, 0.5)
    assert (span.source, span.native_label) == ("sidekick", "person")
    assert len(second) == 0
    assert (detector.version, detector.labels) == ("7", {Phi.NAME})


def test_a_note_that_raises_or_ends_the_process_is_named_and_the_others_are_read(venv):
    found = detect(loaded(venv), notes("Zeda", "RAISE Zedb", "Zedc", "ABORT", "NAMED Zedd", "Zede"))

    assert [type(one) for one in found] == [SpanSet, Failed, SpanSet, Failed, Failed, SpanSet]
    assert [(one.note_id, one.error) for one in found if isinstance(one, Failed)] == [
        ("n-1", "LookupError"),
        ("n-3", "DetectorError"),
        ("n-4", "Exception"),
    ]
    assert [len(one) for one in found if isinstance(one, SpanSet)] == [1, 1, 1]


def test_one_that_ends_every_process_is_given_up(venv, monkeypatch):
    monkeypatch.setattr(environments, "MAX_ENDS", 3)
    found = detect(loaded(venv), notes(*["ABORT"] * 5))

    assert [one.error for one in found] == ["DetectorError"] * 2 + ["PluginError"] * 3


def test_nothing_of_a_note_is_printed_logged_or_left_in_a_file(venv, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    detect(loaded(venv), notes(f"{SECRET} RAISE", f"{SECRET} ABORT", SECRET))

    assert capfd.readouterr() == ("", "")
    assert [*tmp_path.rglob("*")] == []


BUSY = """
import sys
from deid_assets import Note, plugins
detector = plugins.load("sidekick", options={"environment": sys.argv[1]})
print(detector._process._process.pid, flush=True)
detector.detect([Note("n", "WAIT", meta={"pipe": sys.argv[2]})])
"""


def test_a_busy_one_ends_with_the_process_that_started_it(venv, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    parent = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(venv), str(pipe)], stdout=subprocess.PIPE
    )
    child = int(parent.stdout.readline())
    writer = os.open(pipe, os.O_WRONLY)  # returns once the detector reads
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    end = time.monotonic() + 20
    while is_alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    os.close(writer)
    assert not is_alive(child)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("folder", "name", "told"),
    [
        ("", "sidekick", "is no virtual environment; make one: python -m venv"),
        ("own", "absent", "has no detector 'absent'; install its plugin there:"),
    ],
)
def test_what_is_missing_is_told_with_its_remedy(made_venv, folder, name, told):
    environment = made_venv if folder else made_venv.parent / "none"
    with pytest.raises(PluginError, match=told):
        plugins.load(name, options={"environment": str(environment)})


def test_an_option_it_does_not_take_and_a_library_it_lacks_are_told(venv):
    with pytest.raises(PluginError, match=r"does not load \(TypeError\); build it in .*/python"):
        loaded(venv, colour="red")

    (site_of(venv) / "oddlib.py").unlink()
    told = r"cannot be imported \(ModuleNotFoundError\); .*/python -c 'import deid_sidekick'"
    with pytest.raises(PluginError, match=told):
        loaded(venv)


@pytest.fixture
def house(installation, venv):
    """An installation that runs ``sidekick`` in its environment by one line of the settings."""
    installation.configure(
        f'detectors.sidekick.environment = "{venv}"\n{installation.default_settings}'
    )
    return installation


def taken(house, memory):
    found = find_installed_detectors(house.settings())
    chosen = {name: found[name] for name in ("stencil", "sidekick")}
    return Snapshot.take(house.settings(), plugins=add_import_faults(chosen, memory))


def test_the_graph_runs_it_and_knows_its_libraries(house, venv, note_records, tmp_path):
    snapshot = taken(house, tmp_path / "imports.json")
    defs = definitions_of(snapshot)
    batch = house.receive(note_records())
    house.instance.add_dynamic_partitions("batches", [batch])
    result = defs.resolve_job_def("main_job").execute_in_process(
        partition_key=batch,
        asset_selection=[dg.AssetKey(name) for name in ("raw_notes", "spans_sidekick")],
        instance=house.instance,
        raise_on_error=False,
    )
    assert house.failures(result) == {}
    spans = house.opened().files.read("spans_sidekick", batch, "spans")
    assert spans.num_rows == 8

    snapshot.check_unchanged(["sidekick"])
    info = site_of(venv) / "oddlib-7.dist-info" / "METADATA"
    info.write_text(info.read_text().replace("Version: 7", "Version: 8"))
    after = taken(house, tmp_path / "imports.json")
    assert after.detectors["sidekick"].code_version != snapshot.detectors["sidekick"].code_version
    assert after.detectors["stencil"].code_version == snapshot.detectors["stencil"].code_version


def test_a_library_that_is_missing_there_is_shown_in_the_graph(house, venv, tmp_path):
    (site_of(venv) / "oddlib.py").unlink()
    specs = definitions_of(taken(house, tmp_path / "imports.json")).resolve_all_asset_specs()

    (spec,) = [one for one in specs if one.key.to_user_string() == "spans_sidekick"]
    assert spec.group_name == "unusable_detectors"
    assert "cannot be imported (ModuleNotFoundError)" in spec.description


def test_one_plugin_runs_in_two_environments_under_two_names(house, venv):
    settings = house.settings().model_copy(
        update={
            "detectors": {
                "partner": {"plugin": "sidekick", "environment": str(venv), "score": 0.25},
            }
        }
    )
    snapshot = Snapshot.take(settings)
    assert snapshot.detectors["partner"].environment == str(venv)
    options = {"environment": str(venv), "score": 0.25}
    (spans,) = detect(plugins.load("partner", plugin="sidekick", options=options), notes("Zeda"))
    assert [span.source for span in spans] == ["partner"]

    promised = snapshot.digest
    snapshot.check_unchanged(["partner"])
    (site_of(venv) / "oddlib-7.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: oddlib\nVersion: 8\n"
    )
    with pytest.raises(ProvenanceError, match="plugin 'partner' changed"):
        snapshot.check_unchanged(["partner"])
    assert Snapshot.take(settings).digest != promised


def test_the_shell_and_the_comparison_run_it_too(venv, tmp_path):
    source = tmp_path / "notes.jsonl"
    gold = [{"start": 0, "end": 9, "label": "NAME"}]
    source.write_text(
        "".join(
            json.dumps({"id": f"n{at}", "lang": "en", "text": f"{SECRET}, {at}.", "spans": gold})
            + "\n"
            for at in range(3)
        )
    )
    option = ["--detector", "sidekick", "--option", f"sidekick.environment={venv}"]
    out = tmp_path / "spans.jsonl"
    done = deid("detect", source, *option, "--out", out)
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text().splitlines()[0])["spans"][0]["source"] == "sidekick"

    pytest.importorskip("deid_evaluation")
    compared = deid("bench", source, *option, "--gold", "--out", tmp_path / "bench")
    assert compared.returncode == 0, compared.stderr
    assert "sidekick" in compared.stdout


def deid(*arguments):
    command = [Path(sys.executable).with_name("deid"), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_environment_is_no_option_of_the_plugin():
    assert environments.set_apart({"environment": "/x", "model": "m"}) == ("/x", {"model": "m"})
    assert environments.set_apart({}) == ("", {})
