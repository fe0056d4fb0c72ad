"""Which files of a folder or archive are read.

Every other one is a fault, or ignored by a rule that can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

IGNORED = (
    "._*",
    ".DS_Store",
    "*.part",
    "__MACOSX",
    "Thumbs.db",
    "desktop.ini",
    "batch.toml",
    "annotation.conf",
    "visual.conf",
    "tools.conf",
    "kb_shortcuts.conf",
)
"""Names that are no notes.

Unfinished copies, what systems add to folders and archives, settings of brat.
"""

OnIgnored = Callable[[str, str], None]
"""Called with the name of an ignored file and the rule."""


def pass_over_silently(name: str, rule: str) -> None:
    """Take the name of an ignored file and do nothing with it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Sorts the files of a folder or archive.

    Args:
        suffixes: Of files that are read, in lower case.
        ignore: Rules: patterns as of a shell for a file's name or that of a folder around it, in
            any case.
        on_ignored: Called for each file that is ignored.
    """

    suffixes: tuple[str, ...]
    ignore: tuple[str, ...] = IGNORED
    on_ignored: OnIgnored = pass_over_silently

    def takes(self, name: str) -> bool:
        """Whether a file has one of the suffixes, in any case."""
        return PurePosixPath(name).suffix.lower() in self.suffixes

    def rule(self, name: str) -> str:
        """Return the rule by which a file is ignored, or nothing.

        Args:
            name: Path relative to what is read.
        """
        steps = [step.lower() for step in PurePosixPath(name).parts if step not in ("..", ".", "/")]
        return next(
            (
                rule
                for rule in self.ignore
                if any(fnmatchcase(step, rule.lower()) for step in steps)
            ),
            "",
        )

    @property
    def reason(self) -> str:
        """Reason why a file without such a suffix is not read."""
        kinds = " or ".join(self.suffixes)
        return (
            f"is no {kinds} file, so it is not read; convert it, take it out, or pass it over with"
            " --read ignore=NAME"
        )
