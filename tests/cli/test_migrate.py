"""A home of an earlier version is refused, and made ready in one step."""

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.store.files import StoreFiles

ARRIVED = {
    "b-0000000000000001/one.jsonl": True,
    "b-0000000000000002-0001/notes.drafts": False,
    "b-0000000000000002-0002/notes.drafts": False,
    ".whole/b-0000000000000002/large.jsonl": True,
    ".large/b-0000000000000003/waiting.jsonl": True,
    ".large/b-0000000000000003.part/b-0000000000000003-0001/notes.drafts": False,
    ".b-0000000000000004/moving.jsonl": True,
}
"""Files below the landing folder of the store to whether they arrived as they are."""


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
    assert "take back releases" in ran.err
    assert {path.read_text() for path in (old_home / "landing").iterdir()} == {"b-1", "b-2"}
    assert not (old_home / "store").exists()
    assert not (old_home / "released").exists()
    assert (old_home / "before-migration" / "released" / "b-1").is_dir()
    assert (old_home / "before-migration").stat().st_mode & 0o077 == 0
    StoreFiles(old_home / "store", key=b"0123456789abcdef")
    assert "nothing to migrate" in deid("migrate").err


def test_of_what_was_split_the_whole_lands_again_and_no_part(deid, tmp_path, monkeypatch):
    home = tmp_path / "second"
    for name in ARRIVED:
        file = home / "store" / "restricted" / "landing" / name
        file.parent.mkdir(parents=True)
        file.write_text(name)
    (home / "store" / "generation").write_text("2\n")
    monkeypatch.setenv("DEID_HOME", str(home))

    ran = deid("migrate")

    assert ran.code == 0
    assert "take back releases" not in ran.err
    landed = {path.read_text() for path in (home / "landing").rglob("*") if path.is_file()}
    assert landed == {name for name, has_arrived in ARRIVED.items() if has_arrived}
