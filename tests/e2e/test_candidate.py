"""Whoever holds a release, the stores without text and a candidate original cannot confirm it by a
digest.

The attack uses the software itself: the candidate is taken through an installation with the
attacker's own key. A digest of an original into which no key went is the same in both, whatever its
construction.
"""

import hashlib
import json
import re

import dagster as dg
import pytest

from deid_assets.defs.instance import write_instance

pytestmark = pytest.mark.long

DIGEST = re.compile(rb"[0-9a-f]{12,}")
PREFIX = 12
"""Hexadecimal digits that are compared: shorter names of digests are prefixes."""


def tokens(house, contents):
    """Every digest in what holds no original.

    Release, reports, internal and published zones, SQL, Dagster home.
    """
    roots = (
        "home/released",
        "home/reports",
        "home/store/internal",
        "home/store/published",
        "dagster",
    )
    files = [path for root in roots for path in (house.root / root).rglob("*") if path.is_file()]
    found = b"\n".join(
        str(path.relative_to(house.root)).encode() + contents(path)
        for path in [*files, *house.home.glob("deid.sqlite*")]
    )
    return {match[:PREFIX].decode() for match in DIGEST.findall(found)}


@pytest.fixture
def take_through(installation, tmp_path, monkeypatch, contents_of):
    """Take notes through an installation of their own, on disk, and return what it holds."""

    def run(name, records, key):
        installation.root = tmp_path / name
        installation.home, installation.dagster_home = (
            installation.root / "home",
            installation.root / "dagster",
        )
        for variable, value in {**installation.environment(), "DEID_KEY": key}.items():
            monkeypatch.setenv(variable, value)
        installation.configure(installation.default_settings)
        with dg.DagsterInstance.from_config(
            str(write_instance(installation.dagster_home))
        ) as instance:
            installation.instance = instance
            batch = installation.receive(records)
            assert installation.failures(installation.run(batch)) == {}
        return tokens(installation, contents_of)

    return run


def plain_digests(records):
    """Digests of the texts, the lines and the file that need no key."""
    lines = [json.dumps(record) + "\n" for record in records]
    files = [hashlib.sha256("".join(lines).encode()).hexdigest()]
    for content in (*lines, *(record["text"] for record in records), "".join(lines), *files):
        for algorithm in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s", "sha3_256"):
            yield hashlib.new(algorithm, content.encode()).hexdigest()[:PREFIX]


def test_a_candidate_is_not_confirmed_by_any_digest(take_through, note_records):
    records = note_records()
    records[3]["text"] = "Nothing to report, all is well."  # is released as it came
    records[3].pop("spans", None)
    other = [
        {**record, "text": record["text"].replace("record 4", "record 5")} for record in records
    ]

    house = take_through("house", records, "5a" * 32)
    attacker = take_through("attacker", records, "17" * 32)
    control = take_through("control", other, "17" * 32)

    assert len(house) > 50
    assert not house & set(plain_digests(records))
    # What both have in common whichever the notes are, is of the software, the settings and the
    # policies.
    assert house & attacker - control == set()
