"""What the wheel holds beside its packages, from elsewhere in the checkout."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TemplateOfPlugins(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the template that ``deid plugin new`` copies."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name its files, unless the checkout itself is installed."""
        template = Path(self.root) / "plugins" / "template"
        if version == "editable":
            return
        for path in sorted(template.rglob("*")):
            if path.is_file() and path.suffix in {".py", ".toml"}:
                target = Path("deid_assets", "plugin_template", path.relative_to(template))
                build_data["force_include"][str(path)] = target.as_posix()
