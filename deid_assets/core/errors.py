"""Every error the package raises on purpose.

::

    DeidError
    ├── InputError(ValueError)        a file, a row or an option the user can correct
    │   ├── ConfigError               a setting or policy file
    │   └── UnknownLabelError         a label that no label map knows
    ├── NoteError(ValueError)         a note that breaks a promise of ``Note``
    ├── OffsetError(ValueError)       a span that is empty, reversed or out of bounds
    ├── DigestError(ValueError)       spans that were made for another text
    ├── OverlapError(ValueError)      spans that overlap where they must not
    ├── DetectorError                 a detector that broke its contract
    ├── PluginError                   a plugin that is missing, doubled or does not load
    ├── TrainingError                 a training run that cannot give a model
    ├── PolicyError(ValueError)       a redaction policy that cannot be carried out
    ├── ProvenanceError               a stored file that is missing, altered or not approved
    ├── UnfinishedError               a partition that was stored, and not all that follows
    ├── WithheldError                 a note that may not leave
    └── WorkerError                   a worker process that raised or ended

Messages name the note, the fault and the remedy. They show ids, labels and offsets, never note
text.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from types import CodeType


class DeidError(Exception):
    """Root of the errors raised on purpose."""


class InputError(DeidError, ValueError):
    """The user's file, row or option is wrong; the message says where and what would be right."""


class ConfigError(InputError):
    """A setting or policy file is wrong."""


class UnknownLabelError(InputError):
    """A label appears in no label map."""


class NoteError(DeidError, ValueError):
    """A note has no usable id or text."""


class OffsetError(DeidError, ValueError):
    """A span is empty, reversed or out of the note's bounds."""


class DigestError(DeidError, ValueError):
    """Spans are applied to a text they were not made for."""


class OverlapError(DeidError, ValueError):
    """Spans overlap where disjoint spans are required."""


class DetectorError(DeidError):
    """A detector returned something its contract forbids."""


class PluginError(DeidError):
    """A plugin is missing, named twice or fails to load."""


class TrainingError(DeidError):
    """A training run cannot continue; the message says which setting or corpus to change."""


class PolicyError(DeidError, ValueError):
    """A redaction policy cannot be carried out."""


class WithheldError(DeidError):
    """A note may not leave; the message says at which stage and why."""


class ProvenanceError(DeidError):
    """A stored file is missing, altered, out of date or not approved."""


class UnfinishedError(DeidError):
    """A partition was stored, but what follows was not done.

    The message says what is there and what is not.
    """


class WorkerError(DeidError):
    """Work in a worker process raised, or ended the process."""


PANIC = ("pyo3_runtime", "PanicException")
"""Module and name of the class of a panic in a library written in Rust.

No such module can be imported.
"""


def class_name(error: BaseException) -> str:
    """Return the name of an error's class, which may be shown where text may not.

    A name that is made while notes are read may be text of a note. So only a name counts that the
    source of the class' module spells out, or a builtin one; otherwise the class is named after the
    nearest class that it derives from and that has such a name.
    """
    return _class_name(type(error))  # type: ignore[arg-type]  # a class is hashable


@lru_cache(maxsize=128)
def _class_name(cls: type) -> str:
    return next(known.__name__ for known in cls.__mro__ if _is_spelled_out(known))


def _is_spelled_out(cls: type) -> bool:
    if getattr(builtins, cls.__name__, None) is cls or (cls.__module__, cls.__name__) == PANIC:
        return True
    spec = getattr(sys.modules.get(cls.__module__), "__spec__", None)
    get_code = getattr(getattr(spec, "loader", None), "get_code", None)
    try:
        code = get_code(cls.__module__) if get_code else None
    except (ImportError, OSError, SyntaxError):
        return False
    return code is not None and cls.__name__ in _names(code)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of the classes and functions that a module's source defines."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_name
            yield from _names(constant)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'crf'?`` for the known name that is nearest, or nothing where none is
    near.
    """
    near = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
