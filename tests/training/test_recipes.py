"""Recipes: those that come along load and are understood by their plugins, and wrong ones
are told.
"""

from importlib.metadata import EntryPoints

import pytest

from deid_assets import plugins
from deid_assets.core.errors import ConfigError
from deid_assets.plugins import installed as installed_plugins
from deid_assets.training import BUILTIN, load_recipe, recipe_names


def test_recipes_of_the_package_come_first_and_those_of_plugins_can_be_named_too():
    names = recipe_names()
    assert names[: len(BUILTIN)] == list(BUILTIN) == ["batch_crf", "bilstm", "crf", "own"]
    assert len(names) == len(set(names))


def test_a_recipe_of_a_study_that_is_not_installed_names_what_brings_it(monkeypatch):
    monkeypatch.setattr(installed_plugins, "entry_points", EntryPoints)
    with pytest.raises(ConfigError, match=r"recipe 'a2_11_here': .* `make add PLUGIN=catelli`"):
        load_recipe("a2_11_here")
    assert recipe_names() == list(BUILTIN)


@pytest.mark.parametrize("name", recipe_names())
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
