"""A home of an earlier version is refused, and made ready in one step."""

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.store.files import StoreFiles


@pytest.fixture
def old_home(tmp_path, monkeypatch):
    """As an earlier version left it: batches under plain digests, and no mark of a generation."""
    home = tmp_path / "old"
    for batch in ("b-1", "b-2"):
        arrived = home / "store" / "restricted" / "landing" / batch
        arrived.mkdir(parents=True)
        (arrived / "notes.jsonl").write_text(batch)
    (home / "released" / "b-1").mkdir(parents=True)
    monkeypatch.setenv("DEID_HOME", str(home))
    return home


def test_a_store_of_an_earlier_version_is_refused_with_the_remedy(old_home):
    with pytest.raises(ConfigError, match="run `deid migrate`"):
        StoreFiles(old_home / "store", key=b"0123456789abcdef")


def test_what_arrived_lands_again_and_the_rest_is_set_aside(deid, old_home):
    ran = deid("migrate")

    assert ran.code == 0
    assert "2 arrivals" in ran.err
    assert {path.read_text() for path in (old_home / "landing").iterdir()} == {"b-1", "b-2"}
    assert not (old_home / "store").exists()
    assert not (old_home / "released").exists()
    assert (old_home / "before-migration" / "released" / "b-1").is_dir()
    assert (old_home / "before-migration").stat().st_mode & 0o077 == 0
    StoreFiles(old_home / "store", key=b"0123456789abcdef")
    assert "nothing to migrate" in deid("migrate").err
