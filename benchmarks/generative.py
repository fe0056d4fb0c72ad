"""A generative model on notes it has not learnt from.

The tables of Dorémus et al. (2025), speed and memory, as Markdown.

deid train plugins/lab/studies/deid_generative/recipes/generative_small_fr.toml --out MODEL
python benchmarks/generative.py MODEL [--notes 300] [--free 60] [--pace 20] [--queries
asq-phi/dev.jsonl]

The notes are synthetic French emergency notes with another seed than the training notes', none of
which comes again. ``free`` is decoding that is not held to the note; ``checked`` asks ``rules``
where the model says ANONYMOUS; ``bias 0`` is without the bias that was chosen on the development
notes.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conditions import conditions

from deid_assets import DisjointSpans, Note, Span
from deid_assets.core.detector import Detector
from deid_assets.core.label_maps import label_map
from deid_assets.core.trainer import Document
from deid_assets.core.windows import windows
from deid_assets.evaluation.intervals import Range
from deid_assets.evaluation.rewriting import Rewritten, study_category, study_table
from deid_assets.plugins import load
from deid_assets.training import read_corpus
from deid_generative import GenerativeDetector
from deid_generative.decode import Decoding, decode
from deid_generative.folder import read_folder
from deid_generative.judging import Judgement, judge
from deid_generative.opening import Use, open_model
from deid_generative.written import OutputWriter, WrittenOutput
from deid_synthesis import make_corpus

SEED = 999
_HOLES = re.compile(r"\[[^\[\]\n]{1,40}\]")
SUMMARY = (
    "note recall",
    "precision",
    "recall",
    "F1",
    "names only",
    "BLEU-4",
    "altered notes",
    "withheld",
)
BAR = ("characters removed", "over-redaction", "macro F1")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="folder that deid train wrote")
    parser.add_argument("--notes", type=int, default=300, help="synthetic test notes")
    parser.add_argument(
        "--free", type=int, default=60, help="of these, with free decoding too; 0 for none"
    )
    parser.add_argument(
        "--pace", type=int, default=20, help="of these, timed with the constraint on and off"
    )
    parser.add_argument("--queries", type=Path, help="asq-phi's dev.jsonl")
    options = parser.parse_args()
    print(f"{conditions(str(SEED))}\n")
    notes = test_notes(options.model, options.notes)
    report(options.model, notes, title="Synthetic French emergency notes", free=options.free)
    if options.queries:
        report(
            options.model, queries(options.queries), title="asq-phi, development queries", free=0
        )
    pace(options.model, notes[: options.pace])


def test_notes(model: Path, count: int) -> list[Document]:
    """Return synthetic notes of other people than the training notes, without those that come there
    too.
    """
    trained = json.loads((model / "card.json").read_text(encoding="utf-8"))["recipe"]["corpora"]
    learnt = {document.note.text for name in trained for document in read_corpus(name).documents}
    made = make_corpus(lang="fr", notes=count, seed=SEED, mix="triage")
    return [
        Document(note, DisjointSpans.of(note, spans))
        for note, spans in made
        if note.text not in learnt
    ]


def queries(path: Path) -> list[Document]:
    labels = label_map("asq_phi")
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        note = Note(row["id"], row["text"], lang=row["lang"])
        spans = [
            Span(one["start"], one["end"], label, native_label=one["label"])
            for one in row["spans"]
            if (label := labels[one["label"]]) is not None
        ]
        found.append(Document(note, DisjointSpans.of(note, spans)))
    return found


class Remembered:
    """A backend that writes each text once, however many rows of a table ask for it."""

    def __init__(self, backend: OutputWriter) -> None:
        self._backend, self.version, self.room = backend, backend.version, backend.room
        self._known: dict[str, WrittenOutput] = {}

    def units(self, text: str) -> Sequence[Range]:
        return self._backend.units(text)

    def write(self, texts: Sequence[str]) -> list[WrittenOutput]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._backend.write(new), strict=True))
        return [self._known[text] for text in texts]


def report(model: Path, documents: Sequence[Document], *, title: str, free: int) -> None:
    folder = read_folder(model)
    held = Remembered(open_model(str(model), folder, use=Use(threads=1)))
    rules = load("rules")
    rows = {
        "generative": judge(held, documents),
        "generative, checked": judge(held, documents, checker=rules),
        "rules": of_detector(rules, documents),
    }
    if free:
        rows["generative, bias 0"] = judge(
            open_model(str(model), folder, use=Use(bias=0.0, threads=1)), documents
        )
        rows[f"generative, free, {free} notes"] = judge(
            open_model(str(model), folder, use=Use(constrained=False, threads=1)), documents[:free]
        )
    print(f"## {title}: {len(documents)} notes\n")
    table(["System", *SUMMARY], [[name, *summary(found)] for name, found in rows.items()])
    typed = {
        "generative": macro_f1(GenerativeDetector.of_backend(held, folder=folder), documents),
        "rules": macro_f1(rules, documents),
    }
    print("In the measures of the published bar (0.9924, 0.0243; macro F1 0.992 to 0.996)\n")
    table(
        ["System", *BAR],
        [[name, *bar(found), typed.get(name, "-")] for name, found in rows.items()],
    )
    print("Failing notes by what happened, and what was left by cause\n")
    table(
        ["System", "notes", "items", "names"],
        [[name, *errors(found)] for name, found in rows.items()],
    )
    print("Items removed, by category\n")
    names = sorted({key for found in rows.values() for key in found.table.by_category})
    table(["System", *names], [[name, *by_category(found, names)] for name, found in rows.items()])


def of_detector(detector: Detector, documents: Sequence[Document]) -> Judgement:
    spans = detector.detect([document.note for document in documents])
    made = [
        Rewritten(document.note, document.spans, [(span.start, span.end) for span in found])
        for document, found in zip(documents, spans, strict=True)
    ]
    return Judgement(study_table(made, placeholder=_HOLES))


def summary(found: Judgement) -> list[str]:
    values = found.to_json()
    shares = (values[key] for key in ("note_recall", "precision", "recall"))
    names, altered = values["names_only"], values["altered"]
    bleu = values["bleu_corpus"]
    return [
        *map(show_share, shares),
        f"{values['f1']:.4f}",
        show_share(names),
        "-" if bleu is None else f"{bleu:.4f}",
        "-" if altered is None else f"{altered['hits']} of {altered['trials']}",
        str(values["withheld"]),
    ]


def bar(found: Judgement) -> list[str]:
    values = found.to_json()
    return [show_share(values["characters_removed"]), show_share(values["over_redaction"])]


def errors(found: Judgement) -> list[str]:
    values = found.to_json()
    keys = ("failing_notes_by_mode", "left_by_cause", "names_left_by_role")
    return [
        ", ".join(f"{name} {count}" for name, count in values[key].items()) or "none"
        for key in keys
    ]


def by_category(found: Judgement, names: Iterable[str]) -> list[str]:
    rates = found.to_json()["recall_by_category"]
    return [
        f"{rates[name]['hits']} of {rates[name]['trials']}" if rates.get(name) else "-"
        for name in names
    ]


def show_share(share: dict[str, Any] | None) -> str:
    return (
        "-"
        if share is None
        else f"{share['value']:.4f} ({share['interval'][0]:.3f} to {share['interval'][1]:.3f})"
    )


def macro_f1(detector: Detector, documents: Sequence[Document]) -> str:
    """Return the mean F1 of the study's categories.

    A span is right where another of its category overlaps it.
    """
    right: dict[str, list[int]] = {}
    spans = detector.detect([document.note for document in documents])
    for document, found in zip(documents, spans, strict=True):
        for side, (mine, others) in enumerate(((document.spans, found), (found, document.spans))):
            for one in mine:
                name = study_category(one.label)
                if name is not None:
                    hits = any(
                        study_category(two.label) == name and one.overlaps(two) for two in others
                    )
                    counts = right.setdefault(name, [0, 0, 0, 0])
                    counts[2 * side] += hits
                    counts[2 * side + 1] += 1
    scores = [f1(*counts) for counts in right.values() if counts[1]]
    return f"{sum(scores) / len(scores):.4f}" if scores else "-"


def f1(found: int, gold: int, correct: int, predicted: int) -> float:
    recall, precision = found / gold, correct / predicted if predicted else 0.0
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def pace(model: Path, documents: Sequence[Document]) -> None:
    """Print how fast notes are written, in processor time of one thread, and what the constraint
    costs.
    """
    opened = open_model(str(model), read_folder(model), use=Use(threads=1))
    network, speech = (
        opened._model,  # noqa: SLF001 - the same prompts, decoded in two ways
        opened._speech,  # noqa: SLF001 - the same prompts, decoded in two ways
    )
    spent = {
        "held, one token at a time": 0.0,
        "free, as many tokens": 0.0,
        "held, 24 tokens ahead": 0.0,
    }
    tokens = 0
    for turn, document in enumerate([documents[0], *documents]):
        every, _ = speech.plain(document.note.text)
        for window in windows(len(every), size=opened.room, overlap=0):
            source = every[window.start : window.end]
            grammar = replace(speech.grammar(document.note.text, source), anonymous=())
            most = len(source) + 1
            # No placeholder is wanted, so that every way writes the whole note.
            held = Decoding(ahead=0, bias=-1e9)
            ways = (held, Decoding(constrained=False, ahead=0), Decoding(ahead=24, bias=-1e9))
            endless = replace(grammar, end=-1)
            for name, way in zip(spent, ways, strict=True):
                began = time.process_time()
                decode(
                    network,
                    speech.prompt(source),
                    grammar if way.constrained else endless,
                    way,
                    most=most,
                )
                spent[name] += (time.process_time() - began) * bool(turn)  # the first note warms up
            tokens += most * bool(turn)
    print(f"## Pace: {len(documents)} notes, {tokens} tokens, one thread, processor time\n")
    rows = [
        [name, f"{tokens / seconds:,.0f}", f"{len(documents) / seconds * 3600:,.0f}"]
        for name, seconds in spent.items()
    ]
    table(["Decoding", "tokens/s", "notes/h"], rows)
    slow, fast, _ = spent.values()
    print(f"The constraint costs {1 - fast / slow:+.1%} of the tokens per second, token by token.")
    print(
        f"Memory at its highest: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}"
        " MiB."
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|:--|" + "--:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


if __name__ == "__main__":
    main()
