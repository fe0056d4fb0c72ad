"""Every installed detector side by side on public development sets, as Markdown, and as a page per
set.

DEID_CORPORA=<folder with annotated/> python benchmarks/bakeoff.py [--corpus meddocan ...]
[--detector NAME[=MODEL] ...]
    [--out FOLDER]

None of the files is a test set. Each detector runs in a process of its own, one after the other,
with its defaults; only ``rules`` is given the profile under which a set was annotated, as in
``score_corpora.py``. A detector that needs a model takes part where ``--detector NAME=MODEL`` names
one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conditions import conditions
from score_corpora import CORPORA, PROFILE

from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import profile
from deid_assets.core.span import SpanSet
from deid_assets.formats import Fault, read_notes
from deid_assets.plugins import available
from deid_assets.reports.marginal import best_subset_text
from deid_assets.reports.tables import write_titled_md
from deid_evaluation import bakeoff
from deid_evaluation.bench import contestants
from deid_evaluation.bench_entries import Bakeoff
from deid_evaluation.bench_scores import ReferenceSpans
from deid_evaluation.pages.bench import bench_html
from deid_evaluation.pages.bench_tables import label_table, side_by_side, tabulate_added

SETS = ("asq-phi", "grascco", "eds-pseudo", "meddocan")
LIMIT_S = 900.0
NOT_PEERS = frozenset({"known_identity", "template"})
"""The first needs a table of patients, which no public set has.

The second is there to be copied.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus",
        choices=sorted(CORPORA),
        action="append",
        help=f"{', '.join(SETS)} when not given",
    )
    parser.add_argument(
        "--detector",
        action="append",
        metavar="NAME[=MODEL]",
        help="all that need no model if not given",
    )
    parser.add_argument("--out", type=Path, help="folder for bench.html and bench.json of each set")
    options = parser.parse_args()
    root = Path(os.environ.get("DEID_CORPORA", "")) / "annotated"
    if not root.is_dir():
        sys.exit(f"{root} is not there; set DEID_CORPORA")
    specs = options.detector or list_installed()
    print(f"{conditions()}; profile {PROFILE}; detectors {', '.join(specs)}")
    for name in options.corpus or SETS:
        print(f"\n### {name}\n\n{CORPORA[name].remark}.\n", flush=True)
        show(run(name, root, specs, options.out))


def list_installed() -> list[str]:
    """Return the usable detectors, ours first."""
    usable = [
        p.name
        for p in available().values()
        if not (p.fault or p.needs_model or p.name in NOT_PEERS)
    ]
    return sorted(usable, key=lambda name: (name != "rules", name))


def run(name: str, root: Path, specs: Sequence[str], out: Path | None) -> Bakeoff:
    """Run every detector on one set."""
    corpus = CORPORA[name]
    labels = label_map(corpus.labels)
    found = list(_notes(root / corpus.path, name))
    notes = [note for note, _ in found]
    lengths = {note.note_id: len(note.text) for note in notes}
    given: Mapping[str, Mapping[str, str]] = (
        {"rules": {"profile": corpus.annotated_under}} if "rules" in specs else {}
    )
    runs = bakeoff.run_all(
        contestants(specs, given),
        notes,
        limit_s=LIMIT_S,
        before=lambda detector: print(f"{name}: {detector}", file=sys.stderr),
    )
    result = bakeoff.judge(
        runs,
        profile=profile(PROFILE),
        lengths=lengths,
        gold=ReferenceSpans(
            {spans.note_id: spans for _, spans in found}, lengths, labels.categories
        ),
        gold_in_words=f"{len(notes):,} annotated notes of {name}",
    )
    if out is not None:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bench.json").write_text(
            json.dumps(bakeoff.to_json(result, runs), indent=1) + "\n", encoding="utf-8"
        )
        page = bench_html(
            result, title=f"Detectors on {name}", provenance={"conditions": conditions()}
        )
        (folder / "bench.html").write_text(page, encoding="utf-8")
    return result


def _notes(path: Path, name: str) -> Iterable[tuple[Note, SpanSet]]:
    for found in read_notes(path, labels=label_map(CORPORA[name].labels)):
        if isinstance(found, Fault):
            sys.exit(found.message)
        yield found.note, found.spans or SpanSet.of(found.note, [])


def show(found: Bakeoff) -> None:
    """Print the tables of one set."""
    for table in (side_by_side(found), label_table(found), tabulate_added(found)):
        print(f"{write_titled_md(table)}\n")
    print(best_subset_text(found.coverage), flush=True)


if __name__ == "__main__":
    main()
