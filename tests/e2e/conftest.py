"""A detector that tells everything it reads, and a search through all that is written."""

import sys

import canaries
import dagster as dg
import pytest
from canaries import contents

from deid_assets.defs.instance import write_instance

LEAKY = '''
"""Test detector: finds names beginning with Kanarien, and says what it reads wherever it can."""

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
from deid_assets.plugins import load

NAME = re.compile(r"\\bKanarien\\w+\\b")


class Panic(BaseException):
    """As that of a library written in Rust."""


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME})

    def __init__(self, *, mode="", on=".", asked="", options=None):
        self._mode, self._on = mode, on
        self._other = load(asked, options=options) if asked else None

    def detect(self, notes):
        if self._other:
            logging.basicConfig(level=logging.DEBUG, force=True)
            self._other.detect(notes)
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        if self._on in note.text:
            getattr(self, f"_{self._mode}", lambda text: None)(note.text)
        native = note.text if self._mode == "label" and self._on in note.text else ""
        return [
            Span(match.start(), match.end(), Phi.NAME, 0.9, self.name, native)
            for match in NAME.finditer(note.text)
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

    def _talk_and_each(self, text):
        self._talk(text)
        self._each(text)

    def _exit(self, text):
        sys.exit(text)

    def _each(self, text):
        """Fail on each of eight notes in another way; their record numbers tell them apart."""
        (digit,) = re.findall(r"record 400000([0-7])", text) or "0"
        ways = (
            self._interrupt,
            self._exit,
            self._close,
            self._cancel,
            self._own,
            self._named,
            self._alarm,
            os.abort,
        )
        ways[int(digit)](*([text] if digit != "7" else []))

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


@pytest.fixture(scope="session")
def contents_of():
    """A file's bytes; of a Parquet file also its cells."""
    return contents


@pytest.fixture(scope="session")
def search():
    """Return where any of the secrets is written: in files under the roots, and in named texts."""
    return canaries.search


@pytest.fixture(scope="session")
def leaky_site(tmp_path_factory, leaky_source, write_detector):
    site = tmp_path_factory.mktemp("leaky")
    write_detector(site, "leaky", body=leaky_source)
    sys.path.insert(0, str(site))
    yield site
    sys.path.remove(str(site))


@pytest.fixture
def nest(installation, leaky_site, tmp_path, monkeypatch):
    """An installation with a Dagster instance on disk, and all temporary files where they are
    searched.
    """
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    installation.detectors = ("leaky", "shade")
    installation.configure(canaries.SETTINGS)
    with dg.DagsterInstance.from_config(str(write_instance(installation.dagster_home))) as instance:
        installation.instance = instance
        yield installation
