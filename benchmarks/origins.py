"""What detectors find of names by their origin, on the composed notes, as Markdown with intervals.

python benchmarks/origins.py [--part dev] [--detector rules] [--detector compact] [--detector
encoder=MODEL]

Every word of a marked name is exchanged for one of the same origin, the same throughout a note,
written as the word was (capitals, lower case); all else stays. So notes differ in the names alone.
Letters of names count, and one is found where any span lies on it. `known` says that the names with
which ``compact`` and ``encoder`` varied their training notes hold this origin. Intervals are
percentiles of 1,000 bootstrap samples of notes.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from conditions import conditions
from faker import Faker
from messy import COMPOSED, SAMPLES, SEED, mark_covered, read, run_detector, share_with_interval
from numpy.typing import NDArray

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_compact.augmentation import Marks, Pools, exchange
from deid_compact.origins import LOCALES

ORIGINS: Mapping[str, Sequence[str]] = {
    "Algerian": ["fr_DZ"],
    "English": ["en_GB", "en_US"],
    "Finnish": ["fi_FI"],
    "German": ["de_DE"],
    "Ghanaian": ["tw_GH"],
    "Indian": ["en_IN"],
    "Indonesian": ["id_ID"],
    "Igbo and Hausa": ["ig_NG", "ha_NG"],
    "Pakistani": ["en_PK"],
    "Polish": ["pl_PL"],
    "Spanish": ["es_ES", "es_MX"],
    "Turkish": ["tr_TR"],
    "Uzbek": ["uz_UZ"],
    "Vietnamese": ["vi_VN"],
    "Yoruba": ["yo_NG"],
    "Zulu": ["zu_ZA"],
}
EACH = 400
"""Names drawn of each locale."""
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]+")
Pair = tuple[Note, Sequence[Span]]


def words_of(locales: Sequence[str]) -> list[str]:
    """Return words of first names and surnames in Latin letters, in order."""
    words: set[str] = set()
    for locale in locales:
        faker = Faker(locale)
        faker.seed_instance(SEED)
        for _ in range(EACH):
            words.update(_WORD.findall(f"{faker.first_name()} {faker.last_name()}"))
    return sorted(word for word in words if word[0].isupper() and _is_latin(word))


def _is_latin(word: str) -> bool:
    return all(ord(letter) < 0x250 or 0x1E00 <= ord(letter) < 0x1F00 for letter in word)


def exchange_names(pairs: Sequence[Pair], words: Sequence[str]) -> list[Pair]:
    """Return the notes with other names, and the marks of these names alone."""
    found = []
    for note, spans in pairs:
        marks: Marks = [(span.start, span.end, span.label) for span in spans]
        chance = random.Random(f"{SEED} {note.note_id}")
        text, moved = exchange(note.text, marks, Pools(words), chance)
        names = [Span(start, end, label) for start, end, label in moved if label is Phi.NAME]
        found.append((Note(note.note_id, text, lang=note.lang), names))
    return found


def counts_of(spec: str, pairs: Sequence[Pair]) -> NDArray[np.int64]:
    """Return the letters of names of each note, and those of them that are found: (notes, 2)."""
    spans, _ = run_detector(spec, [note for note, _ in pairs])
    counts = []
    for (note, names), found in zip(pairs, spans, strict=True):
        is_letter = np.array([letter.isalpha() for letter in note.text], dtype=bool)
        is_name = mark_covered(note, names) & is_letter
        counts.append([int(is_name.sum()), int((is_name & mark_covered(note, found)).sum())])
    return np.array(counts)


def _show_share(counts: NDArray[np.int64], draws: NDArray[np.int64]) -> str:
    drawn = counts[draws].sum(axis=1)
    return share_with_interval(counts[:, 1].sum(), counts[:, 0].sum(), drawn[:, 1], drawn[:, 0])


def _recall(counts: NDArray[np.int64]) -> float:
    return float(counts[:, 1].sum() / max(counts[:, 0].sum(), 1))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    parser.add_argument("--detector", action="append", help="NAME or NAME=MODEL")
    parser.add_argument("--notes", type=Path, help="a file in place of the composed notes")
    options = parser.parse_args()
    paths = [options.notes] if options.notes else sorted((COMPOSED / options.part).glob("*.jsonl"))
    pairs = read(paths)
    detectors = options.detector or ["rules", "compact"]
    draws = np.random.default_rng(SEED).integers(0, len(pairs), (SAMPLES, len(pairs)))
    recalls: dict[str, list[float]] = {spec: [] for spec in detectors}
    print(f"{len(pairs)} notes of {options.notes or options.part}; {conditions()}\n")
    heads = ["origin of the names", "known", *(spec.partition("=")[0] for spec in detectors)]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for origin, locales in ORIGINS.items():
        of_origin = exchange_names(pairs, words_of(locales))
        shown = []
        for spec in detectors:
            counts = counts_of(spec, of_origin)
            recalls[spec].append(_recall(counts))
            shown.append(_show_share(counts, draws))
        known = "yes" if set(locales) & set(LOCALES) else "no"
        print(f"| {origin} | {known} | {' | '.join(shown)} |", flush=True)
    gaps = [f"{max(each) - min(each):.3f}" for each in recalls.values()]
    print(f"| best to worst | | {' | '.join(gaps)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
