"""Annotated notes and spans files as commands read them, and what compares them."""

from deid_assets.cli.lists import check_list, write_list
from deid_assets.cli.measuring.inputs import Gold, Named, check_names, read_gold, read_systems
from deid_assets.cli.streams import NoteSource, SpansFile, Withheld
from deid_assets.evaluation.agreement import Agreement, agreement
from deid_assets.evaluation.capture_recapture import ASSUMPTIONS, Captures, Marked, captures, clusters, estimate_missed
from deid_assets.evaluation.gold_review import Doubt, doubts, quorum
from deid_assets.evaluation.intervals import Range, union
from deid_assets.evaluation.numbers import UNDEFINED, ratio
from deid_assets.evaluation.report import System
from deid_assets.evaluation.report.gold import doubt_json
from deid_assets.evaluation.score import Evaluation, Scheme, evaluate_corpus, pair
from deid_assets.evaluation.span_errors import Place, places
from deid_assets.formats import FORMATS

__all__ = [
    "ASSUMPTIONS",
    "FORMATS",
    "UNDEFINED",
    "Agreement",
    "Captures",
    "Doubt",
    "Evaluation",
    "Gold",
    "Marked",
    "Named",
    "NoteSource",
    "Place",
    "Range",
    "Scheme",
    "SpansFile",
    "System",
    "Withheld",
    "agreement",
    "captures",
    "check_list",
    "check_names",
    "clusters",
    "doubt_json",
    "doubts",
    "estimate_missed",
    "evaluate_corpus",
    "pair",
    "places",
    "quorum",
    "ratio",
    "read_gold",
    "read_systems",
    "union",
    "write_list",
]
