"""A guard around a step of Dagster: output and exceptions reach its event log only without text."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

from deid_assets.core.errors import class_name
from deid_assets.own_plugins import message_of
from deid_assets.runtime.processes import Stopped, check_stop
from deid_assets.runtime.progress import progress_callback, report
from deid_assets.system.silence import silence_at_exit, silence_output

PROGRESS_S = 10
"""Least time between two events that say how far an asset is: each is kept for ever."""


@contextmanager
def guard_step(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, key: str, batch: str
) -> Iterator[None]:
    """Silence what is said meanwhile, and end the step with a message that holds no text where
    something is raised.

    A generator must not yield in here: that it is closed would be taken for an error of the work.

    Raises:
        Failure: Something was raised; also where it was one of Dagster's, whose text a plugin may
            have written.
        DagsterExecutionInterruptedError: The run is to end.
    """
    try:
        with progress_callback(_logging(context)), silence_output():
            check_stop()
            report(key)
            yield
    except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt, Stopped):
        raise dg.DagsterExecutionInterruptedError from None
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
        raise dg.Failure(description=safe_message(error, key, batch), allow_retries=False) from None
    finally:
        silence_at_exit()


def _logging(
    context: dg.AssetExecutionContext | dg.OpExecutionContext,
) -> Callable[[str, int, int], None]:
    """Return what writes progress to the event log, and not by a logger, since those are off."""
    last = time.monotonic()

    def log(what: str, done: int, of: int) -> None:
        nonlocal last
        if of and time.monotonic() - last >= PROGRESS_S:
            last = time.monotonic()
            log_line(context, f"{what}: {done:,} of {of:,}")

    return log


def log_line(context: dg.AssetExecutionContext | dg.OpExecutionContext, line: str) -> None:
    """Write a line without text of notes to the event log, and not by a logger, since those
    are off.
    """
    op_context = (
        context.op_execution_context if isinstance(context, dg.AssetExecutionContext) else context
    )
    context.instance.report_engine_event(line, context.run, step_key=op_context.op.name)


def safe_message(error: BaseException, key: str, batch: str) -> str:
    """Return what may be shown of an error.

    Messages of our own code, which hold no text, and else the class alone.
    """
    own = message_of(error)
    message = f": {own}" if own else "; nothing was stored"
    if isinstance(error, OSError) and error.errno:
        # such as a full disk; what the system says of it names no file
        message = f" ({os.strerror(error.errno)}){message}"
    return f"{key}, batch {batch}: {class_name(error)}{message}"
