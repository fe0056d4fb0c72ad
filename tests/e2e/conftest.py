"""A detector that tells everything it reads, and a search through all that is written."""

import base64
import json
import quopri
from pathlib import Path
from urllib.parse import quote

import pytest

LEAKY = '''
"""Test detector that finds names beginning with Kanarien, and says what it reads wherever it can."""

import asyncio
import atexit
import logging
import os
import re
import sys
import threading
import warnings

import dagster

from deid_assets import Phi, Span, SpanSet

NAME = re.compile(r"\\bKanarien\\w+\\b")


class Panic(BaseException):
    """As that of a library written in Rust."""


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME})

    def __init__(self, *, mode="", on="."):
        self._mode, self._on = mode, on

    def detect(self, notes):
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        if self._on in note.text:
            getattr(self, f"_{self._mode}", lambda text: None)(note.text)
        native = note.text if self._mode == "label" and self._on in note.text else ""
        return [
            Span(match.start(), match.end(), Phi.NAME, 0.9, self.name, native) for match in NAME.finditer(note.text)
        ]

    def _talk(self, text):
        print(text)
        print(text, file=sys.stderr)
        os.write(1, text.encode())
        warnings.warn(text)
        logging.getLogger("third.party").error("read %s", text)
        logging.error(text)
        dagster.get_dagster_logger().error(text)
        threading.Thread(target=print, args=(text,)).start()
        atexit.register(print, text)

    def _quote(self, text):
        raise LookupError(text)

    def _chain(self, text):
        try:
            int(text)
        except ValueError as error:
            raise RuntimeError(f"while reading {text!r}") from error

    def _pydantic(self, text):
        import pydantic

        pydantic.TypeAdapter(int).validate_python(text)

    def _exit(self, text):
        sys.exit(text)

    def _each(self, text):
        """Fail on each of eight notes in another way; they are told apart by their record numbers."""
        (digit,) = re.findall(r"record 400000([0-7])", text) or "0"
        (self._interrupt, self._exit, self._close, self._cancel, self._own, self._named, self._alarm, os.abort)[
            int(digit)
        ](*([text] if digit != "7" else []))

    def _interrupt(self, text):
        raise KeyboardInterrupt(text)

    def _close(self, text):
        raise GeneratorExit(text)

    def _cancel(self, text):
        raise asyncio.CancelledError(text)

    def _own(self, text):
        raise Panic(text)

    def _named(self, text):
        raise type(text, (Panic,), {})(text)

    def _alarm(self, text):
        raise dagster.DagsterExecutionInterruptedError(text)

    def _ours(self, text):
        from deid_assets.core.errors import InputError

        raise InputError(text)
'''


@pytest.fixture(scope="session")
def leaky_source():
    """Source of the detector ``leaky``; its option ``mode`` says how it tells."""
    return LEAKY


def spellings(secret: str) -> set[bytes]:
    """How a secret may be written: UTF-8, UTF-16, UTF-32, JSON, hexadecimal, quoted-printable, Base64 in its alignments."""
    plain = secret.encode()
    wide = [secret.encode(f"utf-{bits}-{order}") for bits in (16, 32) for order in ("le", "be")]
    told = [plain.hex().encode(), plain.hex().upper().encode(), quopri.encodestring(plain), quote(secret).encode()]
    shifted = [base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4] for shift in range(3)]
    return {plain, json.dumps(secret)[1:-1].encode(), secret.lower().encode(), *wide, *told, *shifted}


def contents(path: Path) -> bytes:
    """A file's bytes; of a Parquet file also its cells, which are compressed."""
    found = path.read_bytes()
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        found += repr(pq.read_table(path).to_pydict()).encode()
    return found


@pytest.fixture(scope="session")
def contents_of():
    """A file's bytes; of a Parquet file also its cells."""
    return contents


@pytest.fixture(scope="session")
def search():
    """Return where any of the secrets is written: in files under the roots, and in named texts."""

    def run(secrets, roots=(), **texts):
        written = {str(path): contents(path) for root in roots for path in sorted(root.rglob("*")) if path.is_file()}
        written |= {str(path): str(path.relative_to(root)).encode() for root in roots for path in root.rglob("*/")}
        written |= {f"name of {path}": path.encode() for path in list(written)}
        written |= {name: text.encode() for name, text in texts.items()}
        return {
            (secret, where)
            for secret in secrets
            for where, found in written.items()
            if any(spelling in found for spelling in spellings(secret))
        }

    return run
