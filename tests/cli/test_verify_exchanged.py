"""What is added to a release, or stands in the place of what belongs to it: each is told in one
line, by a command that ends at once.
"""

import hashlib
import json
import os
import signal
import socket

import pytest

from deid_assets.core.keys import Key
from deid_assets.store.manifests import sign_manifest
from deid_assets.store.releases import ReleaseList
from deid_assets.store.signing import ReleaseSigner

SIGNER = ReleaseSigner(Key(b"0123456789abcdef"))
NOTES = b'{"id": "n-1", "text": "Seen by [NAME]."}\n'
LONGEST_S = 10
"""What reads a pipe that nobody writes into waits for ever."""


@pytest.fixture
def release(tmp_path):
    """A release with its list and its public key beside it."""
    folder = tmp_path / "b-1"
    folder.mkdir()
    (folder / "notes.jsonl").write_bytes(NOTES)
    manifest = {
        "batch": "b-1",
        "files": {"notes.jsonl": hashlib.sha256(NOTES).hexdigest()},
        "counts": {"notes": 1},
    }
    document = json.dumps(sign_manifest(manifest, signer=SIGNER)).encode()
    (folder / "manifest.json").write_bytes(document)
    releases = ReleaseList().add_release("b-1", document, created_at="2026-01-01")
    (tmp_path / "releases.json").write_bytes(releases.to_bytes(SIGNER))
    (tmp_path / "key.pem").write_bytes(SIGNER.public.to_pem())
    return folder


@pytest.fixture
def verified(deid, release):
    """Run ``deid verify`` on the release, and end it where it waits."""

    def run(*arguments):
        signal.signal(signal.SIGALRM, lambda *_: pytest.fail("deid verify waits for ever"))
        signal.alarm(LONGEST_S)
        try:
            given = arguments or ("--public-key", release.parent / "key.pem")
            return deid("verify", release, *given)
        finally:
            signal.alarm(0)

    return run


def exchanged(path):
    """Take away what is there, and return the path."""
    path.unlink(missing_ok=True)
    return path


def socket_at(path):
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def own_link(path):
    """A link to the same content, which may be another tomorrow."""
    content = path.read_bytes() if path.exists() else b""
    elsewhere = path.parent.parent / f"elsewhere-{path.name}"
    elsewhere.write_bytes(content)
    exchanged(path).symlink_to(elsewhere)


def nested(path):
    exchanged(path).mkdir()
    (path / "a" / "b").mkdir(parents=True)


KINDS = {
    "an empty folder": lambda path: exchanged(path).mkdir(),
    "nested empty folders": nested,
    "a pipe": lambda path: os.mkfifo(exchanged(path)),
    "a socket": lambda path: socket_at(exchanged(path)),
    "a link to the same content": own_link,
    "a link to a folder": lambda path: exchanged(path).symlink_to(path.parent.parent),
    "a link that leads nowhere": lambda path: exchanged(path).symlink_to("nowhere"),
    "a link to itself": lambda path: exchanged(path).symlink_to(path.name),
    "a link to a device": lambda path: exchanged(path).symlink_to("/dev/zero"),
    "an empty file": lambda path: exchanged(path).write_bytes(b""),
}
PLACES = [
    "b-1/manifest.json",
    "b-1/notes.jsonl",
    "b-1/added",
    "b-1/.hidden",
    "releases.json",
    "key.pem",
]
TAKEN = {
    # A file that the caller names may be reached by a link; what it leads to is read now.
    ("key.pem", "a link to the same content"),
    ("releases.json", "a link to the same content"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_of_the_release_is_told_in_one_line(verified, release, place, kind):
    KINDS[kind](release.parent / place)

    ran = verified()

    if (place, kind) in TAKEN:
        assert ran.code == 0, ran.err
        return
    assert ran.code == 2, ran.err
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    assert "as released" not in ran.err


@pytest.mark.parametrize("kind", ["an empty folder", "a pipe", "a socket", "a link to a device"])
def test_a_list_that_is_named_and_no_file_is_told_in_one_line(verified, release, kind):
    KINDS[kind](release.parent / "other.json")
    ran = verified(
        "--public-key", release.parent / "key.pem", "--releases", release.parent / "other.json"
    )

    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err


@pytest.mark.parametrize("place", ["manifest.json", "notes.jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_signature_too(verified, release, place, kind):
    KINDS[kind](release / place)

    ran = verified("--unsigned")

    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err


@pytest.mark.parametrize("kind", ["an empty folder", "a pipe", "a socket", "a link to a device"])
def test_of_a_pinned_key_that_is_no_file_nothing_is_read(verified, release, kind):
    KINDS[kind](release / "release-public-key.pem")

    ran = verified("--fingerprint", SIGNER.public.fingerprint)

    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err


NAMES = {
    "a line of its own": f"x\nsigned with the key {SIGNER.public.fingerprint}",
    "a moving cursor": "x\x1b[1A\x1b[2K",
    "text that runs backwards": "x\u202eyadot",
    "a blank": " ",
    "no UTF-8": os.fsdecode(b"x\xff"),
    "long": "x" * 255,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_the_name_of_what_was_added_writes_no_line_of_its_own(verified, release, name):
    (release / name).write_text("added")

    ran = verified()

    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err
    assert "missing or not named in the manifest" in ran.err


def test_of_many_that_were_added_a_few_are_named(verified, release):
    for number in range(1_000):
        (release / f"added-{number:04d}").mkdir()

    ran = verified()

    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "995 more" in ran.err
    assert len(ran.err) < 1_000


def test_what_the_caller_may_not_read_is_told_in_one_line(verified, release, monkeypatch):
    """As root everything can be read: a name too long for a file cannot."""
    monkeypatch.setenv("DEID_HOME", str(release.parent / ("x" * 300)))

    ran = verified("--fingerprint", "0" * 16)

    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
