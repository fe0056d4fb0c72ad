"""Names of the source: a class has one home, and abolished words name nothing."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASIDE = {"tests", "tools", "examples", "benchmarks", "template", "docs"}
SHARED = {
    "Table": "both are public: what a command prints, and a table of an audit's result",
}
"""Class names that may have two homes, each with the reason."""
ABOLISHED = re.compile(
    r"swept|mend(?:s|ed|ing)?|hears|left-?overs?|survivors?"
    r"|(?:is|are) none that (?:is|are) known|what (?:it|they) rests? on|how sure",
    re.IGNORECASE,
)
KEPT_IDENTIFIERS = {
    "survivors": "the check of that name is stored",
    "least_leftovers": "an option of the audit hips",
    "leftovers": "measured by hips, stored in its results",
    "is_leftover": "measured by hips",
    "leftover": "a folder of a killed run, not an identifier in text",
    "mend": "repairs misread text",
    "mended": "repairs misread text, or offsets of a corpus: the command's word",
    "swept": "a grid that was searched, a folder that was emptied",
}
"""Identifiers with an abolished word, each with the reason why it stays."""
KEPT_DOCSTRINGS = 2
"""Abolished words in docstrings; may only become fewer."""


def source() -> dict[str, ast.Module]:
    """Return the modules of the package, the resources and the plugins by path."""
    listed = subprocess.run(
        ["git", "ls-files", "deid_assets/*.py", "resources/*.py", "plugins/*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    paths = [path for path in listed if not ASIDE & set(Path(path).parts)]
    return {
        path: ast.parse((ROOT / path).read_text(encoding="utf-8"))
        for path in paths
        if (ROOT / path).exists()
    }


def homes(modules: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the files that define a public class of each name."""
    found = defaultdict(list)
    for path, module in modules.items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    return found


def identifiers(module: ast.Module) -> Iterator[str]:
    """Yield the names that a module gives: classes, functions, parameters and variables."""
    for node in ast.walk(module):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def abolished(name: str) -> bool:
    """Whether one of an identifier's words is abolished."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).split("_")
    return any(ABOLISHED.fullmatch(word) for word in words)


def docstrings(module: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""


def sentences(docstring: str) -> str:
    """Return a docstring without the names in it."""
    return re.sub(r"``[^`]*``", " ", docstring)


@pytest.mark.long
def test_a_class_name_has_one_home():
    twice = {
        name: paths
        for name, paths in homes(source()).items()
        if len(paths) > 1 and name not in SHARED
    }

    assert twice == {}


@pytest.mark.long
def test_every_exception_is_needed():
    found = homes(source())
    assert {name for name in SHARED if len(found[name]) < 2} == set()


def test_two_homes_are_seen():
    one, two = ast.parse("class Row: ..."), ast.parse("class Row: ...\nclass _Own: ...")
    assert homes({"a.py": one, "b.py": two}) == {"Row": ["a.py", "b.py"]}


@pytest.mark.long
def test_no_identifier_has_an_abolished_word():
    found = {
        f"{path}: {name}"
        for path, module in source().items()
        for name in identifiers(module)
        if abolished(name) and name not in KEPT_IDENTIFIERS
    }

    assert found == set()


@pytest.mark.long
def test_no_more_docstrings_have_abolished_words():
    found = [
        f"{path}: {word.group()}"
        for path, module in source().items()
        for docstring in docstrings(module)
        for word in re.finditer(
            rf"\b(?:{ABOLISHED.pattern})\b", sentences(docstring), re.IGNORECASE
        )
    ]

    assert len(found) <= KEPT_DOCSTRINGS, found


def test_abolished_words_are_seen():
    assert abolished("mended_notes")
    assert abolished("SweptNotes")
    assert not abolished("recommended")
    assert not abolished("amendments")
