"""Table and plot of hiding in plain sight."""

from deid_hips.drawing import HEADER, hips_md, hips_png

FINDINGS = [
    {
        "policy": policy,
        "recall": recall,
        "gold": 100,
        "candidates": 100,
        "leftovers": 10,
        "base_rate": 0.1,
        "auc": [0.6, 0.5, 0.7],
        "precision": precision,
        "found_at": {"10": 3, "50": 9},
    }
    for policy, precision in (("tag", [1.0, 1.0, 1.0]), ("surrogate", [0.3, 0.1, 0.5]))
    for recall in (0.8, 0.9, "detected")
]


def test_the_table_has_a_row_per_policy_and_recall():
    lines = hips_md(FINDINGS).splitlines()

    assert len(lines) == 2 + len(FINDINGS)
    assert lines[0].count("|") == len(HEADER) + 1
    assert lines[5].startswith(
        "| surrogate | 0.80 | 10 | 100 | 0.100 | 0.300 [0.100, 0.500] | 0.600 [0.500, 0.700] | 9 |"
    )


def test_what_could_not_be_measured_is_said():
    nothing = {**FINDINGS[0], "auc": None, "precision": None, "base_rate": None, "found_at": {}}

    assert hips_md([nothing]).splitlines()[2].count("n/a") == 4
    assert hips_png([nothing], title="none").startswith(b"\x89PNG")


def test_the_plot_repeats_to_the_byte():
    assert hips_png(FINDINGS, title="x") == hips_png(FINDINGS, title="x")
