"""Notes a second of each generator of synthetic notes.

python benchmarks/bench_generators.py [--notes 200] [--seed 3]

The profile is that of the composed training notes in English.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable

from conditions import conditions

from deid_assets import Note, Span
from deid_assets.extending import DisjointSpans, SpanSet
from deid_assets.extending.commands import Annotated
from deid_synthesis import make_corpus
from deid_synthesis.frames import frames, make_frame_corpus
from deid_synthesis.learning import learn
from deid_synthesis.sitelike import make_site_corpus


def site() -> Iterable[Annotated]:
    """Yield the composed notes."""
    for one in frames("en"):
        note = Note(one.note_id, one.text, lang="en")
        spans = [Span(mark.start, mark.end, mark.label) for mark in one.marks]
        yield Annotated(note, DisjointSpans.of(note, spans))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    print(conditions(str(options.seed)))
    started = time.process_time()
    profile = learn(site(), "en")
    print(f"learnt    {len(frames('en')) / (time.process_time() - started):.0f} notes/s")
    count, seed = options.notes, options.seed
    makers: dict[str, Callable[[], Iterable[tuple[Note, SpanSet]]]] = {
        "grammar": lambda: make_corpus(lang="en", notes=count, seed=seed),
        "site-like": lambda: make_site_corpus(profile, notes=count, seed=seed),
        "frames": lambda: make_frame_corpus(lang="en", notes=count, seed=seed),
    }
    for name, make in makers.items():
        started = time.process_time()
        made = list(make())
        took = time.process_time() - started
        words = sum(len(note.text.split()) for note, _ in made) / count
        spans = sum(len(found) for _, found in made) / count
        print(
            f"{name:9} {count / took:.0f} notes/s, {words:.0f} words and {spans:.1f} spans a note"
        )


if __name__ == "__main__":
    main()
