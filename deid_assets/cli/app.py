"""The application object, and how errors end a command."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec

import typer

from deid_assets.core.errors import DeidError

PARTIAL, BAD_INPUT, BUG = 1, 2, 3

P = ParamSpec("P")

# Typer's own tracebacks print local variables, and those hold text.
app = typer.Typer(
    name="deid", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="De-identify clinical notes: detect, redact, evaluate.",
)  # fmt: skip
corpus_app = typer.Typer(no_args_is_help=True, help="Synthetic corpora.")
app.add_typer(corpus_app, name="corpus")


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """End a command with its exit code, or with one line and a code where it raises.

    An error that is not ours is named by its class alone, because its message may quote a note; ``DEID_DEBUG=1``
    shows it whole.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except DeidError as error:
            say(f"error: {error}")
            code = BAD_INPUT
        except BrokenPipeError:
            code = 0
        except Exception as error:
            if os.environ.get("DEID_DEBUG") == "1":
                raise
            say(f"error: {type(error).__name__} inside deid; run again with DEID_DEBUG=1 to see where (shows text)")
            code = BUG
        raise typer.Exit(code)

    return run


def say(line: str) -> None:
    """Write a line to standard error, where it does not mix with results."""
    typer.echo(line, err=True)
