"""Each of the specification's 34 checks is a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]
SECTION = (
    (ROOT / "docs" / "zero-shot.md")
    .read_text(encoding="utf-8")
    .split("## The specification's checks")[1]
)
ROWS = [line.split("|")[1:-1] for line in SECTION.splitlines() if line.startswith("|")][2:]
NAMED = sorted(set(re.findall(r"`((?:tests|plugins)/[\w/]+\.py)(?:::(\w+))?`", SECTION)))


def test_every_check_names_a_test() -> None:
    assert [int(row[0].split()[0]) for row in ROWS] == list(range(1, 35))
    assert [row[0].strip() for row in ROWS if ".py" not in row[1]] == []


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}::{name}" for path, name in NAMED])
def test_the_named_test_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    assert not name or name in {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    }
