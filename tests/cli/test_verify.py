"""``deid verify`` says yes only to what the named installation signed."""

import hashlib
import json

import pytest

from deid_assets.core.keys import Key
from deid_assets.store.manifests import signed
from deid_assets.store.releases import ReleaseList
from deid_assets.store.signing import ReleaseSigner

SIGNER = ReleaseSigner(Key(b"0123456789abcdef"))
OTHER = ReleaseSigner(Key(b"fedcba9876543210"))


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "b-1"
    folder.mkdir()
    notes = b'{"id": "n-1", "text": "Seen by [NAME]."}\n'
    (folder / "notes.jsonl").write_bytes(notes)
    manifest = {"batch": "b-1", "files": {"notes.jsonl": hashlib.sha256(notes).hexdigest()}, "counts": {"notes": 1}}
    (folder / "manifest.json").write_text(json.dumps(signed(manifest, signer=SIGNER)))
    return folder


def key_file(path, signer=SIGNER):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(signer.public.to_pem())
    return path


def test_without_a_public_key_nothing_is_verified(deid, release):
    ran = deid("verify", release)

    assert ran.code == 2
    assert "--public-key" in ran.err
    assert "as released" not in ran.err


def test_the_public_key_is_enough(deid, release, tmp_path):
    ran = deid("verify", release, "--public-key", key_file(tmp_path / "their.pem"))

    assert ran.code == 0
    assert SIGNER.public.fingerprint in ran.err


def test_in_the_house_the_key_is_found(deid, release, tmp_path, monkeypatch):
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "house"))
    key_file(tmp_path / "house" / "release-public-key.pem")

    assert deid("verify", release).code == 0


def test_another_key_and_an_altered_file_are_refused(deid, release, tmp_path):
    assert deid("verify", release, "--public-key", key_file(tmp_path / "other.pem", OTHER)).code == 2
    (release / "notes.jsonl").write_text("other")
    assert deid("verify", release, "--public-key", key_file(tmp_path / "their.pem")).code == 2


def test_unsigned_is_asked_for_and_said(deid, release, tmp_path):
    ran = deid("verify", release, "--unsigned")

    assert ran.code == 0
    assert "signature was not checked" in ran.err
    assert deid("verify", release, "--unsigned", "--public-key", key_file(tmp_path / "their.pem")).code == 2
    assert deid("verify", release, "--unsigned", "--json").json["signature_checked"] is False


def list_file(path, *manifests, signer=SIGNER):
    releases = ReleaseList()
    for manifest in manifests:
        releases = releases.with_release("b-1", manifest, created_at="2026-01-01")
    path.write_bytes(releases.to_bytes(signer))
    return path


def test_a_release_is_held_against_the_list_beside_it(deid, release, tmp_path):
    mine, key = (release / "manifest.json").read_bytes(), key_file(tmp_path / "their.pem")
    without = deid("verify", release, "--public-key", key)
    list_file(tmp_path / "releases.json", b"{}", mine)
    newest = deid("verify", release, "--public-key", key)
    list_file(tmp_path / "releases.json", mine, b"{}")
    older = deid("verify", release, "--public-key", key)
    list_file(tmp_path / "releases.json", b"{}", mine, signer=OTHER)
    forged = deid("verify", release, "--public-key", key)

    assert (without.code, newest.code, older.code, forged.code) == (0, 0, 2, 2)
    assert "older release would pass" in without.err
    assert "older release would pass" not in newest.err
    assert "release 2 took its place" in older.err


@pytest.mark.parametrize("field", ["covered", "hidden"])
def test_a_manifest_of_an_earlier_version_is_read(deid, release, tmp_path, field):
    """The field ``covered`` was called ``hidden``; what was signed under the old name stays signed."""
    files = json.loads((release / "manifest.json").read_text())["files"]
    figures = {"annotated_notes": 30, "gold_spans": 200, field: 198, "lower": 0.9642}
    manifest = {"batch": "b-1", "files": files, "measured": True, "measurement": {"reason": "", **figures}}
    (release / "manifest.json").write_text(json.dumps(signed(manifest, signer=SIGNER)))

    ran = deid("verify", release, "--public-key", key_file(tmp_path / "their.pem"))

    assert ran.code == 0
    assert "measured on 30 annotated notes: 198 of 200 identifiers covered, at least 0.9642" in ran.err
