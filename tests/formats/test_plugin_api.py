"""The plugins of this project keep to the surface that format plugins are given."""

import ast
from pathlib import Path

import pytest

from deid_assets.formats import plugin_api

ROOT = Path(__file__).parents[2]
ALLOWED = {"deid_assets.formats.plugin_api", "deid_assets.core.errors", "deid_assets"}
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*_formats/pyproject.toml"))


def imported(plugin):
    """Modules of deid-assets that a plugin's package imports, each with the names."""
    for path in ROOT.glob(f"plugins/{plugin}/deid_*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "deid_assets":
                yield node.module, {alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                yield from ((alias.name, set()) for alias in node.names if alias.name.startswith("deid_assets"))


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_format_plugin_imports_the_surface_and_nothing_else_of_the_package(plugin):
    assert {module for module, _ in imported(plugin)} <= ALLOWED


def test_the_surface_is_what_plugins_and_the_page_use():
    page = (ROOT / "docs" / "formats" / "plugins.md").read_text(encoding="utf-8")
    used = set().union(*(names for plugin in PLUGINS for _, names in imported(plugin)))

    assert set(plugin_api.__all__) == {name for name in vars(plugin_api) if not name.startswith("_")}
    assert {name for name in plugin_api.__all__ if name not in used and f"`{name}" not in page} == set()
