"""The application object, and how errors end a command."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Annotated, Any, ParamSpec

import typer

from deid_assets import __version__
from deid_assets.cli.plugged import WithPlugins
from deid_assets.cli.tasks import MODULES, TASKS
from deid_assets.core.errors import DeidError, class_name
from deid_assets.own_plugins import message_of
from deid_resources.silence import protect_memory, silence_at_exit

PARTIAL, BAD_INPUT, BUG = 1, 2, 3
INTERRUPTED, CLOSED_PIPE = 130, 141  # 128 and the number of the signal, as shells have it

PLAIN_CSV = ContextVar("PLAIN_CSV", default=False)
"""Whether cells of CSV are written as they are; set by the option before a command's name."""

P = ParamSpec("P")


class ByTask(WithPlugins):
    """Commands under the task that they serve, in the order of the work.

    A command's module is loaded when asked for.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, and of those of plugins."""
        own = [name for name in MODULES if name not in self.commands]
        return [*own, *super().list_commands(ctx)]

    def plugged(self) -> list[str]:
        """Return the names of the commands of plugins; none takes the name of an own command."""
        return [name for name in super().plugged() if name not in MODULES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, of its own or of a plugin."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            import_module(f"{__package__}.{MODULES[cmd_name]}")
            self.commands = {**typer.main.get_group(app).commands, **self.commands}
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each task."""
        known = {name for names in TASKS.values() for name in names}
        left = [name for name in self.plugged() if name not in known]
        others: dict[str, Sequence[str]] = {"Of plugins": left} if left else {}
        for task, names in {**TASKS, **others}.items():
            self.write_section(ctx, formatter, task, names)


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


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """End a command with its exit code, or with one line and a code where it raises.

    An error that neither code of ours nor the command's own package raised is named by its class
    alone, because its message may quote a note; ``DEID_DEBUG=1`` shows it whole.
    """
    package = command.__module__.partition(".")[0]

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
            if sys.stdout is not None:  # None where the shell closed it
                sys.stdout.flush()
        except DeidError as error:
            say(f"error: {message_of(error, package=package) or _unshown(error, 'in a plugin')}")
            code = BAD_INPUT
        except BrokenPipeError:
            # else Python writes again as it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = CLOSED_PIPE
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            say(f"error: {error.strerror or type(error).__name__}{place}")
            code = BAD_INPUT
        except KeyboardInterrupt:
            say("interrupted; nothing was written")
            code = INTERRUPTED
        except BaseException as error:
            if _is_debugging():
                raise
            say(f"error: {_unshown(error, 'inside deid')}")
            code = BUG
        finally:
            silence_at_exit()
        raise typer.Exit(code)

    return run


def _unshown(error: BaseException, where: str) -> str:
    if isinstance(error, DeidError) and _is_debugging():
        raise error
    return f"{class_name(error)} {where}; run again with DEID_DEBUG=1 to see where (shows text)"


def _is_debugging() -> bool:
    return os.environ.get("DEID_DEBUG") == "1"


def say(line: str) -> None:
    """Write a line to standard error, where it does not mix with results."""
    typer.echo(line, err=True)


def say_in_amber(line: str) -> None:
    """Write a line on what is not known, which is no failure, to standard error."""
    typer.secho(line, err=True, fg=typer.colors.YELLOW)
