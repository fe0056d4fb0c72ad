"""Recipes: those that come along load and are understood by their plugins, and wrong ones are told."""

import pytest

from deid_assets import plugins
from deid_assets.core.errors import ConfigError
from deid_assets.training import BUILTIN, load_recipe

SYSTEMS = (
    *(f"a1_{k}" for k in (1, 2, 4, 8, 16, 32)),
    "a2_1",
    "a2_11",
    *(f"a3_{one}" for one in "abcde"),
    "b1",
    "b2",
    "b3",
    "b4",
    "b5",
    "b6",
    "b7",
    "b8",
    "c1",
    "c2",
    "c2_mix",
    "c2_sequential",
    "c4",
    "c4_mix",
    "c4_sequential",
    "c5",
    "c6",
)
"""What Catelli (2021) trained; C3 is B5."""


def test_every_published_system_has_a_recipe_and_one_that_needs_no_download():
    assert {*SYSTEMS, *(f"{name}_here" for name in SYSTEMS), "crf"} <= set(BUILTIN)


@pytest.mark.parametrize("name", BUILTIN)
def test_a_recipe_that_comes_along_is_understood_by_its_plugin(name):
    recipe = load_recipe(name)
    if recipe.plugin not in plugins.available(plugins.TRAINERS):
        pytest.skip(f"plugin {recipe.plugin} is not installed")
    completed = plugins.load_trainer(recipe.plugin).settings(recipe.settings)
    assert recipe.name == name
    assert recipe.description
    assert set(recipe.settings) <= set(completed)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('name = "Mine"\nplugin = "crf"', "name: String should match"),
        ('name = "mine"', "plugin: Field required"),
        ('name = "mine"\nplugin = "crf"\ncolour = 1', "colour: Extra inputs"),
        ('name = "mine"\nplugin = "crf"\ngrouping = 0', "grouping"),
        (
            'name = "mine"\nplugin = "crf"\nstrategy = "mix"\ncorpora = ["a"]',
            "takes two corpora or more",
        ),
        (
            'name = "mine"\nplugin = "crf"\ncorpora = ["a", "b"]',
            "strategy single takes one corpus, not 2",
        ),
        ("name = ", "not TOML"),
    ],
)
def test_a_wrong_recipe_is_told_by_file_and_key(lines, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(lines)
    with pytest.raises(ConfigError, match=message) as told:
        load_recipe(path)
    assert str(path) in str(told.value)


def test_an_unknown_recipe_is_told():
    with pytest.raises(ConfigError, match="there is no recipe 'xnone'"):
        load_recipe("xnone")


def test_the_description_does_not_make_another_model():
    recipe = load_recipe("crf")
    assert load_recipe("crf", changes={"description": "x"}).digest == recipe.digest
    assert load_recipe("crf", changes={"seed": 9}).digest != recipe.digest
