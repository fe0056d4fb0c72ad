import hashlib
import json

import pytest

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.store.manifests import sign_manifest, verify_release
from deid_assets.store.signing import PublicKey, ReleaseSigner

SIGNER = ReleaseSigner(Key(b"0123456789abcdef"))
KEY = SIGNER.public


@pytest.fixture
def release(tmp_path):
    notes = b'{"id": "n-1", "text": "Seen by [NAME]."}\n'
    (tmp_path / "notes.jsonl").write_bytes(notes)
    manifest = {"batch": "b-1", "files": {"notes.jsonl": hashlib.sha256(notes).hexdigest()}}
    (tmp_path / "manifest.json").write_text(json.dumps(sign_manifest(manifest, signer=SIGNER)))
    return tmp_path


def rewrite(release, **changes):
    path = release / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_release_as_it_was_made_gives_its_manifest(release):
    assert verify_release(release, key=KEY)["batch"] == "b-1"


def test_files_are_checked_without_the_key(release):
    assert verify_release(release, key=None)["batch"] == "b-1"
    (release / "notes.jsonl").write_text("other")

    with pytest.raises(ProvenanceError, match="altered"):
        verify_release(release, key=None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda release: (release / "notes.jsonl").unlink(),
        lambda release: (release / "more.jsonl").write_text("added"),
        lambda release: rewrite(release, batch="b-2"),
        lambda release: rewrite(release, files={}),
        lambda release: rewrite(release, signature="00"),
    ],
)
def test_what_was_changed_is_refused(release, damage):
    damage(release)

    with pytest.raises(ProvenanceError):
        verify_release(release, key=KEY)


def test_another_key_does_not_verify(release):
    with pytest.raises(ProvenanceError, match="signature"):
        verify_release(release, key=ReleaseSigner(Key(b"another key 16 b")).public)


def test_the_public_key_goes_through_a_file_and_cannot_sign(release):
    path = release.parent / "key.pem"
    path.write_bytes(KEY.to_pem())

    assert verify_release(release, key=PublicKey.read(path))["public_key"] == KEY.fingerprint
    assert not hasattr(KEY, "sign")


def test_a_manifest_of_the_secret_kind_of_signature_is_refused(release):
    rewrite(release, format=1)

    with pytest.raises(ProvenanceError, match="another version"):
        verify_release(release, key=None)


@pytest.mark.parametrize(
    "content", ["", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"]
)
def test_what_is_no_public_key_is_bad_input(tmp_path, content):
    (tmp_path / "key.pem").write_text(content)

    with pytest.raises(InputError, match="release-public-key"):
        PublicKey.read(tmp_path / "key.pem")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3, "signature": "x"}'])
def test_what_is_no_manifest_is_bad_input(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)

    with pytest.raises(InputError):
        verify_release(tmp_path, key=KEY)


def test_a_folder_without_manifest_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="no manifest"):
        verify_release(tmp_path, key=KEY)
