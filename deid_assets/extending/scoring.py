"""Counts, scores, intervals and comparisons of predictions with gold, for pages and tables of a
plugin's own.

An entry point of ``deid_assets.pages`` is a function of a ``PageInput`` that returns a
``MadePage``: ``evaluation_report`` is shown for each detector, ``bakeoff`` for all of them.
"""

from deid_assets.evaluation.alterations import Alteration, AlterationKind, alterations
from deid_assets.evaluation.bleu import BleuCounts, bleu_counts, words
from deid_assets.evaluation.comparison import (
    COLUMNS,
    RATIOS,
    Comparison,
    Interval,
    Measure,
    Ratio,
    Row,
)
from deid_assets.evaluation.counts import Counts, Evaluation, NoteCounts, Scheme, harmonic
from deid_assets.evaluation.folds import correct_p_values
from deid_assets.evaluation.intervals import (
    Range,
    count_matches,
    is_inside,
    is_touched,
    size,
    size_of_common,
    union,
    wilson,
)
from deid_assets.evaluation.marginal import (
    MAX_DETECTORS,
    Coverage,
    Subset,
    best_subset,
    coverage,
    marginals,
)
from deid_assets.evaluation.numbers import (
    UNDEFINED,
    Estimate,
    Share,
    amount,
    axis_floor,
    estimate,
    rank_detectors,
    ratio,
    recall_of,
)
from deid_assets.evaluation.pages import AnnotatedNotes, MadePage, PageInput
from deid_assets.evaluation.people import gravity, names_by_person, whose
from deid_assets.evaluation.resampling import (
    RESAMPLES,
    bounds,
    check_resamples,
    compare,
    totals_of_draws,
)
from deid_assets.evaluation.rewriting import HOLE, expand, make_holes
from deid_assets.evaluation.score import evaluate_by_note, evaluate_corpus, pair
from deid_assets.evaluation.six_scores import (
    I2B2_HIPAA_VIEWS,
    I2B2_VIEWS,
    Granularity,
    Level,
    Views,
    six_scores,
)
from deid_assets.reports.comparison import (
    SEMEVAL,
    describe_draws,
    difference_table,
    interval_of,
    interval_table,
    semeval_table,
)
from deid_assets.reports.marginal import best_subset_text, marginal_table
from deid_assets.reports.tables import (
    Titled,
    comparison_md,
    leaderboard_md,
    scores_md,
    write_titled_md,
)

__all__ = [
    "COLUMNS",
    "HOLE",
    "I2B2_HIPAA_VIEWS",
    "I2B2_VIEWS",
    "MAX_DETECTORS",
    "RATIOS",
    "RESAMPLES",
    "SEMEVAL",
    "UNDEFINED",
    "Alteration",
    "AlterationKind",
    "AnnotatedNotes",
    "BleuCounts",
    "Comparison",
    "Counts",
    "Coverage",
    "Estimate",
    "Evaluation",
    "Granularity",
    "Interval",
    "Level",
    "MadePage",
    "Measure",
    "NoteCounts",
    "PageInput",
    "Range",
    "Ratio",
    "Row",
    "Scheme",
    "Share",
    "Subset",
    "Titled",
    "Views",
    "alterations",
    "amount",
    "axis_floor",
    "best_subset",
    "best_subset_text",
    "bleu_counts",
    "bounds",
    "check_resamples",
    "compare",
    "comparison_md",
    "correct_p_values",
    "count_matches",
    "coverage",
    "describe_draws",
    "difference_table",
    "estimate",
    "evaluate_by_note",
    "evaluate_corpus",
    "expand",
    "gravity",
    "harmonic",
    "interval_of",
    "interval_table",
    "is_inside",
    "is_touched",
    "leaderboard_md",
    "make_holes",
    "marginal_table",
    "marginals",
    "names_by_person",
    "pair",
    "rank_detectors",
    "ratio",
    "recall_of",
    "scores_md",
    "semeval_table",
    "six_scores",
    "size",
    "size_of_common",
    "totals_of_draws",
    "union",
    "whose",
    "wilson",
    "words",
    "write_titled_md",
]
