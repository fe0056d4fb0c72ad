"""The page of the study names recipes that exist, and every published one of them."""

import re
from pathlib import Path

from deid_assets.training import recipe_names

PAGE = Path(__file__).parents[5] / "docs" / "catelli.md"
RECIPE = re.compile(r"\b[abc]\d_?[a-z\d]*(?:_[a-z]+)*\b")


def test_the_page_has_a_command_for_every_published_recipe():
    commands = " ".join(re.findall(r"`([^`]+)`", PAGE.read_text()))
    named = {
        name
        for part in commands.split()
        if (name := part) in recipe_names() or RECIPE.fullmatch(part)
    }
    named -= {"a1", "a2", "a3"}  # folders that the commands write to
    assert named <= set(recipe_names())
    published = {name for name in recipe_names() if RECIPE.fullmatch(name)}
    published = {name for name in published if not name.endswith(("_here", "_constrained"))}
    assert published <= named
