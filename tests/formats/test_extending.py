"""What format plugins are given is what the plugins of this project and the page on plugins use."""

import ast
from pathlib import Path

from deid_assets.extending import formats

ROOT = Path(__file__).parents[2]


def test_the_surface_holds_no_more_than_plugins_and_the_page_use():
    page = (ROOT / "docs" / "formats" / "plugins.md").read_text(encoding="utf-8")
    used = {
        alias.name
        for path in ROOT.glob("plugins/formats/deid_*/**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == formats.__name__
        for alias in node.names
    }

    assert set(formats.__all__) == {name for name in vars(formats) if not name.startswith("_")}
    assert {
        name for name in formats.__all__ if name not in used and f"`{name}" not in page
    } == set()
