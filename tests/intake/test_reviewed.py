"""What reviewers return is signed under the lock that withdrawing has, on whichever machine."""

import pytest

from deid_assets.config import Settings
from deid_assets.intake import reviewed
from deid_assets.store.files import StoreFiles

fcntl = pytest.importorskip("fcntl")


def test_signing_holds_the_lock_of_releases_against_other_machines(tmp_path, monkeypatch):
    settings = Settings(home=tmp_path)
    files = StoreFiles(settings.store, key=b"0123456789abcdef")
    tried = []

    def try_lock(*_args, **_options):
        with settings.release_record.with_suffix(".lock").open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tried.append("held")

    monkeypatch.setattr(reviewed, "sign_replacement", try_lock)

    reviewed._sign(settings, files, "b-1", [], {})

    assert tried == ["held"]
