"""Hiding in plain sight.

What an attacker finds of the leftovers, by policy and recall, as Markdown.

[DEID_CORPORA=<folder with annotated/>] python benchmarks/hips.py [--set synthetic-en|meddocan ...]
[--seed S] [--out FOLDER]

Leftovers are drawn at random at each recall; ``detected`` are those that the rules missed. Half of
the patients are the attacker's. The synthetic notes have no patients with several notes; MEDDOCAN's
notes name none, so halves are of notes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.keys import Key
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.formats import Annotated, read_notes
from deid_assets.plugins import load
from deid_assets.policies import load_policy
from deid_assets.privacy.audit import Case
from deid_hips.attack import AttackOptions, attack
from deid_hips.drawing import hips_md, hips_png
from deid_synthesis import make_corpus

SETS = {"synthetic-en": "harmonised", "meddocan": "meddocan"}
"""Corpus and the profile that the rules look for."""
POLICIES = ("tag", "placeholder", "hash", "surrogate", "research")
SYNTHETIC_NOTES, SYNTHETIC_SEED = 800, 5
KEY = Key(bytes(range(32)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=[*SETS], action="append", help="all when not given")
    parser.add_argument("--policy", action="append", help=f"{', '.join(POLICIES)} when not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for JSON and plots")
    options = parser.parse_args()
    print(f"{conditions(str(options.seed))}; rules")
    policies = [load_policy(name) for name in options.policy or POLICIES]
    for name in options.set or SETS:
        started = time.perf_counter()
        cases = list(
            _cases(_synthetic() if name == "synthetic-en" else _meddocan(), profile=SETS[name])
        )
        findings = [
            each.to_json()
            for each in attack(cases, policies, key=KEY, setting=AttackOptions(seed=options.seed))
        ]
        gold = sum(len(case.gold) for case in cases)
        print(
            f"\n{name}: {len(cases):,} notes, {gold:,} annotated spans,"
            f" {time.perf_counter() - started:.0f} s\n"
        )
        print(hips_md(findings))
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"hips-{name}.json").write_text(json.dumps(findings, indent=1) + "\n")
            (options.out / f"hips-{name}.png").write_bytes(
                hips_png(findings, title=f"{name}: missed identifiers found")
            )


def _synthetic() -> Iterable[tuple[Note, SpanSet]]:
    return make_corpus(lang="en", notes=SYNTHETIC_NOTES, seed=SYNTHETIC_SEED, mix="hospital")


def _meddocan() -> Iterable[tuple[Note, SpanSet]]:
    path = Path(os.environ.get("DEID_CORPORA", "")) / "annotated" / "meddocan" / "dev.jsonl"
    if not path.is_file():
        sys.exit(f"{path} is not there; set DEID_CORPORA")
    for found in read_notes(path, format="jsonl", labels=label_map("meddocan")):
        if isinstance(found, Annotated) and found.spans is not None:
            yield found.note, found.spans


def _cases(pairs: Iterable[tuple[Note, SpanSet]], *, profile: str) -> Iterable[Case]:
    pairs = list(pairs)
    outcomes = detect(load("rules", options={"profile": profile}), [note for note, _ in pairs])
    for (note, gold), outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, Failed):
            sys.exit(f"rules failed on note {note.note_id!r}")
        yield Case(note, _disjoint(note, gold), _disjoint(note, outcome))


def _disjoint(note: Note, spans: SpanSet) -> DisjointSpans:
    sources: Sequence[str] = sorted({span.source for span in spans}) or ["none"]
    return resolve(note, [spans], ensemble=Ensemble(sources))


if __name__ == "__main__":
    main()
