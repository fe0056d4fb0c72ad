"""What is edited while a run reads notes.

The run is refused, or goes on with what it began with.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import deid_assets
import deid_resources

pytestmark = pytest.mark.long

EDITING = '''
"""Edits a file while it reads notes, as somebody else might."""

import os
from pathlib import Path

import deid_assets
from deid_assets import Phi, SpanSet

HOME = os.environ["DEID_HOME"]
FILES = {
    "plugin": (__file__, "# edited"),
    "settings": (os.environ["DEID_CONFIG"], "[detectors.stencil]\\nskip = 'NAME'"),
    "model": (f"{HOME}/model/weights", "edited"),
    "secret": (f"{HOME}/secret.key", "ab"),
    "core": (f"{Path(deid_assets.__file__).parent}/core/redact.py", "# edited"),
}


class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def __init__(self, *, edits, model=""):
        self._path, self._line = FILES[edits]

    def detect(self, notes):
        with open(self._path, "a") as file:
            file.write(f"{self._line}\\n")
        return [SpanSet.of(note, []) for note in notes]
'''


@pytest.fixture
def editing(installation, write_detector, tmp_path, monkeypatch):
    """An installation with a detector that edits.

    A function that says what, and makes its spans.
    """
    site, model = tmp_path / "editing", installation.home / "model"
    write_detector(site, "editing", body=EDITING)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delenv("DEID_KEY")
    model.mkdir(parents=True)
    (model / "weights").write_text("trained")
    installation.detectors = ("stencil", "shade", "editing")

    def configure(edits):
        options = f'[detectors.editing]\nedits = "{edits}"\nmodel = "{model}"\n'
        installation.configure(installation.default_settings + options)

    return configure


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        (
            "plugin",
            (
                "plugin 'editing' changed since this process started; nothing was stored; start the"
                " process again"
            ),
        ),
        (
            "model",
            "a file that the options of detector 'editing' name changed since this process started",
        ),
        ("secret", "the secret changed since this process started; nothing was stored"),
    ],
)
def test_what_was_edited_during_a_run_is_refused(
    installation, editing, note_records, edits, message
):
    editing(edits)
    batch = installation.receive(note_records())

    failures = installation.failures(installation.run(batch, "raw_notes", "spans_editing"))

    assert failures.keys() == {"spans_editing"}
    assert message in failures["spans_editing"]
    assert not list(installation.store.glob("internal/spans_editing/*/receipt.json"))


def test_settings_edited_during_a_run_are_not_followed(installation, editing, note_records):
    editing("settings")
    batch = installation.receive(note_records())

    result = installation.run(
        batch, "raw_notes", "gold_annotations", "spans_editing", "spans_stencil", "merged_spans"
    )

    assert installation.failures(result) == {}
    assert "skip = 'NAME'" in (installation.root / "deid.toml").read_text()
    found = (
        installation.opened()
        .files.read("spans_stencil", batch, "spans")
        .column("label")
        .to_pylist()
    )
    assert found.count("NAME") == found.count("MRN") == 8


SPANS = """
import os, sys
import dagster as dg
from deid_assets.defs.build import definitions_of
from deid_assets.config import Settings
from deid_assets.runtime.checks import check_snapshot

defs = definitions_of(check_snapshot(Settings.load()))
instance = dg.DagsterInstance.ephemeral()
instance.add_dynamic_partitions("batches", [sys.argv[1]])
result = defs.resolve_job_def("main_job").execute_in_process(
    partition_key=sys.argv[1], instance=instance, raise_on_error=False,
    asset_selection=[dg.AssetKey("raw_notes"), dg.AssetKey("spans_editing")],
    run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
)
for event in result.all_events:
    if event.is_step_failure:
        print(event.step_key, event.step_failure_data.user_failure_data.description)
"""


@pytest.mark.slow
def test_code_of_the_package_edited_during_a_run_is_refused(
    installation, editing, note_records, tmp_path
):
    """In a process of its own, on a copy of the package: other tests run the original."""
    editing("core")
    batch = installation.receive(note_records())
    for package in (deid_assets, deid_resources):
        folder = Path(package.__file__).parent
        shutil.copytree(
            folder, tmp_path / "copy" / folder.name, ignore=shutil.ignore_patterns("__pycache__")
        )
    (tmp_path / "copy" / "spans.py").write_text(SPANS)

    done = subprocess.run(
        [sys.executable, tmp_path / "copy" / "spans.py", batch],
        capture_output=True,
        text=True,
        check=False,
        cwd=installation.root,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                map(str, [tmp_path / "copy", tmp_path / "editing", *sys.path])
            ),
        },
    )

    assert "# edited" in (tmp_path / "copy" / "deid_assets" / "core" / "redact.py").read_text()
    assert "spans_editing" in done.stdout, done.stderr[-2000:]
    assert (
        "files of deid-assets changed since this process started; nothing was stored; start the"
        " process" in done.stdout
    )
    assert not list(installation.store.glob("internal/spans_editing/*/receipt.json"))


LAUNCHED = """
import os, sys
import dagster as dg
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._grpc.server import LoadedRepositories

served = LoadedRepositories(
    LoadableTargetOrigin(module_name="deid_assets.definitions", attribute="defs"),
    container_image=None, entry_point=["dagster"], container_context=None,
    code_location_name="deid_assets",
)
(repository,) = served.definitions_by_name.values()
carried = repository.repository_load_data
with open(os.environ["DEID_CONFIG"], "a") as file:
    file.write(sys.argv[1])
for name in [name for name in sys.modules if name.partition(".")[0] == "deid_assets"]:
    del sys.modules[name]  # as in the run's own process
DefinitionsLoadContext.set(DefinitionsLoadContext(DefinitionsLoadType.RECONSTRUCTION, carried))
try:
    from deid_assets.definitions import defs
    with dg.build_resources({"installation": defs.resources["installation"]}) as opened:
        opened.installation.snapshot.check_promised()
    print("accepted")
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("", "accepted"),
        (
            "[gates]\nresidual = 0.5\n",
            "ProvenanceError settings, policies, plugins or code changed since the code",
        ),
        (
            "[release]\napproval = true\n",
            "ProvenanceError settings, policies, plugins or code changed since the code",
        ),
    ],
    ids=["nothing", "a limit", "the graph"],
)
def test_a_run_follows_no_other_settings_than_the_code_server_that_launched_it(
    installation, added, said
):
    installation.configure('ensemble = ["stencil"]\nrecipes = []\n')

    done = subprocess.run(
        [sys.executable, "-c", LAUNCHED, added],
        capture_output=True,
        text=True,
        check=False,
        cwd=installation.root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert said in done.stdout, done.stderr[-2000:]
