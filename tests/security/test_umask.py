"""What holds text is for its owner alone, whatever the umask of the process."""

import os
import stat

import pytest

pytestmark = pytest.mark.long


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_what_holds_text_is_for_its_owner_alone_under_umask_000(
    installation, note_records, open_umask
):
    batch = installation.receive(note_records())
    assert installation.failures(installation.run(batch)) == {}

    text_holding = [
        installation.store / "restricted",
        *(installation.store / "restricted").rglob("*"),
    ]
    open_to_others = [path for path in text_holding if stat.S_IMODE(path.lstat().st_mode) & 0o077]

    assert len(text_holding) > 10
    assert open_to_others == []
