"""A new detector beside many: seconds from the reload of the code location to its assets, and
seconds of a tick of the detector sensor over many batches.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pyarrow as pa
import requests
from conditions import conditions

from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.defs.build_spans import list_expected_spans
from deid_assets.defs.histories import batches_under_way, tick
from deid_assets.defs.placing import Place
from deid_assets.runtime.histories import histories
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.store.files import RECEIPT, StoreFiles, UnsignedReceipt
from deid_assets.store.zones import zone_of

BODY = """
from deid_assets import Phi, SpanSet


class Detector:
    name, version, labels = "@NAME@", "1", frozenset({Phi.NAME})

    def detect(self, notes):
        return [SpanSet.of(note, []) for note in notes]
"""
RELOAD = (
    'mutation { reloadRepositoryLocation(repositoryLocationName: "deid_assets") { __typename } }'
)
KEYS = "{ assetNodes { assetKey { path } } }"
LATE = "latecomer"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detectors", type=int, default=30)
    parser.add_argument("--batches", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ |= {
            "DEID_HOME": str(root / "home"),
            "DAGSTER_HOME": str(root / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "DEID_KEY": "5a" * 32,
            "DEID_CONFIG": str(root / "deid.toml"),
        }
        names = [f"invented_{number}" for number in range(options.detectors)]
        (root / "deid.toml").write_text(f'ensemble = ["{names[0]}"]\nrecipes = []\n')
        for name in names:
            _lay_out(root / "site", name)
        sys.path.insert(0, str(root / "site"))
        _tick(names, options.batches, options.repeats)
        _reload(root, options.repeats)


def _tick(names: list[str], batches: int, repeats: int) -> None:
    """Time ticks of the sensor: the first, which reads every receipt, and later ones."""
    settings = Settings.load()
    snapshot = Snapshot.take(settings)
    expected = {name: one for name, one in list_expected_spans(snapshot).items() if name in names}
    files = StoreFiles(settings.store, key=settings.receipt_key())
    _fill(files, "raw_notes", "1", batches)
    for name, one in expected.items():
        _fill(files, Family.SPANS.of(name), one.code, batches if name != names[-1] else 17)
    installation = Installation(settings, snapshot=snapshot)
    with dg.DagsterInstance.ephemeral() as instance:
        cursor: str | None = None
        found, used = [], []
        for _ in range(repeats + 1):
            started, spent = time.perf_counter(), time.process_time()
            arriving = batches_under_way(instance)
            known = histories(settings.store, expected, without=arriving)
            told = tick(instance, installation, Place(), known, cursor=cursor)
            found.append(time.perf_counter() - started)
            used.append(time.process_time() - spent)
            cursor = told.cursor if isinstance(told, dg.SensorResult) else cursor
    print(f"{known[names[-1]].progress} of {names[-1]}: {known[names[-1]].state}")
    print(
        f"tick, {len(names)} detectors, {batches:,} batches: first {found[0]:.2f} s, later"
        f" {_spread(found[1:])}"
    )
    print(f"of processor time: first {used[0]:.2f} s, later {_spread(used[1:])}")


def _fill(files: StoreFiles, asset: str, code: str, batches: int) -> None:
    """Give an asset a receipt in so many batches: one that is written, and copies of it."""
    table = pa.table({"note_id": pa.array([], pa.string())})
    files.write(asset, "b-0000", {"notes": table}, receipt=UnsignedReceipt(code))
    folder = files.root / zone_of(asset) / asset
    for number in range(1, batches):
        other = folder / f"b-{number:04}"
        other.mkdir()
        shutil.copy(folder / "b-0000" / RECEIPT, other / RECEIPT)


def _reload(root: Path, repeats: int) -> None:
    """Time the reload of a code location in a web server, until the new detector is listed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    checkout = Path(__file__).parents[1]
    inherited = os.environ.get("PYTHONPATH", "")
    paths = os.pathsep.join(filter(None, [str(root / "site"), inherited]))
    command = [str(Path(sys.executable).with_name("dagster-webserver"))]
    (root / "dagster").mkdir(exist_ok=True)
    with (root / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "-w", str(checkout / "workspace.yaml"), "-h", "127.0.0.1", "-p", port],
            env={**os.environ, "PYTHONPATH": paths},
            stdout=log,
            stderr=log,
        )
    try:
        asked = f"http://127.0.0.1:{port}/graphql"
        _wait(lambda: "spans_invented_0" in _keys(asked))
        found = []
        for number in range(repeats):
            _lay_out(root / "site", f"{LATE}_{number}")
            started = time.perf_counter()
            requests.post(asked, json={"query": RELOAD}, timeout=120)
            _wait(lambda wanted=f"spans_{LATE}_{number}": wanted in _keys(asked), pause_s=0.02)
            found.append(time.perf_counter() - started)
    finally:
        server.terminate()
        server.wait(30)
    print(f"reload to visible plugin: {_spread(found)}")


def _keys(asked: str) -> set[str]:
    try:
        answer = requests.post(asked, json={"query": KEYS}, timeout=60).json()
    except requests.ConnectionError:
        return set()
    return {node["assetKey"]["path"][-1] for node in answer["data"]["assetNodes"]}


def _wait(holds: Callable[[], bool], *, pause_s: float = 0.5, limit_s: float = 240) -> None:
    end = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("the web server does not show what it should")
        time.sleep(pause_s)


def _lay_out(site: Path, name: str) -> None:
    """Lay a detector's distribution out in a folder, as pip would."""
    package, info = site / f"deid_{name}", site / f"deid_{name}-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BODY.replace("@NAME@", name))
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: deid_{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[deid_assets.detectors]\n{name} = deid_{name}:Detector\n"
    )


def _spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"median {ordered[len(ordered) // 2]:.2f} s ({ordered[0]:.2f} to {ordered[-1]:.2f})"


if __name__ == "__main__":
    main()
