"""What rules cover in text that holds next to no patient.

Characters per 10,000, by category, as Markdown.

DEID_CORPORA=<folder with raw/ and annotated/> python benchmarks/over_redaction.py [--set en ...]
[--sample N --seed S]

Case reports and medical transcriptions name few people, but months, towns and hospitals, so not all
of this is an error: ``--sample`` prints findings at random, in context, for a person to judge.
Vocabularies were counted in the even lines; the odd ones are read here. Ages are set aside in a
second figure: Safe Harbor lets those below 90 stay.

With ``--rules week_of_year ...`` instead every finding of these patterns is printed, in all lines
of these and in every development set, so that a person can count which are right.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conditions import conditions
from rules_equality import corpora

from deid_assets.core.detector import Failed, detect
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.languages import ANY
from deid_assets.plugins import load
from deid_rules.candidate import Candidate
from deid_rules.language import read_language
from deid_rules.lexicon import Lexicon
from deid_rules.scan import Scanner
from deid_rules.sets import pattern_sets
from deid_rules.view import views_of

RAW: Mapping[str, tuple[str, str]] = {
    "en": ("case-reports-ccby/en.jsonl", "en"),
    "es-nubes": ("case-reports-ccby/es-nubes.jsonl", "es"),
    "fr": ("case-reports-ccby/fr.jsonl", "fr"),
    "it": ("case-reports-ccby/it.jsonl", "it"),
    "mtsamples": ("mtsamples/notes.jsonl", "en"),
}
"""File below ``raw/`` and its language."""
QUERIES = "asq-phi"
PROFILE = "safe_harbor"
SIDE = 60
"""Characters of context on either side of a sampled finding."""

Found = Sequence[tuple[Note, SpanSet]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--set", choices=[*RAW, QUERIES], action="append", help="all when not given"
    )
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="print N findings per set, in context"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--rules", nargs="+", default=[], metavar="ID", help="print all findings of these patterns"
    )
    options = parser.parse_args()
    root = Path(os.environ.get("DEID_CORPORA", ""))
    if not (root / "raw").is_dir():
        sys.exit(f"{root / 'raw'} is not there; set DEID_CORPORA")
    if options.rules:
        print(f"{conditions('none')}; patterns {', '.join(options.rules)}")
        _show_rules(frozenset(options.rules))
        return
    print(
        f"{conditions(str(options.seed) if options.sample else 'none')}; rules, profile {PROFILE}"
    )
    chosen = options.set or [*RAW, QUERIES]
    found = {
        name: _find(_phi_free(root) if name == QUERIES else _odd_lines(root, *RAW[name]))
        for name in chosen
    }
    _show({name: found[name] for name in chosen if name != QUERIES})
    if QUERIES in chosen:
        _show_touched(found[QUERIES])
    for name in chosen if options.sample else ():
        _show_sample(name, found[name], count=options.sample, seed=options.seed)


def _odd_lines(root: Path, path: str, lang: str) -> Iterator[Note]:
    """Every second line of a file, counted from 0: those that no vocabulary was counted in."""
    rows = (root / "raw" / path).read_text(encoding="utf-8").splitlines()
    for number, row in enumerate(rows):
        if number % 2:
            yield Note(f"{number}", json.loads(row)["text"], lang=lang)


def _phi_free(root: Path) -> Iterator[Note]:
    """The queries in which nothing is annotated that counts."""
    labels = label_map("asq_phi")
    rows = (root / "annotated" / "asq-phi" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, rows):
        if all(labels[span["label"]] is None for span in row["spans"]):
            yield Note(str(row["id"]), row["text"], lang="en")


def _find(notes: Iterator[Note]) -> Found:
    read = list(notes)
    outcomes = list(detect(load("rules", options={"profile": PROFILE}), read))
    if failed := [outcome for outcome in outcomes if isinstance(outcome, Failed)]:
        sys.exit(
            f"{len(failed)} notes failed, the first with {failed[0].error} in {failed[0].stage}"
        )
    return [
        (note, spans)
        for note, spans in zip(read, outcomes, strict=True)
        if isinstance(spans, SpanSet)
    ]


def _show(found: Mapping[str, Found]) -> None:
    covered: dict[str, Counter[Phi]] = {}
    for name, pairs in found.items():
        covered[name] = Counter()
        for _, spans in pairs:
            for span in spans:
                covered[name][span.label] += span.end - span.start
    chars = {name: sum(len(note.text) for note, _ in pairs) for name, pairs in found.items()}
    print("\nCharacters covered per 10,000\n\n| category | " + " | ".join(found) + " |")
    print("|:--|" + "--:|" * len(found))
    total = sum(covered.values(), Counter())
    for label, _ in total.most_common():
        print(
            f"| {label} | "
            + " | ".join(f"{1e4 * covered[name][label] / chars[name]:.1f}" for name in found)
            + " |"
        )
    for head, aside in (("**all**", None), ("**all but ages**", Phi.AGE)):
        sums = {
            name: sum(count for label, count in covered[name].items() if label is not aside)
            for name in found
        }
        print(
            f"| {head} | "
            + " | ".join(f"{1e4 * sums[name] / chars[name]:.1f}" for name in found)
            + " |"
        )
    print("| notes | " + " | ".join(f"{len(pairs):,}" for pairs in found.values()) + " |")
    print("| characters | " + " | ".join(f"{chars[name]:,}" for name in found) + " |")


def _show_touched(found: Found) -> None:
    touched = sum(bool(spans.spans) for _, spans in found)
    apart = sum(any(span.label is not Phi.AGE for span in spans) for _, spans in found)
    print(
        f"\n{QUERIES}: {touched} of {len(found)} queries without PHI are touched, {apart} beside"
        " ages"
    )


def _show_sample(name: str, found: Found, *, count: int, seed: int) -> None:
    findings = [
        (note, span) for note, spans in found for span in spans if span.label is not Phi.AGE
    ]
    chosen = random.Random(seed).sample(findings, min(count, len(findings)))
    print(f"\n### {name}: {len(chosen)} of {len(findings):,} findings beside ages\n")
    for number, (note, span) in enumerate(chosen, start=1):
        print(
            f"{number:3} {span.label:12} {span.score:.2f} {note.note_id:>5} "
            f" {_in_context(note.text, span)}"
        )


def _show_rules(ids: frozenset[str]) -> None:
    """Print what these patterns find, before anything else has a say, with where they find it."""
    notes = findings = 0
    for name, texts, lang in corpora():
        folders = [read_language(code) for code in (ANY, *([lang] if lang else []))]
        patterns = [
            pattern for folder in folders for pattern in folder.patterns if pattern.id in ids
        ]
        scanner = Scanner(
            pattern_sets(patterns, name), Lexicon([folder.lists for folder in folders], endings=())
        )
        notes += len(texts)
        for text, found in zip(texts, scanner.scan(list(views_of(texts))), strict=True):
            findings += len(found)
            for candidate in found:
                print(f"{name:30} {candidate.rule:25} {_in_context(text, candidate)}")
    print(f"{findings} findings in {notes:,} notes")


def _in_context(text: str, span: Span | Candidate) -> str:
    before, inside, after = (
        " ".join(part.split())
        for part in (
            text[max(0, span.start - SIDE) : span.start],
            text[span.start : span.end],
            text[span.end :][:SIDE],
        )
    )
    return f"{before} [[{inside}]] {after}"


if __name__ == "__main__":
    main()
