"""Detectors that run in a virtual environment of their own, since their requirements clash with
those of others.

The option ``environment`` of a detector names its folder. What is installed there is read from its
files, and its plugin runs in a process of its Python (``deid_assets.system.apart``).
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache, partial
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from deid_assets.core.detector import Detector
from deid_assets.core.errors import DetectorError, PluginError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.plugins.description import (
    GROUP,
    LANGUAGES,
    Plugin,
    describe,
    digest_of_code,
)
from deid_assets.system.digests import digest_of_package

ENVIRONMENT = "environment"
"""Option of any detector: the folder of the virtual environment that it runs in."""
MAX_ENDS = 10
"""Processes that a detector may end, each with a note, before it is not started again."""
IMPORT_S, START_S = 120, 600
"""Longest that an import may take, and the loading of a detector with its model."""
_ASKED = "import json, sys; print(json.dumps([*sys.version_info[:2], *sys.path]))"
_PROGRAM = """\
import sys
from importlib.util import module_from_spec, spec_from_file_location
home = sys.argv[1]
spec = spec_from_file_location(
    "deid_assets", home + "/__init__.py", submodule_search_locations=[home]
)
sys.modules["deid_assets"] = module = module_from_spec(spec)
spec.loader.exec_module(module)
from deid_assets.system.apart import main
main(sys.argv[2:])
"""
"""Lends the environment this very package, and nothing that lies beside it."""
_OURS = frozenset(
    {
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "__PYVENV_LAUNCHER__",
        "DEID_KEY",
        "DEID_VAULT_KEY",
        "DEID_DATABASE_URL",
    }
)
"""Variables that would lead the other Python to this one's packages, or hold secrets."""


def set_apart(options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the environment that a detector's options name, or nothing, and the other options."""
    rest = dict(options)
    return str(rest.pop(ENVIRONMENT, "") or ""), rest


def plugin_in(environment: str, name: str) -> Plugin:
    """Return what is known of a detector of an environment, with a fault where it cannot be used.

    Nothing of it is imported. Its digest is of its files, and of the names and versions of all
    that is installed there: another version of a library may find something else.

    Args:
        environment: Folder of the virtual environment.
        name: Entry-point name.
    """
    try:
        path = _path_of(environment)
    except PluginError as error:
        return Plugin(name, "unknown", "0", "", (), "", f"{error}", environment=environment)
    found = [*_distributions(path)]
    entries = [entry for one in found for entry in one.entry_points.select(group=GROUP, name=name)]
    if len(entries) != 1:
        fault = (
            f"environment {environment}: {len(entries)} of its distributions name it; uninstall"
            " all but one"
            if entries
            else f"environment {environment} has no detector {name!r}; install its plugin there:"
            f" {_python(environment)} -m pip install PLUGIN"
        )
        return Plugin(name, "unknown", "0", "", (), "", fault, environment=environment)
    find = partial(_find, path)
    plugin = describe(entries[0], partial(_digest_of, find=find), find)
    versions = sorted(f"{one.name}=={one.version}" for one in found)
    digest = hashlib.sha256("\n".join([plugin.digest, *versions]).encode()).hexdigest()
    return replace(plugin, digest=digest, environment=environment)


def load_apart(name: str, plugin: Plugin, options: Mapping[str, Any]) -> Detector:
    """Return a detector that runs in its environment.

    Args:
        name: What it is called.
        plugin: As ``plugin_in`` gives it.
        options: Keyword arguments of the plugin's callable.

    Raises:
        PluginError: It has a fault, or does not load there.
    """
    if plugin.fault:
        raise PluginError(f"detector {name!r}: {plugin.fault}")
    return ApartDetector(name, plugin, options)


def import_fault(plugin: Plugin) -> str:
    """Return why a plugin cannot be imported in its environment; empty where it can."""
    try:
        process = _Process(plugin, {}, only_import=True)
    except _EndedError:
        return "its import ends the process, or takes too long"
    process.end()
    fault = str(process.about.get("fault", ""))
    return _not_imported(plugin, fault) if fault else ""


class ApartDetector:
    """A detector in a process of another Python.

    Args:
        name: What it is called.
        plugin: Of its environment.
        options: Keyword arguments of the plugin's callable.

    Raises:
        PluginError: It does not load there, or is called otherwise.
    """

    def __init__(self, name: str, plugin: Plugin, options: Mapping[str, Any]) -> None:
        self.name = name
        self._plugin, self._options = plugin, options
        self._ends = 0
        self._process: _Process | None = self._start()
        about = self._process.about
        if about["name"] != name:
            raise PluginError(
                f"detector {name!r}: what plugin {plugin.name!r} of environment"
                f" {plugin.environment} gives is not a detector of that name"
            )
        self.version = str(about["version"])
        self.labels = frozenset(map(Phi, about["labels"]))
        self.native_labels = frozenset(map(str, about["native_labels"]))

    def detect(self, notes: Sequence[Note]) -> list[SpanSet]:
        """Return the spans of each note, in order.

        Raises:
            DetectorError: It raised, its process ended, or what came back are no spans.
            PluginError: It ended too many processes.
        """
        if self._ends >= MAX_ENDS:
            raise PluginError(f"detector {self.name!r}: it ended {MAX_ENDS} processes; see why")
        if self._process is None:
            self._process = self._start()
        try:
            rows = self._process.ask([_fields(note) for note in notes])
        except _EndedError:
            self._ends += 1
            self._process = None
            raise DetectorError(f"{self.name}: its process ended") from None
        return _spans_of(notes, rows)

    def _start(self) -> _Process:
        try:
            process = _Process(self._plugin, self._options)
        except _EndedError:
            raise PluginError(
                f"detector {self.name!r} does not load in {self._plugin.environment}: its process"
                " ended"
            ) from None
        fault = process.about.get("fault")
        if fault is None:
            return process
        if not process.about["imported"]:
            raise PluginError(f"detector {self.name!r} {_not_imported(self._plugin, str(fault))}")
        raise PluginError(
            f"detector {self.name!r} does not load ({fault}); build it in"
            f" {_python(self._plugin.environment)} to see why"
        )


class _EndedError(Exception):
    """The process of a detector ended."""


class _Process:
    """A process of an environment's Python, and what it said of itself.

    Args:
        plugin: That it loads.
        options: Keyword arguments.
        only_import: Whether it only imports it.

    Raises:
        _EndedError: It ended before it said anything, or took too long.
    """

    def __init__(
        self, plugin: Plugin, options: Mapping[str, Any], *, only_import: bool = False
    ) -> None:
        life, self._life = os.pipe()
        requests, self._requests = os.pipe()
        answers, theirs = os.pipe()
        self._notes, self._spans = _nameless_file(), _nameless_file()
        numbers = (life, requests, theirs, self._notes, self._spans)
        home = str(Path(__file__).parents[1])
        self._process = subprocess.Popen(  # noqa: S603 - the Python that the settings name
            [_python(plugin.environment), "-P", "-c", _PROGRAM, home, *map(str, numbers)],
            env=_others_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=numbers,
        )
        for number in (life, requests, theirs):
            os.close(number)
        self._answers = os.fdopen(answers, "rb")
        ours = (self._life, self._requests, self._notes, self._spans)
        self.end = weakref.finalize(self, _end, self._process, ours, self._answers)
        name = plugin.entry_point.name if plugin.entry_point else plugin.name
        # Not as arguments, which every user of the machine may list.
        wanted = {"plugin": name, "options": options, "only_import": only_import}
        timer = threading.Timer(IMPORT_S if only_import else START_S, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            self._tell(json.dumps(wanted, default=str))
            self.about = self._answer()
        finally:
            timer.cancel()

    def ask(self, notes: Sequence[Mapping[str, Any]]) -> Any:
        """Return what it finds in notes.

        Raises:
            _EndedError: It ended.
            Exception: It raised: a builtin error of its own class, else ``DetectorError``.
        """
        content = json.dumps(notes).encode()
        _write(self._notes, content)
        self._tell(f"{len(content)}")
        answer = self._answer()
        if "fault" in answer:
            os.ftruncate(self._notes, 0)
            raise _error_of(str(answer["fault"]))
        spans = os.pread(self._spans, int(answer["spans"]), 0)
        os.ftruncate(self._spans, 0)
        return json.loads(spans)

    def _tell(self, line: str) -> None:
        left = line.encode() + b"\n"
        try:
            while left:
                left = left[os.write(self._requests, left) :]
        except BrokenPipeError:
            self.end()
            raise _EndedError from None

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            self.end()
            raise _EndedError
        answer: dict[str, Any] = json.loads(line)
        return answer


def _others_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OURS}


def _end(process: subprocess.Popen[bytes], pipes: Sequence[int], answers: Any) -> None:
    process.kill()
    process.wait()
    answers.close()
    for number in pipes:
        with suppress(OSError):
            os.close(number)


def _nameless_file() -> int:
    """Return a file that has no name and is gone with the processes that hold it: in memory where
    the system has such files.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create("deid")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write(file: int, content: bytes) -> None:
    os.ftruncate(file, 0)
    at = 0
    while at < len(content):
        at += os.pwrite(file, content[at:], at)


def _fields(note: Note) -> dict[str, Any]:
    fields = asdict(note)
    del fields["digest"]
    return fields


def _spans_of(notes: Sequence[Note], rows: Any) -> list[SpanSet]:
    """Return the spans of notes, as the other process wrote them.

    Raises:
        DetectorError: They are none.
    """
    try:
        return [
            SpanSet.of(note, (Span(at, end, Phi(label), *rest) for at, end, label, *rest in found))
            for note, found in zip(notes, rows, strict=True)
        ]
    except (TypeError, ValueError):
        raise DetectorError("what an environment gave back are no spans") from None


def _error_of(name: str) -> Exception:
    """Return an error of a builtin class, which core names after it, or else a ``DetectorError``:
    the name of a foreign class may be text of a note.
    """
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, Exception):
        with suppress(TypeError):
            return known()
    return DetectorError(f"{name} in an environment of its own")


def _not_imported(plugin: Plugin, fault: str) -> str:
    module = plugin.entry_point.module if plugin.entry_point else plugin.name
    return (
        f"cannot be imported ({fault}); {_python(plugin.environment)} -c 'import {module}' shows"
        " where"
    )


def _python(environment: str) -> str:
    folder = Path(environment).absolute()
    windows = folder / "Scripts" / "python.exe"
    return str(windows if windows.is_file() else folder / "bin" / "python")


def _path_of(environment: str) -> tuple[str, ...]:
    """Return where the Python of an environment looks for modules.

    Raises:
        PluginError: There is no such Python, or one that is too old.
    """
    folder = Path(environment).absolute()
    try:
        stamp = tuple(
            place.stat().st_mtime_ns
            for place in (folder / "pyvenv.cfg", *sorted(folder.glob("lib/python*/site-packages")))
        )
    except OSError:
        raise PluginError(
            f"environment {environment} is no virtual environment; make one: python -m venv"
            f" {environment}"
        ) from None
    return _ask_path(environment, str(folder), stamp)


@lru_cache(maxsize=64)
def _ask_path(environment: str, _folder: str, _stamp: tuple[int, ...]) -> tuple[str, ...]:
    try:
        told = subprocess.run(  # noqa: S603 - the Python that the settings name
            [_python(environment), "-P", "-c", _ASKED],
            env=_others_environment(),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=60,
            check=True,
        ).stdout
        major, minor, *path = json.loads(told)
    except (OSError, ValueError, subprocess.SubprocessError):
        raise PluginError(
            f"environment {environment}: its Python does not run; make it again: python -m venv"
            f" {environment}"
        ) from None
    if (major, minor) < (3, 11):
        raise PluginError(
            f"environment {environment} has Python {major}.{minor}; make it with 3.11 or later"
        )
    return tuple(path)


def _distributions(path: Sequence[str]) -> Iterator[Distribution]:
    """Yield what is installed, the first of each name, as Python's import has it."""
    seen: set[str] = set()
    for one in distributions(path=[*path]):
        name = str(one.metadata["Name"]).lower()
        if name not in seen:
            seen.add(name)
            yield one


def _find(path: Sequence[str], module: str) -> ModuleSpec | None:
    return PathFinder.find_spec(module, [*path])


def _digest_of(package: str, find: Any) -> tuple[str, str]:
    """Return the digest of a package of an environment; the languages are this package's own."""
    return digest_of_code(package) if package == LANGUAGES else digest_of_package(package, find)
