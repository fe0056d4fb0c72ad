"""Leave ``make ui`` alone, or kill its processes at random, on an installation of its own.

Both sensors are on, and notes arrive from time to time, so that runs start by themselves.
``campaigns.py --left-alone MINUTES`` and ``--kill-daemon KILLS`` call it, with ``DEID_HOME`` set.

Memory is the resident set that is a process' own (``RssAnon`` of ``/proc``): pages of libraries are
shared, and come and go with the load of the machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError, InputError
from deid_assets.quickstart.sample import write_sample
from deid_assets.store.manifests import verify_release
from deid_assets.store.signing import PUBLIC_KEY, PublicKey

ROOT = Path(__file__).parents[1]
LOOK_S = 60.0
ARRIVAL_LOOKS = 10
"""Looks between two arrivals."""
NOTES = 20
"""Notes of an arrival."""
END_S = 60.0
"""Time within which a signal must have ended every process."""
ROLES = {
    "deid_assets.quickstart.reports_server": "server of reports",
    "deid_assets.quickstart.ui": "make ui",
    "deid_assets.quickstart.web": "web server",
    "dagster._daemon": "daemon",
    "grpc": "code server",
}
"""Words of a command line to what its process is called; other processes are those of runs."""
OF_RUNS = "runs and their workers"


def watch(minutes: int) -> int:
    """Print what each process holds, minute by minute; return 0 if one signal ended all of them.

    Args:
        minutes: How long it is left alone.

    Raises:
        InputError: ``DEID_HOME`` is not set.
    """
    settings, ui = _own_settings(), _start_ui()
    held: dict[str, list[float]] = defaultdict(list)
    try:
        _start_sensors()
        for look in range(minutes):
            if look % ARRIVAL_LOOKS == 0:
                _drop(settings.landing, look)
            time.sleep(LOOK_S)
            found = _memory(ui.pid)
            for role, size in found.items():
                held[role].append(size)
            said = ", ".join(f"{role} {size:.0f}" for role, size in sorted(found.items()))
            print(f"  minute {look + 1}: {said}", flush=True)
            if ui.poll() is not None:
                print(f"make ui ended by itself with {ui.returncode}")
                return 1
        left = _end(ui)
    finally:
        ui.kill()
    for role, sizes in held.items():
        print(
            f"{role}: MB at first {sizes[0]:.0f}, half-way {sizes[len(sizes) // 2]:.0f},"
            f" at the end {sizes[-1]:.0f}, at most {max(sizes):.0f}; seen {len(sizes)} times"
        )
    released = sum(1 for _ in (settings.home / "released").glob("b-*"))
    print(f"{released} batches released; {len(left)} processes left {END_S:.0f} s after SIGTERM")
    return 1 if left else 0


def kill(times: int, *, seed: int) -> int:
    """Kill a process of ``make ui`` so often while runs are under way; return 0 if all held.

    Each release verifies after each kill; at last ``make run`` completes, and every batch that
    arrived is released, what was waiting at the start among them.

    Args:
        times: How many kills.
        seed: Of moments and processes.

    Raises:
        InputError: ``DEID_HOME`` is not set.
    """
    settings, rng = _own_settings(), Random(seed)
    wanted = len(_list_arrived(settings)) + len(_waiting(settings)) + times
    ui = _start_ui()
    starts = 1
    killed: Counter[str] = Counter()
    faults: list[str] = []
    try:
        _start_sensors()
        for number in range(times):
            _drop(settings.landing, 1_000 * seed + number)
            time.sleep(rng.uniform(30, 90))
            while len(every := _descendants(ui.pid)) < 2:  # it ends with any of its servers
                ui.kill()
                ui = _start_ui()
                starts += 1
                time.sleep(rng.uniform(30, 90))
            victim = rng.choice(every[1:])
            with contextlib.suppress(OSError):
                killed[_role_of(victim)] += 1
                os.kill(victim, signal.SIGKILL)
            faults += _list_refused(settings.home)
            print(f"  {dict(killed)}; {starts} starts; {len(faults)} faults", flush=True)
        faults += [f"process {pid} is left" for pid in _end(ui)]
    finally:
        ui.kill()
    done = subprocess.run(
        [sys.executable, "-m", "deid_assets.quickstart"], cwd=ROOT, capture_output=True, check=False
    )
    faults += _list_refused(settings.home)
    faults += _incomplete(settings, wanted)
    if done.returncode:
        faults.append(f"make run ended with {done.returncode}")
    found = _list_released(settings.home)
    print(f"{times} kills: {dict(killed)}; {len(found)} releases; {faults or 'all held'}")
    return 1 if faults else 0


def _own_settings() -> Settings:
    if "DEID_HOME" not in os.environ:
        raise InputError("DEID_HOME is not set; name an installation of this campaign's own")
    return Settings.load()


def _start_ui() -> subprocess.Popen[bytes]:
    ports = [str(_free_port()) for _ in range(2)]
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "deid_assets.quickstart.ui"),
            *("--port", ports[0], "--reports-port", ports[1]),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _list_released(home: Path) -> set[str]:
    return {path.name for path in (home / "released").glob("b-*")}


def _list_arrived(settings: Settings) -> set[str]:
    """Return the batches that were taken in."""
    taken = settings.store / "restricted" / "landing"
    return {path.name for path in taken.glob("b-*")}


def _waiting(settings: Settings) -> list[Path]:
    """Return what lies in the landing folder."""
    return [path for path in settings.landing.glob("*") if not path.name.startswith(".")]


def _incomplete(settings: Settings, wanted: int) -> list[str]:
    """Return what is missing of so many arrivals, each of which is a batch that is released."""
    arrived, left = _list_arrived(settings), len(_waiting(settings))
    faults = [
        f"{batch} is not released" for batch in sorted(arrived - _list_released(settings.home))
    ]
    if left:
        faults.append(f"{left} arrivals are left in the landing folder")
    if len(arrived) + left != wanted:
        faults.append(f"{wanted} arrivals were dropped, and {len(arrived)} batches were taken in")
    return faults


def _list_refused(home: Path) -> list[str]:
    """Return the releases that a reader would refuse: altered, or not as they were signed."""
    faults = []
    for batch in sorted(_list_released(home)):
        try:
            verify_release(home / "released" / batch, key=PublicKey.read(home / PUBLIC_KEY))
        except DeidError as error:
            faults.append(str(error))
    return faults


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _start_sensors() -> None:
    subprocess.run(
        [sys.executable, "-m", "dagster", "sensor", "start", "--start-all", "-w", "workspace.yaml"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


def _drop(landing: Path, seed: int) -> None:
    """Lay new notes into the landing folder, whole from the first moment."""
    landing.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=landing.parent) as beside:
        for path in write_sample(Path(beside), notes=NOTES, seed=10_000 + seed, langs=("en",)):
            shutil.move(path, landing / f"arrival-{seed}-{path.name}")


def _memory(root: int) -> dict[str, float]:
    """Return the megabytes that processes hold, by role, of all that descend from one."""
    held: dict[str, float] = defaultdict(float)
    for pid in _descendants(root):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            kilobytes = next(
                (int(line.split()[1]) for line in status.splitlines() if "RssAnon" in line), 0
            )
            held[_role_of(pid)] += kilobytes / 1024
    return dict(held)


def _role_of(pid: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return next((name for words, name in ROLES.items() if words in command), OF_RUNS)


def _descendants(root: int) -> list[int]:
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(stat.parent.name))
    found = [root]
    for each in found:
        found += children[each]
    return found


def _end(ui: subprocess.Popen[bytes]) -> list[int]:
    """End ``make ui`` by one signal and return the processes that are left after a while."""
    every = _descendants(ui.pid)
    ui.send_signal(signal.SIGTERM)
    until = time.monotonic() + END_S
    left = every
    while left and time.monotonic() < until:
        ui.poll()
        left = [pid for pid in every if _is_there(pid)]
        time.sleep(0.5)
    return left


def _is_there(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
