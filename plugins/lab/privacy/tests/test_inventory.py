"""The page that says what there is of the published programme names tests and commands that exist,
and leaves nothing out.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer

from deid_assets.cli import app
from deid_privacy.trends import CLAIMS

ROOT = Path(__file__).parents[4]
PAGE = (
    (ROOT / "docs" / "privacy-inventory.md")
    .read_text(encoding="utf-8")
    .replace("`PT/", "`plugins/lab/privacy/tests/")
    .replace("`AT/", "`plugins/audits/tests/models/")
)
SECTIONS = dict(part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
FILES = sorted(set(re.findall(r"`((?:tests|plugins)/[\w/]+\.py)", PAGE)))


def rows(section):
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize("path", FILES)
def test_the_named_tests_exist(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(re.findall(rf"`{re.escape(path)}::(\w+)`", PAGE)) <= there


def test_the_named_commands_and_options_exist():
    deid = typer.main.get_command(app)
    for line, option in re.findall(r"`deid ([\w -]+?)(?: (--[\w-]+))?`", PAGE):
        command, context = deid, typer.Context(deid)
        for word in line.split():
            if not hasattr(command, "get_command"):
                break  # what follows is an argument
            command = command.get_command(context, word)
            assert command is not None, line
            context = typer.Context(command, info_name=word, parent=context)
        assert option in command.get_help(context), line


def test_nothing_is_left_out():
    assert [int(row[0]) for row in rows("Capabilities")] == [*range(22, 39), *range(47, 59)]
    methods = {row[0] for row in rows("Methods")}
    assert methods == {*(f"1.{number}" for number in range(5, 19)), "3.1", "3.2", "3.3"}
    assert {name for row in rows("Trends") for name in row[0].split(", ")} == set(CLAIMS)
    for section in SECTIONS:
        assert [
            row
            for row in rows(section)
            if not re.search(r"\.py::|not built|shipped|below|best\b", " ".join(row))
        ] == []
