"""An installation whose batch two detectors read, stored as the graph stores it, and its review."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import contextmanager

import pytest
import uvicorn

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.config import Settings
from deid_assets.extending.reviewing import open_batch, open_restricted_folder
from deid_assets.intake.landing import take_in
from deid_assets.store.files import StoreFiles, UnsignedReceipt
from deid_assets.store.frames import notes_to_table, spans_to_tables
from deid_review.app import Reviewers, ReviewService
from deid_review.desk import ReviewDesk
from deid_review.ledger import FILE, Ledger
from deid_review.queueing import QueueOptions, make_queue
from deid_serve.commands import server_config

SECRET = "5a" * 32
NAME = re.compile(r"Zed[a-z]+")
DATE = re.compile(r"\d{1,2} May \d{4}")
MRN = re.compile(r"\b\d{7}\b")
WARD = re.compile(r"ward [A-Z]\b")
TEXTS = [
    ("n1", "p1", "Zedamar was seen on 3 May 2021 by Dr. Lee. MRN 4471902 was noted."),
    ("n2", "p1", "Zedamar came again on 9 May 2021; Zedamar slept well in ward B of Elmsford."),
    ("n3", "p2", "Zedquill, record 5550001, asked for Lee. Unit \U0001f600 ward B."),
    ("n4", "p3", "Nothing was found in this note."),
    ("n5", "p4", "Zedrobin moved to Elmsford on 1 May 2020, then to ward B."),
    ("n6", "p5", "Zedfinch and 7654321 on 2 May 2020."),
]


def _found(note, patterns, source, score=0.95):
    spans = [
        Span(*one.span(), label, score, source)
        for label, pattern in patterns
        for one in pattern.finditer(note.text)
    ]
    return SpanSet.of(note, spans)


def store_batch(files, batch, notes):
    """Store what two detectors found, one of which also marks wards; the other misses records."""
    sure = [(Phi.NAME, NAME), (Phi.DATE, DATE), (Phi.MRN, MRN)]
    by = {
        "first": [_found(n, sure, "first") for n in notes],
        "second": [
            _found(n, [(Phi.NAME, NAME), (Phi.DATE, DATE), (Phi.HOSPITAL, WARD)], "second", 0.5)
            for n in notes
        ],
    }
    made = UnsignedReceipt(code_version="1", inputs={})
    files.write("raw_notes", batch, {"notes": notes_to_table(notes)}, receipt=made)
    for name, sets in [*((f"spans_{n}", s) for n, s in by.items()), ("merged_spans", by["first"])]:
        note_table, spans = spans_to_tables(sets)
        files.write(name, batch, {"notes": note_table, "spans": spans}, receipt=made)


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Settings of an installation of its own."""
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DEID_KEY", SECRET)
    config = tmp_path / "deid.toml"
    config.write_text('ensemble = ["first"]\npolicies = ["tag"]\nrelease_policy = "tag"\n')
    monkeypatch.setenv("DEID_CONFIG", str(config))
    return Settings.load()


@pytest.fixture
def batch(settings):
    """A batch that arrived, and what detectors found in it."""
    lines = [{"id": i, "patient_id": p, "lang": "en", "text": t} for i, p, t in TEXTS]
    settings.landing.mkdir(parents=True, exist_ok=True)
    (settings.landing / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (found,) = take_in(settings, settle_s=0)
    files = StoreFiles(settings.store, key=settings.receipt_key())
    store_batch(files, found, [Note(i, t, p, "en") for i, p, t in TEXTS])
    return found


def make_desk(settings, batch, *, options=None, least=0.95):
    """A desk over a batch, with a queue where it has none."""
    view = open_batch(settings, batch)
    ledger = Ledger(open_restricted_folder(settings, "review", batch) / FILE)
    if not ledger.notes():
        make_queue(view, ledger, settings.key(), options or QueueOptions(3, blind=0, double=0))
    return ReviewDesk(view, ledger, settings.key(), least=least)


@pytest.fixture
def desk(settings, batch):
    """A desk with a sample of three notes."""
    found = make_desk(settings, batch)
    yield found
    found.ledger.close()


@contextmanager
def running(desk, names=("a.meier", "b.kim")):
    """Serve a desk on loopback, and give its address, the reviewers and what it told."""
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    reviewers = Reviewers.of(list(names), frozenset({f"127.0.0.1:{port}"}), port)
    told = []
    app = ReviewService(desk, reviewers).app(lambda *line: told.append(line))
    server = uvicorn.Server(server_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        for _ in range(200):
            if server.started:
                break
            threading.Event().wait(0.02)
        yield f"http://127.0.0.1:{port}", reviewers, told
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


@pytest.fixture
def desk_of():
    """A function that makes a desk over a batch."""
    return make_desk


@pytest.fixture
def serve():
    """A function that serves a desk for a ``with`` block."""
    return running


@pytest.fixture
def store_again(settings):
    """A function that stores a batch anew, with other notes."""

    def store(batch, notes):
        store_batch(StoreFiles(settings.store, key=settings.receipt_key()), batch, notes)

    return store
