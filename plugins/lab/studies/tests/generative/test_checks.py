"""Every check of the specification on its page has tests, which exist, or says what is
not shown.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]
HERE = Path(__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "generative.md"
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_check_names_exists(row: list[str]) -> None:
    named = re.findall(r"`([\w/.]+\.py)::(\w+)`", row[2])

    assert named or row[3]
    for path, name in named:
        file = ROOT / path if "/" in path else HERE / path
        tree = ast.parse(file.read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_no_check_is_left_out() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 39))
