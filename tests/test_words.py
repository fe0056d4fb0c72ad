"""What people read uses the words of the glossary.

Pages, docs, help, messages and descriptions in the graph.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from deid_assets.cli.app import app
from deid_assets.config import Settings
from deid_assets.config.settings import ReleaseSettings
from deid_assets.defs.build import definitions_of_settings

ROOT = Path(__file__).parents[1]
ABOLISHED = {
    r"swept": "checked again",
    r"gold(en)?": "annotated notes, annotated spans, annotations",
    r"mend(s|ed|ing)?": "fix",
    r"score ?cards?": "scores",
    r"floors?": "minimum",
    r"(in|the) shadow(?! models?)|shadow detectors?|shadows (it|them)": "scored, not used",
    r"hears?|heard": "uses",
    r"left-?overs?|residues?|survivors?": "missed identifiers",
    r"(is|are) none that|nobody knows": "unknown",
    r"what (\w+ )?\w+ rests? on": "inputs",
    r"how sure": "confidence",
}
WORDS = [
    (re.compile(rf"\b({pattern})\b", re.IGNORECASE), instead)
    for pattern, instead in ABOLISHED.items()
]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "plugins").rglob("*.md")),
]
TEMPLATES = sorted(path for path in ROOT.rglob("*.j2") if ".venv" not in path.as_posix())
LISTS = {"own_plugins.py", "words.py"}
"""Names of plugins, and vocabulary."""
CODE = [
    path
    for folder in ("deid_assets", "resources", "plugins", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if {"tests", "build"}.isdisjoint(path.parts) and path.name not in LISTS
]
NAMES = re.compile(
    r"```.*?```"  # blocks of code
    r"|``[^`]*``|`[^`]*`"  # names of settings, assets and options in a sentence
    r"|\]\([^)]*\)"  # targets of links
    r"|--[a-z-]+|\"[a-z_]+\"|'[a-z_]+'|\b[\w.]+ = \S+",
    re.DOTALL,
)
MARKUP = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<code>.*?</code>|<[^>]*>", re.DOTALL)


def found_in(text: str) -> list[str]:
    """Return the abolished words of a text, each with what to write."""
    plain = NAMES.sub(" ", text)
    return [
        f"{found.group()!r}: {instead}" for word, instead in WORDS for found in word.finditer(plain)
    ]


def phrases(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string of more than one word that is no docstring."""
    pieces = {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in node.values
    }
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in statements | pieces:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if re.search(r"[A-Za-z]\s+\S", text):
            yield node.lineno, text


def test_it_finds_what_it_looks_for():
    assert found_in("Scores against gold; the score card of a detector in shadow.") != []
    assert found_in("Asset `gold_annotations`, option --gold, and `gold` in ](gold.md)") == []
    assert found_in("marigold, golden_notes and floored") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docs(page):
    assert found_in(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates(template):
    assert found_in(MARKUP.sub(" ", template.read_text(encoding="utf-8"))) == []


@pytest.mark.long
def test_messages_and_descriptions():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in CODE
        for line, text in phrases(ast.parse(path.read_text(encoding="utf-8")))
        for word in found_in(text)
    ]

    assert found == []


def helps(command: Any, path: str = "deid") -> Iterator[tuple[str, str]]:
    """Yield each command and what its help says, options included."""
    for text in (command.help, *(getattr(option, "help", None) for option in command.params)):
        yield path, text or ""
    if hasattr(command, "list_commands"):  # Typer has a Click of its own, so no type tells
        context = command.context_class(command)
        for name in command.list_commands(context):
            yield from helps(command.get_command(context, name), f"{path} {name}")


def lists(command: Any, name: str = "deid", parent: Any = None) -> Iterator[tuple[str, str]]:
    """Yield each group of commands and the page that its --help prints, 80 columns wide."""
    if not hasattr(command, "list_commands"):
        return
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=80)
    yield context.command_path, command.get_help(context)
    for one in command.list_commands(context):
        yield from lists(command.get_command(context, one), one, context)


@pytest.fixture(scope="module")
def tool():
    return typer.main.get_command(app)


def test_help(tool):
    told = list(helps(tool))
    found = {(path, word) for path, text in told for word in found_in(text)}
    marked = {path for path, text in told if "``" in text}

    assert len({path for path, _ in told}) > 60
    assert found == set()
    assert marked == set()


def test_each_command_is_listed_with_a_whole_sentence(tool):
    """A summary may take two lines of a docstring; a list breaks it and cuts nothing off."""
    for path, page in lists(tool):
        listed = page.split("--help", 1)[1].replace("<NAME>...</NAME>", "")
        assert "..." not in listed, path


def test_summaries_of_plugins():
    summaries = {
        path: tomllib.loads(path.read_text())["project"]["description"]
        for path in (ROOT / "plugins").rglob("pyproject.toml")
    }
    for path in (ROOT / "plugins").rglob("plugin.toml"):
        said = tomllib.loads(path.read_text())
        summaries[path] = ". ".join([said["summary"], *said.get("summaries", {}).values()])
    found = {path: found_in(summary) for path, summary in summaries.items() if found_in(summary)}

    assert len(summaries) > 20
    assert found == {}


def test_the_graph(tmp_path):
    """Descriptions of assets, checks, columns and jobs, as the UI shows them."""
    definitions = definitions_of_settings(
        Settings(home=tmp_path, release=ReleaseSettings(approval=True))
    )
    graph = definitions.resolve_asset_graph()
    told = {
        key.to_user_string(): " ".join(
            [graph.get(key).description or "", *graph.get(key).kinds, str(graph.get(key).metadata)]
        )
        for key in graph.get_all_asset_keys()
    }
    told |= {
        str(key): graph.get_check_spec(key).description or "" for key in graph.asset_check_keys
    }
    told |= {job.name: job.description or "" for job in definitions.resolve_all_job_defs()}
    assert len(told) > 50

    assert {name: found_in(text) for name, text in told.items() if found_in(text)} == {}
