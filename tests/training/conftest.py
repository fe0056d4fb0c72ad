"""A small trainer, installed on disk as any other: it remembers the words of each label."""

import json
import sys

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span, plugins
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus

MODULE = """
import json
from pathlib import Path

from deid_assets import Phi, Span, SpanSet
from deid_assets.core.errors import ConfigError
from deid_assets.core.tagging import tokenize
from deid_assets.core.trainer import Epoch


class Trainer:
    name = "xwords"
    learns_in_phases = True
    version = "1"

    def settings(self, given):
        if unknown := set(given) - {"epochs", "stop_after", "learns"}:
            raise ConfigError(f"xwords has no setting {sorted(unknown)[0]}")
        return {"epochs": 2, "learns": True, **given}

    def train(self, task, out, report):
        kept = out / "checkpoint"
        start = int(kept.read_text()) if kept.exists() else 0
        words = {}
        for number, phase in enumerate(task.phases):
            for document in phase:
                for span in document.spans if task.settings["learns"] else ():
                    words[document.note.text[span.start : span.end]] = task.tag_label(span)
        for epoch in range(start, task.settings["epochs"]):
            report(Epoch(phase=0, epoch=epoch + 1, loss=1.0 / (epoch + 1), seconds=0.1, dev_f1=0.5))
            kept.write_text(str(epoch + 1))
            if epoch + 1 == task.settings.get("stop_after") and not start:
                raise KeyboardInterrupt
        kept.unlink(missing_ok=True)
        labels = {label: category.value for label, category in task.labels.items()}
        kept = {"words": words, "labels": labels, "started": start}
        (out / "tagger.json").write_text(json.dumps(kept))


class Detector:
    version = "1"

    def __init__(self, *, model, name="xwords"):
        self.name = name
        known = json.loads((Path(model) / "tagger.json").read_text())
        self._words = known["words"]
        self._labels = {label: Phi(category) for label, category in known["labels"].items()}
        self.labels = frozenset(self._labels.values())

    def detect(self, notes):
        for note in notes:
            spans = []
            for start, end in tokenize(note.text):
                label = self._words.get(note.text[start:end])
                if label:
                    category = self._labels[label]
                    native = "" if label == category.value else label
                    spans.append(Span(start, end, category, 1.0, self.name, native))
            yield SpanSet.of(note, spans)
"""


@pytest.fixture
def xwords(tmp_path, monkeypatch):
    """Install the trainer and the detector ``xwords``."""
    site = tmp_path / "site"
    (site / "deid_xwords").mkdir(parents=True)
    (site / "deid_xwords" / "__init__.py").write_text(MODULE)
    dist = site / "deid_xwords-1.0.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: deid-xwords\nVersion: 1.0\nKeywords: a,b,needs-model\n"
    )
    (dist / "entry_points.txt").write_text(
        f"[{plugins.GROUP}]\nxwords = deid_xwords:Detector\n[{plugins.TRAINERS}]\nxwords ="
        " deid_xwords:Trainer\n"
    )
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop("deid_xwords", None)


@pytest.fixture
def notes():
    """Return a function that makes a corpus of ``Seen by NAME on YEAR``, one note for each name."""

    def make(*names, corpus="mine", native=""):
        documents = []
        for number, name in enumerate(names):
            note = Note(
                f"{corpus}-{number}",
                f"Seen by {name} on 2020 in {corpus}.",
                patient_id=f"{corpus}-p{number}",
                lang="en",
            )
            spans = [
                Span(8, 8 + len(name), Phi.NAME, native_label=native),
                Span(12 + len(name), 16 + len(name), Phi.DATE),
            ]
            documents.append(Document(note, DisjointSpans.of(note, spans)))
        return Corpus(corpus, tuple(documents))

    return make


@pytest.fixture
def card_of():
    """Return a function that reads what a model folder's card says."""
    return lambda folder: json.loads((folder / "card.json").read_text())
