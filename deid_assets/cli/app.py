"""The application object."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from importlib import import_module
from typing import Annotated, Any

import typer

from deid_assets import __version__
from deid_assets.cli.endings import BAD_INPUT, say
from deid_assets.cli.plugged import WithPlugins
from deid_assets.cli.tasks import MODULES, STUDIES, TASKS
from deid_assets.core.errors import ConfigError
from deid_assets.operation.environment import enter_folder
from deid_assets.own_plugins import is_own
from deid_assets.system.silence import protect_memory

PLAIN_CSV = ContextVar("PLAIN_CSV", default=False)
"""Whether cells of CSV are written as they are; set by the option before a command's name."""
_SENTENCES = {name: one for said in (*TASKS.values(), STUDIES) for name, one in said.items()}


class ByTask(WithPlugins):
    """Commands under the task that they serve, in the order of the work.

    A command's module is loaded when asked for.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, and of those of plugins."""
        own = [name for name in MODULES if name not in self.commands]
        return [*own, *super().list_commands(ctx)]

    def list_plugged(self) -> list[str]:
        """Return the names of the commands of plugins; none takes the name of an own command."""
        return [name for name in super().list_plugged() if name not in MODULES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, of its own or of a plugin."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            import_module(f"{__package__}.{MODULES[cmd_name]}")
            self.commands = {**typer.main.get_group(app).commands, **self.commands}
        return super().get_command(ctx, cmd_name)

    def help_of(self, ctx: Any, name: str) -> str:
        """Return the first sentence on a command, whole; a known one is not loaded for it."""
        plugin = self.found.get(name)
        ours = name in MODULES or (plugin and not plugin.fault and is_own(plugin.package))
        return _SENTENCES[name] if ours and name in _SENTENCES else super().help_of(ctx, name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each task, that of the laboratory last."""
        known = {name for names in TASKS.values() for name in names} | {*self.of_laboratory()}
        left = [name for name in self.list_plugged() if name not in known]
        others: dict[str, Iterable[str]] = {"Of plugins": left} if left else {}
        for task, names in {**TASKS, **others}.items():
            self.write_section(ctx, formatter, task, names)
        self.write_laboratory(ctx, formatter)


# Typer's own tracebacks print local variables, and those hold text.
app = typer.Typer(
    name="deid",
    cls=ByTask,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="De-identify clinical notes: detect, redact, evaluate.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deid-assets {__version__}")
        raise typer.Exit


@app.callback()
def _deid(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    plain_csv: Annotated[
        bool,
        typer.Option(
            "--plain-csv",
            help="Write cells of CSV as they are, also those that a spreadsheet would compute.",
        ),
    ] = False,
) -> None:
    del version  # answered by its callback
    PLAIN_CSV.set(plain_csv)
    protect_memory()
    try:
        enter_folder()
    except ConfigError as error:
        if context.invoked_subcommand == "doctor":  # it says so among its findings
            return
        say(f"error: {error}")
        raise typer.Exit(BAD_INPUT) from None
