"""Layouts of notes are figures without words, and a new one is told from those that were there."""

from random import Random

from deid_assets.operation.layouts import (
    FEATURES,
    MOST_OF_BATCH,
    cluster_layouts,
    layout_of,
    new_layout_shares,
)

PROSE = "The patient was seen on the ward today and was well. She went home with her daughter.\n"
TABLE = "LABORATORY\n\nHb     7.2   mmol/l\nNa     140   mmol/l\nK      4.2   mmol/l\n"
LABELS = "Name: Zed\nWard: 4\nAge: 70\nPlan: rest\n"


def test_a_layout_is_known_again_whatever_its_words_are_and_a_new_one_is_new():
    first = cluster_layouts([PROSE, PROSE * 2, LABELS])
    again = cluster_layouts(
        ["Il est rentré chez lui avec sa fille, et il va bien depuis hier.\n"] * 3
    )
    other = cluster_layouts([TABLE, PROSE, TABLE, TABLE])

    assert sum(row[0] for row in first) == 3
    assert all(len(row) == 1 + len(FEATURES) for row in first)
    assert new_layout_shares([[], first, again, other, other]) == [0, 1, 0, 0.75, 0]


def test_layouts_of_any_text_are_figures_from_0_to_1_and_clusters_are_bounded():
    drawn = Random(7)
    texts = ["".join(drawn.choices("aB1 :|\t\n.-é", k=drawn.randrange(400))) for _ in range(500)]

    points = [layout_of(text) for text in [*texts, "", "\n", "x" * 300_000]]
    clusters = cluster_layouts(texts)

    assert {len(point) for point in points} == {len(FEATURES)}
    assert all(0 <= figure <= 1 for point in points for figure in point)
    assert len(clusters) <= MOST_OF_BATCH
    assert sum(row[0] for row in clusters) == 500
