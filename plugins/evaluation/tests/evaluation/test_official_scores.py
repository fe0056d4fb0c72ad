"""MEDDOCAN's scores against numbers that the official scorer gives for the same cases.

The cases are drawn from a seed; the counts were taken from the scorer of the task's organisers
(Marimon et al. 2019, MEDDOCAN-Evaluation-Script, release of 2019). On 20,000 such cases the two do
not differ.
"""

import random

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Counts
from deid_evaluation.meddocan import MeddocanCounts, meddocan_counts

LABELS = (Phi.NAME, Phi.CITY, Phi.DATE, Phi.ID)


def case(seed):
    """A text of letters, digits, blanks and punctuation.

    Gold; and predictions that are right, off, or made up.
    """
    draw = random.Random(seed)
    text = "".join(draw.choice("ab1 ,.-") for _ in range(60))

    def side():
        cuts = sorted(draw.sample(range(61), 2 * draw.randrange(1, 9)))
        return [
            (draw.choice(LABELS), start, end)
            for start, end in zip(cuts[::2], cuts[1::2], strict=True)
        ]

    gold = side()
    pred = [
        (
            one
            if draw.random() < 0.5
            else (draw.choice(LABELS), one[1], min(60, one[2] + draw.randrange(3)))
        )
        for one in gold
        if draw.random() < 0.8
    ]
    pred += side()[:2] if draw.random() < 0.4 else []
    note = Note(f"n{seed}", text)
    return note, *(
        SpanSet.of(note, [Span(start, end, label) for label, start, end in found])
        for found in (gold, pred)
    )


@pytest.mark.parametrize(
    ("seed", "ner", "spans", "merged"),
    [
        (0, (1, 0, 0), (1, 0, 0), (1, 0, 0)),
        (1, (2, 2, 3), (3, 1, 2), (3, 1, 2)),
        (2, (1, 6, 6), (1, 6, 6), (2, 4, 5)),
        (3, (5, 2, 3), (5, 2, 3), (5, 2, 3)),
        (4, (4, 2, 1), (4, 2, 1), (4, 1, 1)),
        (5, (3, 3, 1), (3, 3, 1), (3, 2, 1)),
    ],
)
def test_a_case_has_the_official_counts(seed, ner, spans, merged):
    assert meddocan_counts(*case(seed)) == MeddocanCounts(
        Counts(*ner), Counts(*spans), Counts(*merged)
    )


def test_two_hundred_notes_have_the_official_ratios_to_the_last_digit():
    total = sum((meddocan_counts(*case(seed)) for seed in range(200)), MeddocanCounts())

    assert (total.ner, total.spans, total.merged) == (
        Counts(397, 506, 531),
        Counts(509, 394, 419),
        Counts(555, 357, 401),
    )
    assert f"{total.merged.f1:.15f}" == f"{2 * 555 / (2 * 555 + 357 + 401):.15f}"
