"""Trained taggers for what analyses them.

Their folders, cards, answers, scores and the paired comparison of several.

An entry point of ``deid_assets.analyses`` is a function of a model folder, the annotated notes that
it is judged on, and its answers for them; it returns a ``TaggerAnalysis``, which the asset
``tagger_<recipe>`` shows.
"""

from deid_assets.cli.training.commands import changes_of, epochs
from deid_assets.cli.training.runs import Requested
from deid_assets.core.detector import detect
from deid_assets.core.tagging import Labelled
from deid_assets.core.trainer import (
    EvidenceSource,
    Layers,
    Trainer,
    VectorSource,
    VocabularySource,
    tag_label,
)
from deid_assets.evaluation.comparison import Comparison, Interval, Ratio
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.evaluation.resampling import compare
from deid_assets.evaluation.six_scores import Granularity, Level, SixScores, six_scores
from deid_assets.plugins import load_trainer
from deid_assets.training import CARD, Card, Materials, Recipe, load_recipe, read_card, train_model
from deid_assets.training.analyses import TaggerAnalysis
from deid_assets.training.export import file_of, open_folder
from deid_assets.training.run import Progress, open_model
from deid_assets.training.scoring import TagScores, score_outcomes, strict_rows

__all__ = [
    "CARD",
    "Card",
    "Comparison",
    "Counts",
    "EvidenceSource",
    "Granularity",
    "Interval",
    "Labelled",
    "Layers",
    "Level",
    "Materials",
    "Progress",
    "Ratio",
    "Recipe",
    "Requested",
    "Scheme",
    "SixScores",
    "TagScores",
    "TaggerAnalysis",
    "Trainer",
    "VectorSource",
    "VocabularySource",
    "changes_of",
    "compare",
    "detect",
    "epochs",
    "file_of",
    "load_recipe",
    "load_trainer",
    "open_folder",
    "open_model",
    "read_card",
    "score_outcomes",
    "six_scores",
    "strict_rows",
    "tag_label",
    "train_model",
]
