"""What a killed process left half written is removed by the next that writes there, and nothing
else is.
"""

import os
import signal

import pytest

from deid_assets.system import atomic
from deid_assets.system.atomic import sweep_parts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def new_process():
    """Folders are swept once a process."""
    atomic._sweep_once.cache_clear()


def write_file(path):
    with atomic.atomic_file(path) as file:
        file.write(b"Jane Lee")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def write_folder(path):
    with atomic.atomic_folder(path) as folder:
        (folder / "note.txt").write_text("Jane Lee")
        os.kill(os.getpid(), signal.SIGKILL)


def killed(write, path):
    child = os.fork()
    if child == 0:
        try:
            write(path)
        finally:
            os._exit(3)
    os.waitpid(child, 0)


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_what_a_killed_process_left_is_removed_at_once_by_the_next_writer(tmp_path, write):
    killed(write, tmp_path / "out")
    assert len(list(tmp_path.glob(".*.part"))) == 1

    with atomic.atomic_file(tmp_path / "other") as file:
        file.write(b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_what_is_being_written_stays(tmp_path):
    for part in (atomic.atomic_path(tmp_path / "file"), atomic.atomic_folder(tmp_path / "folder")):
        with part as path:
            os.utime(path, (0, 0))
            assert sweep_parts(tmp_path) == 0
            assert path.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_files_of_other_names_and_links_stay(tmp_path):
    (tmp_path / "kept").write_text("kept")
    for name in ("upload.part", ".notes.part", f".0-{'a' * 16}.part.txt"):
        (tmp_path / name).touch()
    (tmp_path / f".0-{'b' * 16}.part").symlink_to(tmp_path / "kept")

    assert sweep_parts(tmp_path) == 0
    assert (tmp_path / "kept").read_text() == "kept"
