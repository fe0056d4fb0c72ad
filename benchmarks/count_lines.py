"""Lines and files of Python in each folder of the package, at some commits.

``python benchmarks/count_lines.py 908a4b5 HEAD``
"""

import argparse
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "deid_assets"


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    commits = parser.parse_args().commits
    counted = [counts(commit) for commit in commits]
    folders = sorted(set().union(*(lines for lines, _ in counted)))
    print("| Folder | " + " | ".join(f"{commit}, lines | files" for commit in commits) + " |")
    print("|---|" + "--:|--:|" * len(commits))
    for folder in folders:
        print(
            f"| {folder} | "
            + " | ".join(f"{lines[folder]:,} | {files[folder]}" for lines, files in counted)
            + " |"
        )
    print(
        "| all | "
        + " | ".join(f"{lines.total():,} | {files.total()}" for lines, files in counted)
        + " |"
    )


def counts(commit: str) -> tuple[Counter[str], Counter[str]]:
    """Return lines and files by folder of the package."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in _git("ls-tree", "-r", "--name-only", commit, PACKAGE).split():
        if path.endswith(".py"):
            inside = path.removeprefix(f"{PACKAGE}/")
            folder = inside.partition("/")[0] + "/" if "/" in inside else "(top)"
            lines[folder] += _git("show", f"{commit}:{path}").count("\n")
            files[folder] += 1
    return lines, files


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
