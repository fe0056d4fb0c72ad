"""What the wheel holds beside its packages, from elsewhere in the checkout."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ComposedNotes(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the composed corpus, which ``deid corpus fetch`` hands out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name its files, unless the checkout itself is installed."""
        marked = Path(self.root).parents[1] / "corpora" / "composed" / "marked"
        if version == "editable":
            return
        for path in sorted(marked.rglob("*.txt")):
            target = Path("deid_corpora", "composed_notes", path.relative_to(marked))
            build_data["force_include"][str(path)] = target.as_posix()
