"""Check whether the rules detector still finds the same.

Save a digest of each note's spans, and compare with saved ones.

python benchmarks/rules_equality.py save FILE [--synthetic 20000]      before a change
python benchmarks/rules_equality.py compare FILE [--synthetic 20000]   after it; status 1 where a
note differs

Read are synthetic notes of every language with a grammar and hostile text, and with DEID_CORPORA
set every development set below ``annotated`` and every raw note. Each is read with its language
told and, under other profiles, not told. A line of the file holds the digest and the spans with
offsets, labels, scores, sources and native labels, no text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.plugins import load
from deid_synthesis import languages, make_corpus

SEED = 19
BATCH = 1_000
LANGS = {
    "aci-bench": "en",
    "asq-phi": "en",
    "deduce-cases-nl": "nl",
    "eds-pseudo-templates": "fr",
    "en": "en",
    "es-nubes": "es",
    "fr": "fr",
    "grascco-phi": "de",
    "it": "it",
    "meddocan": "es",
    "mts-dialog": "en",
    "mtsamples": "en",
    "presidio-research-synth": "en",
    "turku-ner-fi": "fi",
}
"""Of a corpus by its folder or file."""
HOSTILE = (
    "0123456789",
    "12-34-",
    "Aé ",
    "Dr Lee, ",
    "a.b.c@d.",
    "Lee, John\n",
    "Mr. O\u2019Neil ",
    "\U0001f600 x\u0301 ",
    "İı ß ",
)
SETTINGS = (
    ("told", {"profile": "i2b2"}),
    ("untold", {"profile": "safe_harbor"}),
    ("untold", {"profile": "i2b2_fine", "ocr": True, "langs": ("de", "en", "fr")}),
    ("told", {"profile": "gdpr", "min_score": 0.0}),
)
"""Whether notes name their language, and the detector's settings."""


def corpora() -> Iterator[tuple[str, list[str], str | None]]:
    """Yield the texts of each file with its language, if there is one."""
    root = Path(os.environ.get("DEID_CORPORA", ""))
    for path in sorted([*root.glob("annotated/*/*.jsonl"), *root.glob("raw/*/*.jsonl")]):
        texts = [json.loads(line)["text"] for line in path.open(encoding="utf-8")]
        yield (
            f"{path.parent.name}/{path.name}",
            texts,
            LANGS.get(path.stem) or LANGS.get(path.parent.name),
        )


def synthetic(count: int) -> Iterator[tuple[str, list[str], str | None]]:
    """Yield as many synthetic notes of each language."""
    for lang in languages():
        made = make_corpus(lang=lang, notes=count // len(languages()), seed=SEED)
        yield f"synthetic/{lang}", [note.text for note, _ in made], lang


def hostile() -> Iterator[tuple[str, list[str], str | None]]:
    """Yield patterns repeated to 20 KB, in no language."""
    yield "hostile", [piece * (20_000 // len(piece)) for piece in HOSTILE], None


def line_of(spans: SpanSet | Failed) -> str:
    """Return the digest of a note's spans, and the spans; or the error."""
    if isinstance(spans, Failed):
        return spans.error
    shown = repr([(s.start, s.end, str(s.label), s.score, s.source, s.native_label) for s in spans])
    whole = f"{spans.note_id} {spans.digest} {shown}"
    return f"{hashlib.sha256(whole.encode()).hexdigest()[:16]}\t{shown}"


def lines(count: int, every: int, settings_read: Sequence[int]) -> Iterator[str]:
    """Yield a line for each note under each of these settings, or for every so many-th note of each
    set.
    """
    sets = [*corpora(), *synthetic(count), *hostile()]
    for told, settings in (SETTINGS[number] for number in settings_read):
        detector = load("rules", options=settings)
        spent, read = 0.0, 0
        for name, texts, lang in sets:
            notes = [
                Note(f"n{at}", text, lang=lang if told == "told" else None)
                for at, text in enumerate(texts)
            ][::every]
            for first in range(0, len(notes), BATCH):
                started = time.process_time()
                found = detect(detector, notes[first : first + BATCH])
                spent += time.process_time() - started
                read += len(found)
                for spans in found:
                    yield f"{name} {told} {settings['profile']} {spans.note_id}\t{line_of(spans)}"
        print(f"{read:,} notes, language {told}, {settings}: {spent:.1f} s CPU", flush=True)


def compare_spans(before: Path, new_lines: Iterator[str], shown: int) -> int:
    """Print how many notes differ from the saved ones, the first few with their spans.

    Return the number.
    """
    differing = total = 0
    with before.open(encoding="utf-8") as saved:
        for old, new in zip_longest(map(str.rstrip, saved), new_lines):
            total += 1
            if old != new:
                differing += 1
                if differing <= shown:
                    print(f"- {old}\n+ {new}")
    print(f"{differing:,} of {total:,} notes differ")
    return differing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("save", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--synthetic", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1, help="read only each so many-th note")
    parser.add_argument("--shown", type=int, default=10, help="differing notes to print")
    parser.add_argument(
        "--settings",
        type=int,
        nargs="+",
        default=range(len(SETTINGS)),
        help="numbers of the settings, from 0",
    )
    options = parser.parse_args()
    print(conditions(str(SEED)))
    found = lines(options.synthetic, options.every, options.settings)
    if options.action == "save":
        with options.file.open("w", encoding="utf-8") as saved:
            saved.writelines(f"{line}\n" for line in found)
    elif compare_spans(options.file, found, options.shown):
        sys.exit(1)


if __name__ == "__main__":
    main()
