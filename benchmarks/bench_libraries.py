"""Models that their own library runs.

Tiny ones through ``deid models add`` and through GLiNER, Stanza and EDS-NLP.

python benchmarks/bench_libraries.py [--library gliner ...] [--notes 200]

Each model is made from a configuration or by the library's own trainer, saved as the library saves
it, added, and run against the library on the same notes. GLiNER reads no more than its window, so
longer notes are left out for it. Times are of one thread, in seconds of the processor. Needs
the plugins ``gliner``, ``stanza`` and ``edsnlp``.
"""

# ruff: noqa: PLC0415 - each import is heavy

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
for name in ("gliner", "stanza", "edsnlp"):
    sys.path.insert(
        0, str(Path(__file__).resolve().parents[1] / "plugins" / "neural" / "tests" / name)
    )

Found = list[set[tuple[int, int, str]]]
WORDS = [
    "Vu",
    "par",
    "Dupont",
    ",",
    "Martin",
    "le",
    "3",
    "mai",
    "à",
    "Paris",
    ".",
    "Revient",
    "12",
    "juin",
    "!",
    "😀",
    "naïve",
    "García-Müller",
    "(01)",
    "555-0143",
]
MAP = '[labels]\nPER = "NAME"\nNOM = "NAME"\nDATE = "DATE"\n'


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    runs: dict[str, Callable[[Path, int], None]] = {
        "gliner": _gliner,
        "stanza": _stanza,
        "edsnlp": _edsnlp,
    }
    parser.add_argument("--library", choices=list(runs), action="append")
    parser.add_argument("--notes", type=int, default=200)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import torch

    torch.set_num_threads(1)
    print(
        "| library | model | spans | differing | notes/s | the library's"
        " |\n|---|---|---|---|---|---|"
    )
    for library in given.library or runs:
        with tempfile.TemporaryDirectory() as folder:
            runs[library](Path(folder), given.notes)


def _gliner(folder: Path, count: int) -> None:
    from gliner import GLiNER
    from tiny_gliner import LONGEST, PROMPTS, notes, save
    from tiny_gliner import MAP as PROMPT_MAP

    from deid_gliner import GlinerDetector
    from deid_gliner.adding import GlinerImporter

    for mode, is_bi in (
        ("markerV0", False),
        ("token_level", False),
        ("markerV0", True),
        ("token_level", True),
    ):
        name = f"{mode}, bi-encoder" if is_bi else mode
        source = save(folder / name, span_mode=mode, is_bi=is_bi)
        detector = GlinerDetector(
            model=_add_model(GlinerImporter(), source, notes(6, seed=5), PROMPT_MAP), threads=1
        )
        model = GLiNER.from_pretrained(str(source), local_files_only=True)
        words = model.data_processor.words_splitter
        some = [note for note in notes(count) if len(list(words(note.text))) <= LONGEST]

        def theirs(text: str, model: Any = model) -> Iterable[tuple[int, int, str]]:
            for found in model.predict_entities(text, list(PROMPTS), flat_ner=False, threshold=0.5):
                if found["label"] != "disease":
                    yield found["start"], found["end"], found["label"]

        _show("gliner", name, detector, some, theirs)


def _stanza(folder: Path, count: int) -> None:
    import stanza
    from tiny_stanza import save

    from deid_stanza import StanzaDetector, StanzaImporter

    source = save(folder / "resources")
    detector = StanzaDetector(model=_add_model(StanzaImporter(), source, _notes(5), MAP))
    made = stanza.Pipeline(
        "fr", dir=str(source.parent), processors="tokenize,ner", download_method=None, verbose=False
    )
    _show(
        "stanza",
        "Bi-LSTM-CRF",
        detector,
        _notes(count),
        lambda text: [(found.start_char, found.end_char, found.type) for found in made(text).ents],
    )


def _edsnlp(folder: Path, count: int) -> None:
    import edsnlp
    from test_edsnlp import trained

    from deid_edsnlp import EdsnlpDetector, EdsnlpImporter

    source = trained(folder)
    detector = EdsnlpDetector(model=_add_model(EdsnlpImporter(), source, _notes(5), MAP))
    made = edsnlp.load(source)
    _show(
        "edsnlp",
        "ner_crf over BERT",
        detector,
        _notes(count),
        lambda text: [
            (found.start_char, found.end_char, found.label_) for found in made(text).ents
        ],
    )


def _add_model(importer: Any, source: Path, notes: Sequence[Any], text: str) -> Path:
    labels, out = source.parent / "labels.toml", source.parent / f"{source.name}-added"
    labels.write_text(text)
    importer.add({"source": str(source), "name": "m", "out": out, "labels": str(labels)}, notes)
    return out


def _notes(count: int) -> list[Any]:
    from deid_assets import Note

    draw = random.Random(1)
    blanks = [" ", " ", "\n", "  ", "\t"]
    notes = []
    for at in range(count):
        words = draw.choices(WORDS, k=40)
        notes.append(Note(f"n{at}", "".join(word + draw.choice(blanks) for word in words)))
    return notes


def _show(
    library: str,
    model: str,
    detector: Any,
    notes: Sequence[Any],
    theirs: Callable[[str], Iterable[Any]],
) -> None:
    begun = time.process_time()
    ours = [
        {(s.start, s.end, s.native_label or s.label.value) for s in spans}
        for spans in detector.detect(notes)
    ]
    between = time.process_time()
    wanted: Found = [set(theirs(note.text)) for note in notes]
    ended = time.process_time()
    differing = sum(len(a ^ b) for a, b in zip(ours, wanted, strict=True))
    print(
        f"| {library} | {model} | {sum(map(len, wanted)):,} in {len(notes)} notes | {differing} "
        f"| {len(notes) / (between - begun):,.0f} | {len(notes) / (ended - between):,.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
