"""What is unpacked of an archive does not outlive the process by much."""

import os
import signal

import pytest

from deid_assets.formats.temporary import private_folder, sweep_temporary


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def make_old(folder):
    os.utime(folder, (0, 0))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_folder_of_a_killed_process_is_swept(temporary):
    child = os.fork()
    if child == 0:
        try:
            with private_folder() as folder:
                (folder / "note.txt").write_text("Jane Lee")
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(3)
    os.waitpid(child, 0)
    (left,) = temporary.iterdir()
    assert left.stat().st_mode & 0o077 == 0

    assert sweep_temporary() == 1
    assert [*temporary.iterdir()] == []


def test_a_folder_in_use_and_those_of_others_stay(temporary):
    (temporary / "deid-other").mkdir()
    with private_folder() as folder:
        make_old(folder)

        assert sweep_temporary() == 0
        assert folder.is_dir()
    assert [path.name for path in temporary.iterdir()] == ["deid-other"]


@pytest.mark.parametrize(
    "name", ["deid-unpacked-new", f"deid-unpacked-{os.getpid()}-new"], ids=["no owner", "own"]
)
def test_a_folder_that_its_maker_has_not_locked_yet_is_left_to_it_for_a_minute(temporary, name):
    (temporary / name).mkdir()
    assert sweep_temporary() == 0

    make_old(temporary / name)
    assert sweep_temporary() == 1
