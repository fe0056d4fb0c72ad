"""Canaries: marked strings in every field of a note, and the search for them in all spellings."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import quopri
import sys
from pathlib import Path
from urllib.parse import quote

import dagster as dg

NAME = "Kanarienvögel"
WORD = "plainwordcanary"
META = "metacanaryvalue"
PATIENT = "patientcanarykey"
FILE = "filenamecanary"
BROKEN = "brokenlinecanary"
SECRETS = (NAME, WORD, META, PATIENT, FILE, BROKEN)
IDENTIFIERS = (NAME, META, PATIENT, FILE, BROKEN)
"""What must not be in a release either; other words of a note may."""

SETTINGS = """\
ensemble = ["leaky"]
policies = ["tag", "surrogate"]
release_policy = "surrogate"
languages = ["en"]
release.require = "none"
[gates]
quarantined = 0.5
min_gold_characters = 1
[gates.recall]
ALL = 0.3
"""


def spellings(secret: str) -> set[bytes]:
    """How a secret may be written.

    UTF-8, UTF-16, UTF-32, JSON, hexadecimal, quoted-printable, Base64 in its alignments.
    """
    plain = secret.encode()
    wide = [secret.encode(f"utf-{bits}-{order}") for bits in (16, 32) for order in ("le", "be")]
    told = [
        plain.hex().encode(),
        plain.hex().upper().encode(),
        quopri.encodestring(plain),
        quote(secret).encode(),
    ]
    shifted = [
        base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4] for shift in range(3)
    ]
    return {
        plain,
        json.dumps(secret)[1:-1].encode(),
        secret.lower().encode(),
        *wide,
        *told,
        *shifted,
    }


def contents(path: Path) -> bytes:
    """A file's bytes; of a Parquet file also its cells, which are compressed."""
    found = path.read_bytes()
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        found += repr(pq.read_table(path).to_pydict()).encode()
    return found


def search(secrets, roots=(), **texts):
    """Return where any of the secrets is written: in files under the roots, and in named texts."""
    written = {
        str(path): contents(path)
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    written |= {
        str(path): str(path.relative_to(root)).encode()
        for root in roots
        for path in root.rglob("*/")
    }
    written |= {f"name of {path}": path.encode() for path in list(written)}
    written |= {name: text.encode() for name, text in texts.items()}
    return {
        (secret, where)
        for secret in secrets
        for where, found in written.items()
        if any(spelling in found for spelling in spellings(secret))
    }


def canaries(records):
    """Notes with a canary in every field, and lines that cannot be read."""
    for record in records:
        text = f"{NAME} was seen. The {WORD} is noted. {record['text']}"
        spans = [{"start": 0, "end": len(NAME), "label": "NAME"}]
        yield {
            **record,
            "text": text,
            "spans": spans,
            "meta": {"ward": META},
            "patient_id": PATIENT,
        }
    yield {"id": "note-bad-text", "text": [BROKEN, NAME]}
    yield {
        "id": "note-bad-offset",
        "text": f"{BROKEN} {NAME}",
        "spans": [{"start": 0, "end": 9999, "label": "NAME"}],
    }
    yield {
        "id": "note-bad-lang",
        "text": f"{NAME} was seen again, by another doctor.",
        "lang": BROKEN,
    }
    yield {"id": "note-bad-label", "text": NAME, "spans": [{"start": 0, "end": 3, "label": BROKEN}]}


def drop(nest, note_records, first=0):
    return nest.receive(list(canaries(note_records(first))), name=f"{FILE}.jsonl")


def guarded(nest):
    """Every folder that promises to hold no text."""
    temporary = nest.root.parent / "tmp"
    folders = (nest.dagster_home, nest.store / "internal", nest.home / "reports", temporary)
    return [folder for folder in folders if folder.is_dir()]


def leaks(nest, **texts):
    databases = {
        path.name: path.read_bytes().decode("latin-1") for path in nest.home.glob("deid.sqlite*")
    }
    published = [nest.home / "released", nest.store / "published"]
    return (
        search(SECRETS, guarded(nest), **texts)
        | search(IDENTIFIERS, published)
        | {
            (secret, name)
            for name, found in databases.items()
            for secret in SECRETS
            if secret.encode().decode("latin-1") in found
        }
    )


class Panic(BaseException):
    """As that of a library written in Rust."""


class Replacer:
    """A replacer that does something with the text: raises, or tells.

    Args:
        how: What it does.
    """

    def __init__(self, how):
        self.how = how

    def __call__(self, text, span, context):
        if self.how == "tell":
            print(text)  # noqa: T201
            print(text, file=sys.stderr)  # noqa: T201
            os.write(1, text.encode())
            logging.getLogger("third.party").error("read %s", text)
            dg.get_dagster_logger().error(text)
            return "-"
        if self.how == "abort":
            os.abort()
        if self.how == "chain":
            try:
                int(text)
            except ValueError as error:
                raise RuntimeError(f"while reading {text!r}") from error
        if self.how == "named":
            raise type(text, (Panic,), {})(text)
        raise {
            "quote": ValueError,
            "panic": Panic,
            "exit": SystemExit,
            "close": GeneratorExit,
            "cancel": asyncio.CancelledError,
            "alarm": dg.DagsterExecutionInterruptedError,
        }[self.how](text)
