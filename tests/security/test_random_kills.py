"""``make run`` and ``make backfill`` killed at random times.

Nothing unsafe is released, what is released verifies, and the next run completes.

Each try is a process with everything loaded, split off from one that made a run before; from there
on it is the program itself, with a Dagster instance on disk and worker processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from random import Random

import dagster as dg
import pytest

from deid_assets import plugins
from deid_assets.backfill.command import main as backfill
from deid_assets.cli import app
from deid_assets.defs.instance import write_instance
from deid_assets.plugins import installed as installed_plugins
from deid_assets.quickstart.command import main
from deid_assets.store.manifests import verify_release
from deid_assets.vault.keys import Keyring
from deid_assets.vault.store import Vault
from deid_assets.vault.upkeep import verify

VAULT_KEY = "6c" * 32
ORPHANS_S = 120.0


@dataclass
class Scene:
    """An installation before a run, and what a run that nobody disturbs makes of it.

    Args:
        start: A copy of its folder.
        before: The notes that are released at the start, by batch, as bytes.
        after: The notes that are released in the end.
        originals: Digests of what was dropped.
        seconds: How long the whole run took.
        program: What is killed, and then completes.
    """

    start: Path
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    originals: set[str] = field(default_factory=set)
    seconds: float = 0.0
    program: Callable[[list[str]], int] = main


def quiet(program: Callable[[list[str]], int] = main) -> int:
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
        return program([])


def in_process(
    program: Callable[[list[str]], int] = main,
    kill_after_s: float | None = None,
    *,
    whole_group: bool = False,
) -> int | None:
    """Run a program in a process; return its exit code, or ``None`` where it was killed."""
    sys.stdout.flush()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 9
        try:
            os.setsid()
            code = quiet(program)
        except BaseException:  # noqa: BLE001 - told, and an exit code
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    while kill_after_s is None or time.monotonic() - started < kill_after_s:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if whole_group else os.kill)(child, signal.SIGKILL)
    os.waitpid(child, 0)
    until = time.monotonic() + ORPHANS_S
    while _members(child):
        assert time.monotonic() < until, "worker processes outlive the run"
        time.sleep(0.05)
    return None


def _members(session: int) -> list[int]:
    """Processes of a session that are no zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def digests(*folders: Path) -> set[str]:
    return {
        hashlib.sha256(path.read_bytes()).hexdigest()
        for each in folders
        for path in each.rglob("*.jsonl")
    }


def released(installation) -> dict[str, bytes]:
    """The notes of each release that a reader sees, after checking it."""
    folder = installation.home / "released"
    found = {}
    for batch in sorted(folder.glob("b-*")) if folder.is_dir() else []:
        verify_release(batch, key=installation.opened().release_signer.public)
        found[batch.name] = (batch / "notes.jsonl").read_bytes()
    return found


@pytest.fixture
def house(installation, note_records, monkeypatch, tmp_path):
    """An installation with the test detectors alone, a vault, and temporary files of its own."""

    def chosen():
        every = entry_points()
        found = (one for group in every.groups for one in every.select(group=group))
        return EntryPoints(
            one for one in found if one.group != plugins.GROUP or one.name in installation.detectors
        )

    monkeypatch.setattr(installed_plugins, "entry_points", chosen)
    monkeypatch.setenv("DEID_VAULT_KEY", VAULT_KEY)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    installation.detectors = ("stencil",)
    vault = f'\n[vault]\nurl = "sqlite:///{installation.root / "vault" / "vault.db"}"\n'
    policies = installation.default_settings.replace(
        'policies = ["tag", "blackout"]', 'policies = ["tag"]'
    )
    installation.configure(policies + vault)
    with dg.DagsterInstance.from_config(str(write_instance(installation.dagster_home))) as instance:
        instance.add_dynamic_partitions("batches", [])  # makes its tables
    drop(installation, "a.jsonl", note_records())
    return installation


def drop(installation, name, records):
    path = installation.home / "landing" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def scenes(house, folder):
    """A first run, and one on a house that has released, under another policy."""
    shutil.copytree(house.root, folder / "as it was")
    assert quiet() == 0  # here, so that all is loaded in every process that is split off
    shutil.rmtree(house.root)
    shutil.copytree(folder / "as it was", house.root)
    for number in range(2):
        yield scene_of(house, folder / f"start-{number}", main)
        shutil.rmtree(house.root)
        shutil.copytree(folder / f"start-{number}", house.root)
        assert in_process() == 0
        choose_blackout(house)


def scene_of(house, start, program):
    """What stands there before a program runs, and what it makes of it undisturbed."""
    scene = Scene(start, before=released(house), program=program)
    shutil.copytree(house.root, scene.start)
    scene.originals = digests(house.home / "landing", house.store / "restricted" / "landing")
    started = time.monotonic()
    assert in_process(program) == 0
    scene.seconds, scene.after = time.monotonic() - started, released(house)
    return scene


def choose_blackout(house):
    settings = house.root / "deid.toml"
    settings.write_text(settings.read_text().replace('"tag"', '"blackout"'))


def check_after_kill(house, scene, what):
    """Nothing but what stood there or what is meant to is released; what arrived is there."""
    found = released(house)
    for batch, notes in found.items():
        assert notes in (scene.before.get(batch), scene.after[batch]), f"{what}: {batch}"
    assert found.keys() >= scene.before.keys(), f"{what}: a release is gone"
    arrived = digests(house.home / "landing", house.store / "restricted" / "landing")
    assert arrived >= scene.originals, f"{what}: what arrived is gone"


def check_completed(house, scene, what):
    """All is released as if nobody had disturbed, ``deid verify`` holds, and nothing is left
    behind.
    """
    assert released(house) == scene.after, what
    for batch in scene.after:
        with pytest.raises(SystemExit) as ended:
            app(["verify", str(house.home / "released" / batch)])
        assert ended.value.code == 0, f"{what}: deid verify {batch}"
    vault = Vault(
        f"sqlite:///{house.root / 'vault' / 'vault.db'}", Keyring([bytes.fromhex(VAULT_KEY)])
    )
    assert verify(vault)["notes"] >= 8 * len(scene.after), what
    vault.close()
    left = [
        *(house.home / "landing").iterdir(),
        *house.store.rglob("*.part"),
        *(house.home / "released").glob(".*"),
    ]
    left += [*Path(os.environ["TMPDIR"]).rglob("*unpacked*")]
    assert not left, what


def kill_at_random_times(house, campaign, scene, wanted, rng):
    """Kill a scene's program so often, complete it after one to three kills, and look each time."""
    killed = 0
    while killed < wanted:
        shutil.rmtree(house.root)
        shutil.copytree(scene.start, house.root)
        for _ in range(min(rng.choice((1, 1, 2, 3)), wanted - killed)):
            seconds, whole_group = rng.uniform(0, scene.seconds), rng.random() < 0.5
            what = f"killed {'all' if whole_group else 'the run alone'} after {seconds:.3f} s"
            code = in_process(scene.program, seconds, whole_group=whole_group)
            assert code in (0, None), what
            if code == 0:
                campaign.counts["ended before it was killed"] += 1
                break
            killed += 1
            campaign.count("killed")
            check_after_kill(house, scene, what)
        assert in_process(scene.program) == 0, what
        if scene.program is not main:
            assert in_process() == 0, what  # which sweeps
        check_completed(house, scene, what)
        campaign.counts["completed by the next run"] += 1
        campaign.tell(f"  {campaign.counts}")


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_times_is_completed_by_the_next_campaign(
    house, campaign, tmp_path
):
    wanted, rng = campaign.size(1, 200), Random(campaign.after or 1)
    for scene in scenes(house, tmp_path):
        kill_at_random_times(house, campaign, scene, -(-wanted // 2), rng)
        if not campaign.is_whole:
            break


@pytest.mark.slow
def test_a_backfill_that_is_killed_at_random_times_is_completed_by_the_next_campaign(
    house, campaign, tmp_path
):
    assert quiet() == 0
    choose_blackout(house)
    scene = scene_of(house, tmp_path / "start", backfill)
    assert scene.after.keys() == scene.before.keys()
    assert scene.after != scene.before
    wanted, rng = campaign.size(1, 200), Random(campaign.after or 1)
    kill_at_random_times(house, campaign, scene, wanted, rng)
