"""The page on extension points, the file of protocols and what is looked for are the same."""

import re
import tomllib
from pathlib import Path

from deid_assets import plugins
from deid_assets.extending import protocols

ROOT = Path(__file__).parents[1]
POINTS = {point.group: point for point in protocols.EXTENSION_POINTS}
GROUP = re.compile(r"\"(deid_assets\.(?!extending|runtime|defs)[a-z.]+)\"")


def test_the_page_lists_every_point_with_what_it_names_and_brings():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:4]]
        for line in page.splitlines()
        if line.startswith("| `deid_assets.")
    ]
    assert rows == [
        [f"`{one.group}`", f"`{one.names}`" if one.names[0].isupper() else one.names, one.brings]
        for one in POINTS.values()
    ]


def test_every_group_that_a_plugin_declares_is_a_point_and_the_reverse():
    declared = {
        group
        for path in ROOT.glob("plugins/**/pyproject.toml")
        for group in tomllib.loads(path.read_text())["project"]["entry-points"]
    }
    # Languages, locale packs and further kinds of feeds are brought by plugins of others alone.
    of_others = {"deid_assets.feeds", "deid_assets.languages", "deid_assets.replacers"}
    assert declared == POINTS.keys() - of_others


def test_every_group_that_is_looked_for_is_a_point():
    named = {
        value
        for name, value in vars(plugins).items()
        if name.isupper() and GROUP.match(f'"{value}"')
    }
    assert len(named) > 8
    assert named <= POINTS.keys()


def test_every_protocol_is_named_by_a_point():
    described = {
        name
        for name, value in vars(protocols).items()
        if getattr(value, "__module__", "") == protocols.__name__
        and getattr(value, "_is_protocol", False)
    }
    assert described == {point.names for point in POINTS.values()} & described
    assert len(described) > 7


def test_what_comes_along_is_what_its_point_says():
    for group, protocol in (
        (plugins.GROUP, "MakesDetector"),
        (plugins.TRAINERS, "MakesTrainer"),
        (plugins.CORPORA, "MakesCorpus"),
    ):
        assert POINTS[group].names == protocol
        for plugin in plugins.available(group).values():
            if not plugin.fault and not plugin.needs_model:
                assert callable(plugins.load_declaration(plugin, "plugin"))
