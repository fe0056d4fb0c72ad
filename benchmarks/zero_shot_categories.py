"""How well the category of a word is told, by its form alone and by what development notes taught,
as Markdown.

python benchmarks/zero_shot_categories.py [--set meddocan ...]

The words are those of the annotated spans, as if a model had found them all: no model is needed.
The first half of a set's notes teaches, the second is tested; 95 % intervals over resampled notes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from conditions import conditions
from zero_shot import SETS, documents_of

from deid_assets.core.trainer import Document
from deid_assets.extending import Token
from deid_zero_shot.categories import FeatureCounts, learn
from deid_zero_shot.shapes import label_of
from deid_zero_shot.words import plain, words_of

SEED, RESAMPLES = 1, 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", choices=SETS)
    options = parser.parse_args()
    print(conditions(str(SEED)), "\n")
    print("| Set | Notes | Words | Commonest | By form | Learnt |\n|---|--:|--:|--:|--:|--:|")
    for name in options.set or SETS:
        documents = documents_of(name)
        if not documents:
            continue
        half = len(documents) // 2
        counts = count_right(documents[half:], learn_features(documents[:half]))
        shares = " | ".join(_share(counts[:, [at, 3]]) for at in range(3))
        print(
            f"| {name} ({SETS[name][0]}) | {half} + {len(documents) - half} | {counts[:, 3].sum()}"
            f" | {shares} |"
        )


def learn_features(documents: Sequence[Document]) -> FeatureCounts:
    return learn((each.note, places(each), tuple(each.spans)) for each in documents)


def places(document: Document) -> list[Token]:
    return words_of(document.note.text, document.note.lang, plain)


def count_right(documents: Sequence[Document], categories: FeatureCounts) -> np.ndarray:
    """Return of each note how many words are right by guess, form and learning, and how many there
    are.
    """
    commonest = max(sorted(categories.words), key=lambda label: categories.words[label])
    rows = []
    for each in documents:
        note, words = each.note, places(each)
        found = []
        for span in each.spans:
            inside = [(start, end) for start, end in words if start < span.end and end > span.start]
            for start, end in inside:
                learnt = categories.of(note, start, end)
                found.append((span.label, note.text[start:end], learnt))
        right = [
            (label == commonest, label_of(text) is label, learnt is label)
            for label, text, learnt in found
        ]
        rows.append([*np.array(right, int).reshape(-1, 3).sum(0), len(found)])
    return np.array(rows)


def _share(counts: np.ndarray) -> str:
    """Return the share of words that are right, with its interval over resampled notes."""
    rng = np.random.default_rng(SEED)
    drawn = counts[rng.integers(0, len(counts), (RESAMPLES, len(counts)))].sum(1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    right, total = counts.sum(0)
    return f"{right / total:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
