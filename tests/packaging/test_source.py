"""Rules that no linter holds: no output and no logging where note text passes."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("deid_assets/defs", "resources", "plugins")
    for path in (ROOT / folder).rglob("*.py")
    if not {"tests", "tools", "examples"} & set(path.relative_to(ROOT).parts)
    and path.parent != ROOT / "plugins"  # programs of make, which no note passes
)
WRITERS = {"print", "pprint", "sys.stdout.write", "sys.stderr.write"}
LOG_METHODS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}


def offence(call):
    """What a call does that could show text, or nothing."""
    called = ast.unparse(call.func)
    owner, _, method = called.rpartition(".")
    if (
        called in WRITERS
        or called.startswith("context.log")
        or method in {"to_markdown", "to_string"}
    ):
        return called
    logs = method in LOG_METHODS and "log" in owner.lower()
    quotes = any(isinstance(argument, ast.JoinedStr) for argument in call.args)
    return f"{called} with an f-string" if logs and quotes else ""


def offences(tree):
    """Line and kind of every such call."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [(call.lineno, found) for call in calls if (found := offence(call))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_printed_or_logged(path):
    assert offences(ast.parse(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    [
        "print(note)",
        "context.log.info('x')",
        "logger.warning(f'{note.text}')",
        "logging.error(f'{x}')",
        "frame.to_markdown()",
        "sys.stderr.write(x)",
    ],
)
def test_the_rule_sees_what_it_forbids(line):
    assert offences(ast.parse(line))


@pytest.mark.parametrize(
    "line", ["logger.warning('%d notes', 3)", "math.log(2)", "math.log(float(f'{2}'))"]
)
def test_the_rule_lets_pass_what_is_harmless(line):
    assert offences(ast.parse(line)) == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "deid_assets" / "defs").glob("*.py")), ids=lambda path: path.name
)
def test_modules_with_assets_do_not_defer_annotations(path):
    """Dagster reads annotations of ``context`` and ``Config`` parameters when the asset
    is defined.
    """
    source = path.read_text()
    if "@dg." in source:
        assert "from __future__ import annotations" not in source
