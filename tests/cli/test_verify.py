"""``deid verify`` says yes only to what the named installation signed."""

import hashlib
import json

import pytest

from deid_assets.cli.notes.deidentification import describe_unmeasured, sign_folder
from deid_assets.core.keys import Key
from deid_assets.formats import write_notes
from deid_assets.store.manifests import MANIFEST, sign_manifest, verify_release
from deid_assets.store.releases import ReleaseList
from deid_assets.store.signing import PUBLIC_KEY, PublicKey, ReleaseSigner

SIGNER = ReleaseSigner(Key(b"0123456789abcdef"))
OTHER = ReleaseSigner(Key(b"fedcba9876543210"))


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "b-1"
    folder.mkdir()
    notes = b'{"id": "n-1", "text": "Seen by [NAME]."}\n'
    (folder / "notes.jsonl").write_bytes(notes)
    manifest = {
        "batch": "b-1",
        "files": {"notes.jsonl": hashlib.sha256(notes).hexdigest()},
        "counts": {"notes": 1},
    }
    (folder / "manifest.json").write_text(json.dumps(sign_manifest(manifest, signer=SIGNER)))
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
    assert (
        deid("verify", release, "--public-key", key_file(tmp_path / "other.pem", OTHER)).code == 2
    )
    (release / "notes.jsonl").write_text("other")
    assert deid("verify", release, "--public-key", key_file(tmp_path / "their.pem")).code == 2


def test_unsigned_is_asked_for_and_said(deid, release, tmp_path):
    ran = deid("verify", release, "--unsigned")

    assert ran.code == 0
    assert "signature was not checked" in ran.err
    assert (
        deid("verify", release, "--unsigned", "--public-key", key_file(tmp_path / "their.pem")).code
        == 2
    )
    assert deid("verify", release, "--unsigned", "--json").json["signature_checked"] is False


def list_file(path, *manifests, signer=SIGNER):
    releases = ReleaseList()
    for manifest in manifests:
        releases = releases.add_release("b-1", manifest, created_at="2026-01-01")
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
    """The field ``covered`` was called ``hidden``.

    What was signed under the old name stays signed.
    """
    files = json.loads((release / "manifest.json").read_text())["files"]
    figures = {"annotated_notes": 30, "gold_spans": 200, field: 198, "lower": 0.9642}
    manifest = {
        "batch": "b-1",
        "files": files,
        "measured": True,
        "measurement": {"reason": "", **figures},
    }
    (release / "manifest.json").write_text(json.dumps(sign_manifest(manifest, signer=SIGNER)))

    ran = deid("verify", release, "--public-key", key_file(tmp_path / "their.pem"))

    assert ran.code == 0
    assert (
        "measured on 30 annotated notes: 198 of 200 identifiers covered, at least 0.9642" in ran.err
    )


def test_a_key_that_lies_in_the_working_directory_is_not_trusted(
    deid, release, tmp_path, monkeypatch
):
    """Whoever sends a release may send a ``.deid`` with it."""
    monkeypatch.delenv("DEID_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    key_file(tmp_path / ".deid" / "release-public-key.pem")

    ran = deid("verify", release)

    assert ran.code == 2
    assert "whose signature?" in ran.err


@pytest.mark.parametrize("place", ["b-1", ".deid"])
def test_a_key_is_pinned_by_its_fingerprint(deid, release, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    manifest = json.loads((release / "manifest.json").read_text())
    manifest.pop("signature")
    if place == "b-1":
        manifest["files"]["release-public-key.pem"] = hashlib.sha256(
            SIGNER.public.to_pem()
        ).hexdigest()
    (release / "manifest.json").write_text(json.dumps(sign_manifest(manifest, signer=SIGNER)))
    key_file(tmp_path / place / "release-public-key.pem")

    assert deid("verify", release, "--fingerprint", SIGNER.public.fingerprint).code == 0
    assert deid("verify", release, "--fingerprint", OTHER.public.fingerprint).code == 2
    for wrong in (SIGNER.public.fingerprint[:8], "not-a-fingerprint", ""):
        assert deid("verify", release, "--fingerprint", wrong).code == 2


def test_a_file_and_a_fingerprint_must_agree(deid, release, tmp_path):
    key = key_file(tmp_path / "their.pem")

    assert (
        deid(
            "verify", release, "--public-key", key, "--fingerprint", SIGNER.public.fingerprint
        ).code
        == 0
    )
    assert (
        deid("verify", release, "--public-key", key, "--fingerprint", OTHER.public.fingerprint).code
        == 2
    )


DOUBLED = {
    "before what was signed": lambda text: '{"measured": true, "counts": {"notes": 9}, ' + text[1:],
    "in an object of it": lambda text: text.replace('"counts": {', '"counts": {"notes": 9, '),
    "a constant": lambda text: '{"x": NaN, ' + text[1:],
    "in another encoding": lambda text: text.encode("utf-16"),
    "nested": lambda text: '{"x": ' + "[" * 200_000 + "]" * 200_000 + ", " + text[1:],
}


@pytest.mark.parametrize("change", DOUBLED.values(), ids=DOUBLED)
def test_json_that_means_two_things_is_refused(deid, release, tmp_path, change):
    path = release / "manifest.json"
    changed = change(path.read_text())
    path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())

    ran = deid("verify", release, "--public-key", key_file(tmp_path / "their.pem"))

    assert ran.code == 2
    assert "not the manifest of a release" in ran.err


LINE = "Dr Miller\nsigned with the key 0123456789abcdef"
ODD = [
    {"counts": [1]},
    {"policy": "tag"},
    {"measured": True, "measurement": {"annotated_notes": "9", "gold_spans": 9, "lower": 0.9}},
    {"measured": True, "measurement": None},
    {"approval": {"by": "Miller", "at": "today", "page": 7}},
    {"approval": {"by": LINE, "at": "today", "page": "p" * 64}},
    {"approval": {"by": "\x1b[1AMiller", "at": "today", "page": "p" * 64}},
    {"created_at": "\u202eyadot"},
]


@pytest.mark.parametrize("values", ODD)
def test_a_manifest_that_anyone_wrote_adds_no_line_of_its_own(deid, release, values):
    """Unsigned, its approver's name wrote the line that tells whose signature was checked."""
    path = release / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    ran = deid("verify", release, "--unsigned")

    assert ran.code == 2
    assert "not the manifest of a release" in ran.err
    assert "signed with" not in ran.err


def test_a_manifest_that_is_a_link_is_refused(deid, release, tmp_path):
    (release / "manifest.json").rename(tmp_path / "elsewhere.json")
    (release / "manifest.json").symlink_to(tmp_path / "elsewhere.json")

    ran = deid("verify", release, "--public-key", key_file(tmp_path / "their.pem"))

    assert ran.code == 2
    assert "a link" in ran.err


def test_a_renamed_folder_is_refused(deid, release, tmp_path):
    key = key_file(tmp_path / "their.pem")
    release.rename(tmp_path / "b-2")

    ran = deid("verify", tmp_path / "b-2", "--public-key", key)

    assert ran.code == 2
    assert "not the folder 'b-1' that was signed" in ran.err
    assert deid("verify", tmp_path / "b-2", "--unsigned").code == 2


@pytest.fixture
def redacted(deid, tmp_path):
    """What ``deid deidentify`` writes, and what it says."""
    (tmp_path / "notes.jsonl").write_text(
        '{"id": "n1", "text": "Seen by Dr. Jane Miller.", "lang": "en"}\n'
    )
    ran = deid(
        "deidentify",
        tmp_path / "notes.jsonl",
        "--policy",
        "tag",
        "--out",
        tmp_path / "out",
        "--json",
    )
    assert ran.code == 0, ran.err
    return tmp_path / "out", ran


def test_what_deidentify_writes_is_signed_and_says_that_nobody_measured_it(deid, redacted):
    out, ran = redacted
    assert "not measured: " in ran.err
    assert "released" not in ran.err + ran.out
    assert (ran.json["measured"], ran.json["redacted"]) == (False, 1)
    report = json.loads((out / "report.json").read_text())
    assert report["measured"] is False
    assert report["measurement"]["reason"] in " ".join(ran.err.split())


def test_deidentify_says_of_annotations_that_it_reads_none(deid, tmp_path):
    span = {"start": 12, "end": 23, "label": "NAME"}
    note = {"id": "n1", "text": "Seen by Dr. Jane Miller.", "lang": "en", "spans": [span]}
    (tmp_path / "notes.jsonl").write_text(json.dumps(note))

    ran = deid("deidentify", tmp_path / "notes.jsonl", "--out", tmp_path / "out")

    assert "Annotations of the notes, if any, were not read." in " ".join(ran.err.split())
    assert "is annotated" not in ran.err


def test_what_deidentify_writes_is_verified(deid, redacted):
    out, ran = redacted

    checked = deid("verify", out, "--fingerprint", ran.json["fingerprint"])

    assert checked.code == 0
    assert "as redacted by deid deidentify" in checked.err
    assert "not measured: " in checked.err


@pytest.mark.parametrize("to", ["txt", "pdf"])
def test_a_folder_of_documents_whose_notes_were_all_withheld_is_signed(tmp_path, to):
    write_notes(tmp_path / "out" / "notes", iter([]), format=to)

    fingerprint = sign_folder(tmp_path / "out", describe_unmeasured(0))

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [MANIFEST, PUBLIC_KEY]
    signed = verify_release(tmp_path / "out", key=PublicKey.read(tmp_path / "out" / PUBLIC_KEY))
    assert signed["public_key"] == fingerprint


@pytest.mark.parametrize(
    "name", ["notes.jsonl", "report.json", "release-public-key.pem", "manifest.json"]
)
def test_what_deidentify_wrote_is_seen_to_be_altered(deid, redacted, name):
    out, ran = redacted
    content = (out / name).read_bytes()
    (out / name).write_bytes(
        content.replace(b"false", b"true") if b"false" in content else content + b"\n"
    )

    assert deid("verify", out, "--fingerprint", ran.json["fingerprint"]).code == 2


def test_the_key_of_the_environment_signs_every_folder(deid, tmp_path, monkeypatch):
    monkeypatch.setenv("DEID_KEY", "5a" * 32)
    (tmp_path / "notes.jsonl").write_text('{"id": "n1", "text": "Seen by Dr. Jane Miller."}\n')
    found = {
        deid("deidentify", tmp_path / "notes.jsonl", "--out", tmp_path / name, "--json").json[
            "fingerprint"
        ]
        for name in ("one", "two")
    }
    assert found == {ReleaseSigner(Key(bytes.fromhex("5a" * 32))).public.fingerprint}
