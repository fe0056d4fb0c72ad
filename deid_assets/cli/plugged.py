"""Commands of plugins: listed without importing them, loaded when they are asked for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from deid_assets import plugins
from deid_assets.cli.endings import guard_command, say
from deid_assets.core.errors import PluginError
from deid_assets.own_plugins import BRINGS, LABORATORY, command, describe_missing
from deid_assets.plugins import COMMANDS

WHOLE = 1_000
"""Characters that the line on a command may have in a list; it is broken there, never cut off."""


class CommandGroup(TyperGroup):
    """A group of commands, each listed with its first sentence, whole."""

    def absent(self) -> dict[str, str]:
        """Return the commands that are not installed, with what installs each; none of its own."""
        return {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section of all commands."""
        self.write_section(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_section(self, ctx: Any, formatter: Any, heading: str, names: Iterable[str]) -> None:
        """Write the help of the named commands under a heading, dimmed where one is
        not installed.
        """
        absent = self.absent()
        rows = []
        for name in names:
            if name in absent:
                rows.append((typer.style(name, dim=True), typer.style(absent[name], dim=True)))
            elif said := self.help_of(ctx, name):
                rows.append((name, said))
        with formatter.section(heading):
            formatter.write_dl(rows)

    def help_of(self, ctx: Any, name: str) -> str:
        """Return the first sentence on a command, whole.

        Of one whose plugin is broken, that it is, since help must list the others.
        """
        try:
            found = self.get_command(ctx, name)
        except typer.BadParameter as error:
            return typer.style(f"cannot be used: {error.message}", dim=True)
        return found.get_short_help_str(limit=WHOLE) if found else ""


class WithPlugins(CommandGroup):
    """A group of commands that plugins add to.

    Attributes:
        entry_points: Group of the entry points.
    """

    entry_points: ClassVar[str] = COMMANDS

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, and of those of plugins."""
        return [*super().list_commands(ctx), *self.list_plugged()]

    @functools.cached_property
    def found(self) -> Mapping[str, plugins.Plugin]:
        """The commands of plugins; the environment is searched once, since that takes long."""
        return plugins.available(self.entry_points)

    def list_plugged(self) -> list[str]:
        """Return the names of the commands of plugins."""
        return [name for name in self.found if name not in self.commands]

    def absent(self) -> dict[str, str]:
        """Return the commands of this project's plugins that are not installed, with what installs
        each.
        """
        known = BRINGS.get(self.entry_points, {})
        here = {*self.commands, *self.list_plugged()}
        return {
            name: f"not installed: {command(plugin)}"
            for name, plugin in known.items()
            if name not in here
        }

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section of all commands, those that are not installed last, and
        the laboratory's.
        """
        studies = self.of_laboratory()
        names = [*self.list_commands(ctx), *self.absent()]
        self.write_section(
            ctx, formatter, "Commands", [name for name in names if name not in studies]
        )
        self.write_laboratory(ctx, formatter)

    def of_laboratory(self) -> list[str]:
        """Return the commands that the laboratory brings, installed or not."""
        known = BRINGS.get(self.entry_points, {})
        return [name for name, plugin in known.items() if plugin in LABORATORY]

    def write_laboratory(self, ctx: Any, formatter: Any) -> None:
        """Write a section of the laboratory: its commands, or one line where none is installed."""
        names = self.of_laboratory()
        if not names:
            return
        if not {*names} & {*self.list_plugged()}:
            said = f"{len(names)} commands not installed: {command('lab')}"
            with formatter.section("The laboratory"):
                formatter.write_text(typer.style(said, dim=True))
            return
        self.write_section(ctx, formatter, "The laboratory", names)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, of its own or of a plugin."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if cmd_name not in self.found:
            if remedy := describe_missing(self.entry_points, cmd_name):
                raise typer.BadParameter(f"{cmd_name}: {remedy}")
            return None
        try:
            return _command(cmd_name, plugins.load_declaration(self.found[cmd_name], "command"))
        except PluginError as error:
            raise typer.BadParameter(str(error)) from None


class OfCorpus(WithPlugins):
    """``deid corpus``."""

    entry_points: ClassVar[str] = f"{COMMANDS}.corpus"


def _command(name: str, function: Any) -> Any:
    from deid_assets.cli.arguments import JsonOption  # noqa: PLC0415 - loads the formats

    if isinstance(function, typer.Typer):  # a group, whose commands are guarded by its plugin
        return typer.main.get_group(function)
    signature = inspect.signature(function, eval_str=True)
    single = typer.Typer(
        pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False
    )
    if signature.return_annotation is int:  # it prints by itself
        single.command(name)(guard_command(function))
        return typer.main.get_command(single)

    @functools.wraps(function)
    def run(*args: Any, as_json: bool = False, **kwargs: Any) -> int:
        return _show(function(*args, **kwargs), as_json=as_json)

    wanted = inspect.Parameter(
        "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption
    )
    whole = signature.replace(parameters=[*signature.parameters.values(), wanted])
    run.__signature__ = whole  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in whole.parameters.values()}
    command = guard_command(run)
    command.__signature__ = whole  # type: ignore[attr-defined]
    command.__annotations__ = run.__annotations__
    single.command(name)(command)
    return typer.main.get_command(single)


def _show(answer: Any, *, as_json: bool) -> int:
    from deid_assets.cli.tables import print_json, print_table  # noqa: PLC0415 - loads Rich

    if as_json:
        print_json(dict(answer.document))
    else:
        for table in answer.tables:
            print_table(table.columns, table.rows, numbers_from=table.numbers_from)
    for line in answer.said:
        say(line)
    return int(answer.code)
