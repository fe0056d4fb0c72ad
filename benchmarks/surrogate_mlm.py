"""What a masked language model writes in the place of names and places, against lists, as Markdown.

[DEID_CORPORA=<folder with raw/>] python benchmarks/surrogate_mlm.py --model NAME=FOLDER [--model
...]
    [--learnt NOTES] [--notes N] [--hips-notes N] [--document [--near N]] [--top-k K] [--seed S]

Synthetic notes are replaced at their gold spans, MTSamples at those of the rules. A model's folder
is ``masked_lm`` of a model that ``deid train`` wrote with ``settings.pretrain.keep = true``.
``--learnt`` names annotated notes that the models were pre-trained on, to count whose names they
give away. The first pass over the notes asks the model for each word; the second finds its answers
in memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans
from deid_assets.formats import Annotated, read_notes
from deid_assets.plugins import load
from deid_assets.policies import load_policy
from deid_assets.policies.drawing import fold
from deid_assets.policies.needs import originals_of
from deid_assets.privacy.audit import Case
from deid_hips.attack import AttackOptions, attack
from deid_hips.drawing import hips_md
from deid_surrogates.locales import locale_of
from deid_surrogates.names import full_name, parse
from deid_surrogates.surrogate import Surrogate
from deid_surrogates.words import is_name
from deid_synthesis import make_corpus
from deid_zero_shot import candidates
from deid_zero_shot.frames import WORDED
from deid_zero_shot.model_files import check_model
from deid_zero_shot.substitution import MaskedSurrogate

KEY = Key(bytes(range(32)))
RECALLS = (0.9, 0.97)
# CPU seconds that clocks tell apart at the least, and that notes in memory are read for
TICK, LONG_ENOUGH = 0.01, 0.2
Pairs = Sequence[tuple[Note, DisjointSpans]]


class Value(NamedTuple):
    """A replaced value of a category that a language model serves."""

    owner: str
    label: Phi
    original: str
    drawn: str

    @property
    def is_tag(self) -> bool:
        """Whether nothing could be drawn."""
        return self.drawn == f"[{self.label}]"


def main() -> None:
    options = _options()
    print(conditions(str(options.seed)), flush=True)
    models = dict(model.split("=", 1) for model in options.model)
    policies = {"lists": load_policy("surrogate")} | {
        policy.name: policy
        for name, folder in models.items()
        for policy in _policies(name, folder, options)
    }
    learnt = frozenset(_name_words_of(options.learnt)) if options.learnt else frozenset()
    sets = {
        "synthetic": list(_synthetic(options.notes, options.seed)),
        "mtsamples": list(_mtsamples(options.notes)),
    }
    rows, labels = [], []
    for name, pairs in sets.items():
        for source, policy in policies.items() if pairs else ():
            rates, values = _replace_values(pairs, policy)
            rows.append(
                [name, source, *(f"{rate:,.3g}" for rate in rates), *_figures(values, learnt)]
            )
            labels.append([name, source, *_show_tagged(values)])
    _table(HEADER, rows)
    _table(("Tagged of", "From", *(label.value for label in WORDED)), labels)
    if options.hips_notes:
        cases = [
            Case(note, spans, spans) for note, spans in _synthetic(options.hips_notes, options.seed)
        ]
        setting = AttackOptions(recalls=RECALLS, seed=options.seed)
        attacked = [
            load_policy("tag"),
            load_policy("surrogate"),
            *islice(policies.values(), 1, None),
        ]
        print(f"{len(cases):,} synthetic notes, attacked\n")
        print(
            hips_md(
                [found.to_json() for found in attack(cases, attacked, key=KEY, setting=setting)]
            )
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument(
        "--learnt", type=Path, help="annotated notes that the models were pre-trained on"
    )
    parser.add_argument("--notes", type=int, default=200, help="of each set")
    parser.add_argument("--hips-notes", type=int, default=400, help="0 leaves the attack out")
    parser.add_argument("--document", action="store_true", help='also with around = "document"')
    parser.add_argument(
        "--near", type=int, action="append", default=[], help="and compared in so many sub-tokens"
    )
    parser.add_argument("--top-k", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    return parser.parse_args()


def _policies(name: str, folder: str, options: argparse.Namespace) -> Iterator[Policy]:
    """Yield the policy of a model, and those that ask it in the notes' own context."""
    files = check_model(folder)
    replacer = MaskedSurrogate(folder, top_k=options.top_k, files=files)
    yield Policy(name, Surrogate(), dict.fromkeys(WORDED, replacer))
    if options.document:
        inside = replace(replacer, around="document")
        yield Policy(f"{name}, in the note", Surrogate(), dict.fromkeys(WORDED, inside))
        for near in options.near:
            closer = replace(inside, near=near)
            yield Policy(f"{name}, near {near}", Surrogate(), dict.fromkeys(WORDED, closer))


def _synthetic(count: int, seed: int) -> Iterator[tuple[Note, DisjointSpans]]:
    for note, spans in make_corpus(lang="en", notes=count, seed=seed):
        yield note, DisjointSpans.of(note, spans)


def _mtsamples(count: int) -> Iterator[tuple[Note, DisjointSpans]]:
    """Yield the first notes in which the rules find a word to replace."""
    path = Path(os.environ.get("DEID_CORPORA", "")) / "raw" / "mtsamples" / "notes.jsonl"
    if not path.is_file():
        print(f"{path} is not there; set DEID_CORPORA", file=sys.stderr)
        return
    notes = [
        found.note for found in read_notes(path, format="jsonl") if isinstance(found, Annotated)
    ]
    yield from islice(_detect(notes), count)


def _detect(notes: Sequence[Note]) -> Iterator[tuple[Note, DisjointSpans]]:
    rules = load("rules")
    for first in range(0, len(notes), 100):
        some = notes[first : first + 100]
        for note, found in zip(some, detect(rules, some), strict=True):
            if isinstance(found, Failed):
                sys.exit(f"rules failed on note {note.note_id!r}")
            spans = resolve(note, [found], ensemble=Ensemble(("rules",)))
            if any(span.label in WORDED for span in spans):
                yield note, spans


def _replace_values(pairs: Pairs, policy: Policy) -> tuple[list[float], list[Value]]:
    """Return notes per second of CPU time of the first and the second pass, and what
    was replaced.
    """
    originals = originals_of(policy, KEY, pairs)
    rates = []
    _load(policy)
    for least in (0.0, LONG_ENOUGH):
        started, passes = time.process_time(), 0
        while not passes or time.process_time() - started < least:
            done = [
                redact(note, spans, policy, key=KEY, originals=originals) for note, spans in pairs
            ]
            passes += 1
        rates.append(passes * len(pairs) / max(time.process_time() - started, TICK))
    values = []
    for (note, _), found in zip(pairs, done, strict=True):
        owner = note.patient_id or note.note_id
        for edit in found.edits:
            if edit.label not in WORDED:
                continue
            before = note.text[edit.start : edit.end]
            after = found.text[edit.new_start : edit.new_end]
            values.append(Value(owner, edit.label, before, after))
    return rates, values


def _load(policy: Policy) -> None:
    """Load the models of a policy, on one core."""
    for action in set(policy.actions.values()):
        if isinstance(action, MaskedSurrogate):
            import torch  # noqa: PLC0415 - not needed for --help

            torch.set_num_threads(1)
            candidates.load(action.model, action.files)


HEADER = (
    "Set",
    "From",
    "Notes/s, first",
    "next",
    "Values",
    "Tagged",
    "Left as they were",
    "Name words kept",
    "One word, one surrogate",
    "Two words, one surrogate",
    "Names by the lists",
    "Names of the training notes",
    "Different name words, of",
    "Digits or identifiers",
    "Full names of others",
)


def _figures(values: Sequence[Value], learnt: frozenset[str]) -> list[str]:
    names = [value for value in values if value.label is Phi.NAME and not value.is_tag]
    aligned = [(value.owner, *words) for value in names for words in _align_words(value)]
    drawn = [word for _, _, word in aligned]
    mentions = Counter((owner, original) for owner, original, _ in aligned)
    by_word, by_drawn = defaultdict(set), defaultdict(set)
    for owner, original, word in aligned:
        by_word[owner, original].add(word)
        by_drawn[owner, word].add(original)
    repeated = [words for mention, words in by_word.items() if mentions[mention] > 1]
    locale = locale_of("en")
    real = {full_name(value.original, "en") for value in values if value.label is Phi.NAME} - {None}
    return [
        f"{len(values):,}",
        _share(value.is_tag for value in values),
        f"{sum(fold(value.drawn) == fold(value.original) for value in values):,}",
        f"{sum(bool(_words(value.original) & _words(value.drawn)) for value in names):,}",
        _share(len(words) == 1 for words in repeated),
        _share(len(words) > 1 for words in by_drawn.values()),
        _share(is_name(locale, word) for word in drawn),
        _share(word in learnt for word in drawn) if learnt else "",
        f"{len(set(drawn)):,} of {len({original for _, original, _ in aligned}):,}",
        f"{sum(_has_digit(value.drawn) and not _has_digit(value.original) for value in values):,}",
        f"{sum(full_name(value.drawn, 'en') in real for value in names):,}",
    ]


def _align_words(value: Value) -> Iterator[tuple[str, str]]:
    """Yield the words of a name with those in their place."""
    words = [_name_words(text) for text in (value.original, value.drawn)]
    if len(words[0]) == len(words[1]):
        yield from zip(*words, strict=True)


def _name_words(text: str) -> list[str]:
    """Return the folded words of a name that are no titles, particles or initials, without the
    genitive.
    """
    split = locale_of("en").inflection.split
    words = (
        text[piece.start : piece.end] for piece in parse(text, "en")[0] if piece.kind == "name"
    )
    return [fold(split(word, lambda base: is_name(locale_of("en"), base))[0]) for word in words]


def _words(text: str) -> set[str]:
    return set(_name_words(text))


def _name_words_of(path: Path) -> Iterator[str]:
    """Yield the words of the names that notes have."""
    for found in read_notes(path, format="jsonl"):
        if isinstance(found, Annotated) and found.spans is not None:
            for span in found.spans:
                if span.label is Phi.NAME:
                    yield from _name_words(found.note.text[span.start : span.end])


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _show_tagged(values: Sequence[Value]) -> list[str]:
    by_label: Mapping[Phi, list[bool]] = {label: [] for label in WORDED}
    for value in values:
        by_label[value.label].append(value.is_tag)
    return [f"{_share(tags)} of {len(tags):,}" if tags else "-" for tags in by_label.values()]


def _share(truths: Iterable[bool]) -> str:
    known = list(truths)
    return f"{sum(known) / len(known):.1%}" if known else "-"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on its side: as many columns as there are rows."""
    for number, cells in enumerate(zip(header, *rows, strict=True)):
        print("| " + " | ".join(cells) + " |")
        if not number:
            print("| :-- |" + " --: |" * len(rows))
    print(flush=True)


if __name__ == "__main__":
    main()
