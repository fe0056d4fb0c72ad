"""A disk that is full while ``make run`` writes.

It ends in one line that says what to do, and nothing is released.
"""

import os
import resource
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("limit_bytes", [0, 1_000, 30_000, 100_000, 200_000])
def test_a_full_disk_is_one_line(installation, detector_site, note_records, limit_bytes):
    """No file may become longer than the limit, which to a program is as a full disk, and needs no
    disk of its own.
    """
    batch = installation.receive(note_records())

    done = subprocess.run(
        [sys.executable, "-m", "deid_assets.quickstart"],
        check=False,
        capture_output=True,
        text=True,
        cwd=installation.root,
        env={
            **os.environ,
            **installation.environment(),
            "PYTHONPATH": str(detector_site),
            "COLUMNS": "200",
        },
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)),
    )

    told = done.stdout + done.stderr
    assert done.returncode in (1, 2), told
    assert "Traceback" not in told
    assert "with room" in told or "make room" in told
    assert not (installation.home / "released" / batch).exists()
