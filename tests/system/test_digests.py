"""Digests of what options name."""

import os

import pytest

from deid_assets.system.digests import digest_of_path


def test_a_folder_of_the_same_sizes_and_times_with_other_content_has_another_digest(tmp_path):
    file = tmp_path / "model" / "weights.bin"
    file.parent.mkdir()
    file.write_bytes(b"finds")
    before = file.stat()
    first = digest_of_path(file.parent)

    file.write_bytes(b"blind")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert digest_of_path(file.parent) != first


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="no file or folder"):
        digest_of_path(tmp_path / "pipe")
