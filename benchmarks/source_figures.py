"""How the source reads, at some commits, as Markdown: lines, width, long functions, class names.

python benchmarks/source_figures.py 4753ca6d HEAD

The source is the package, the resources and the plugins, without tests, tools and the template.
Lines of code are those that are neither blank, comment nor docstring. Of a function its docstring
does not count, nor does ``self`` among its parameters. A class name has two homes where two files
define a public class of that name.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDEST = 100
LONGEST = 50
"""Lines of a function."""
MOST = 8
"""Parameters of a function."""
_APART = frozenset({"tests", "tools", "template", "benchmarks", "docs", "examples"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True)
class Figures:
    """Sums over the files of a commit."""

    files: int = 0
    lines: int = 0
    code: int = 0
    letters: int = 0
    wide: int = 0
    unformatted: int = 0
    long: int = 0
    crowded: int = 0
    classes: Counter[str] = field(default_factory=Counter)

    def add(self, source: str) -> None:
        """Count a file."""
        tree = ast.parse(source)
        lines = source.splitlines()
        docstrings = _docstring_lines(tree)
        self.files += 1
        self.lines += len(lines)
        for number, line in enumerate(lines, start=1):
            self.wide += len(line) > WIDEST
            self.unformatted += "# fmt: " in line
            if number not in docstrings and line.strip() and not line.lstrip().startswith("#"):
                self.code += 1
                self.letters += len(line)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.long += _length(node) > LONGEST
                self.crowded += _parameters(node) > MOST
        self.classes.update(
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )


ROWS = {
    "files": lambda found: f"{found.files:,}",
    "lines": lambda found: f"{found.lines:,}",
    "lines of code": lambda found: f"{found.code:,}",
    "characters in a line of code, mean": lambda found: f"{found.letters / found.code:.1f}",
    f"lines over {WIDEST} characters": lambda found: f"{100 * found.wide / found.lines:.2f} %",
    "lines kept from the formatter": lambda found: f"{found.unformatted:,}",
    f"functions over {LONGEST} lines": lambda found: f"{found.long:,}",
    f"functions with more than {MOST} parameters": lambda found: f"{found.crowded:,}",
    "class names with two homes": lambda found: (
        f"{sum(count > 1 for count in found.classes.values()):,}"
    ),
}


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines of all strings that stand as statements of a module, class or function."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, _DOCUMENTED):
            continue
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                found.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    return found


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    whole = (node.end_lineno or 0) - node.lineno + 1
    if ast.get_docstring(node) is None:
        return whole
    docstring = node.body[0]
    return whole - ((docstring.end_lineno or 0) - docstring.lineno + 1)


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    positional = [*node.args.posonlyargs, *node.args.args]
    own = bool(positional) and positional[0].arg in ("self", "cls")
    return len(positional) + len(node.args.kwonlyargs) - own


def figures_of(commit: str) -> Figures:
    """Return the figures of the source at a commit."""
    found = Figures()
    for path in _git("ls-tree", "-r", "--name-only", commit).split("\n"):
        if path.endswith(".py") and not _APART & set(path.split("/")):
            found.add(_git("show", f"{commit}:{path}"))
    return found


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    commits = parser.parse_args().commits
    found = [figures_of(commit) for commit in commits]
    print("| | " + " | ".join(commits) + " |")
    print("|---|" + "--:|" * len(commits))
    for name, shown in ROWS.items():
        print(f"| {name} | " + " | ".join(shown(one) for one in found) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
