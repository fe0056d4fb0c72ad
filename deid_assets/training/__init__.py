"""Taggers trained on annotated notes: recipes, corpora, runs, cards and ONNX exports.

The networks are plugins, named by a recipe; see ``deid_assets.core.trainer``. Nothing heavy is
imported here.
"""

from deid_assets.training.card import CARD, Card, read_card
from deid_assets.training.corpora import Corpus, read_corpus
from deid_assets.training.recipe import BUILTIN, Recipe, load_recipe, recipe_names
from deid_assets.training.run import Materials, train_model

__all__ = [
    "BUILTIN",
    "CARD",
    "Card",
    "Corpus",
    "Materials",
    "Recipe",
    "load_recipe",
    "read_card",
    "read_corpus",
    "recipe_names",
    "train_model",
]
