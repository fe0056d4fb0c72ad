"""How a command ends: its exit codes, what it says beside its results, and what becomes
of errors.
"""

from __future__ import annotations

import atexit
import functools
import gc
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

import typer

from deid_assets.core.errors import DeidError, class_name
from deid_assets.own_plugins import message_of
from deid_assets.system.silence import silence_at_exit

PARTIAL, BAD_INPUT, BUG = 1, 2, 3
INTERRUPTED, CLOSED_PIPE = 130, 141  # 128 and the number of the signal, as shells have it

P = ParamSpec("P")


def guard_command(command: Callable[P, int]) -> Callable[P, None]:
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
            _leave_cycles_at_exit()
        raise typer.Exit(code)

    return run


def _leave_cycles_at_exit() -> None:
    """Spare the collector of cycles its last visit of all objects, a third of a short command's
    time: the system frees their memory with the process.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


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
