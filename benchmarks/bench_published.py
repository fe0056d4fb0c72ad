"""Published token classifiers.

Tiny models of each family, through ``deid models add`` and through their library.

python benchmarks/bench_published.py [--notes 200] [--aggregation first] [--family bert ...]

For each family a model is made from a configuration, saved as its library saves it, added,
exported, and run against the library's pipeline on the same notes. Notes that the pipeline would
cut off are left out of the comparison of spans. Times are of one thread, in seconds of the
processor. Needs the plugin ``published[add]``.
"""

# ruff: noqa: PLC0415 - each import is heavy

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / "plugins" / "neural" / "tests" / "published")
)

LABELS = (
    '[labels]\nPER = "NAME"\nLOC = "LOCATION"\nDATE = "DATE"\nPATIENT = "NAME"\nHCW = "NAME"\nMISC'
    ' = "OTHER"\n'
)


def main() -> None:
    import torch
    import transformers
    from families_here import FAMILIES

    given = _options(FAMILIES)
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(
        "| family | scheme | spans | differing | added in | MB | tokens/s | pipeline's"
        " |\n|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "labels.toml").write_text(LABELS)
        for family in given.family or FAMILIES:
            print(_row(family, folder, given.notes, given.aggregation), flush=True)


def _options(families: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--aggregation", default="first")
    parser.add_argument(
        "--family", choices=families, action="append", help="all that transformers has if not given"
    )
    return parser.parse_args()


def _row(family: str, folder: Path, count: int, aggregation: str) -> str:
    """Return the row of one family: its model added, and compared with the pipeline's spans."""
    import transformers
    from families_here import notes, save
    from test_families import our_spans, pipeline_spans

    from deid_published import PublishedDetector
    from deid_published.adding import add
    from deid_published.writing import ImportRequest

    out = folder / f"{family}-added"
    source = save(family, folder / family)
    begun = time.process_time()
    wanted = ImportRequest(
        source=str(source),
        name=family,
        out=out,
        labels=str(folder / "labels.toml"),
        aggregation=aggregation,
        words="pipeline",
    )
    card = add(wanted, notes(8, seed=5))
    added = time.process_time() - begun
    pipe = transformers.pipeline(
        "token-classification", str(source), aggregation_strategy=aggregation, device="cpu"
    )
    sizes = [(note, len(pipe.tokenizer(note.text)["input_ids"])) for note in notes(count)]
    some = [note for note, size in sizes if size <= card["window"]]
    tokens = sum(size for _, size in sizes if size <= card["window"])
    detector = PublishedDetector(model=out, threads=1)
    begun = time.process_time()
    ours = our_spans(detector, some)
    between = time.process_time()
    theirs = [pipeline_spans(pipe, note.text) for note in some]
    ended = time.process_time()
    differing = sum(len(a ^ b) for a, b in zip(ours, theirs, strict=True))
    megabytes = sum(file.stat().st_size for file in out.iterdir()) / 1e6
    return (
        f"| {family} | {card['scheme']} | {sum(map(len, theirs)):,} in {len(some)} notes |"
        f" {differing} | {added:.1f} s | {megabytes:.2f} | {tokens / (between - begun):,.0f} |"
        f" {tokens / (ended - between):,.0f} |"
    )


if __name__ == "__main__":
    main()
