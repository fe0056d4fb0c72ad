"""Evaluation inside a site: a submission reads notes without labels in a process of its own, and only counts leave.

The submission is a program. It reads notes from its standard input and writes spans to its standard output, a JSON object
per line: ``{"id", "lang", "text"}`` in, ``{"id", "spans": [{"start", "end", "label"}]}`` out. It runs without network, can
write nowhere but into a scratch that ends with it, and where the labels lie it sees an empty folder. Where this machine
cannot do that, nothing runs.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from deid_assets.extending import Document, InputError, Phi
from deid_assets.extending.measuring import wilson

CANNOT = "this machine cannot keep a program from the labels; allow user namespaces (unshare)"
LEAST = 10
"""Spans of a category below which its counts are withheld: a count of one may tell a person."""
DIGITS = 3
"""Of rates and their bounds: what a submission chooses to be told of a note fits into few of them."""
_BYTES = 64 * 2**20
"""Most that a submission may write."""
_SCRATCH = "/dev/shm"  # noqa: S108 - a file system of the submission's own


def can_isolate() -> bool:
    """Whether this machine can hide folders and the network from a process."""
    if not shutil.which("unshare") or not shutil.which("setpriv") or platform.machine() not in _KEYCTL:
        return False
    tried = sandboxed(["true"], [Path("/mnt")])
    try:
        return subprocess.run(tried, capture_output=True, check=False, timeout=60).returncode == 0  # noqa: S603 - our own
    except subprocess.TimeoutExpired:
        return False


_APART = ("--user", "--map-root-user", "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")
_KEYCTL = {"x86_64": 250, "aarch64": 219}
"""Number of the system call by machine."""
_OWN_KEYS = """
import ctypes, errno, os, sys
joined = ctypes.CDLL(None, use_errno=True).syscall(int(sys.argv[1]), 1, None)
if joined < 0 and ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM):
    sys.exit(9)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Joins a new session keyring: one that came with a login would outlive the submission, with what it keeps there."""
_POWERLESS = "setpriv --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all"
"""Without rights to unmount: a namespace that it makes of its own has these mounts locked."""
_READ_ONLY = (
    'while read -r id parent device root at rest; do at=$(printf %b "$at"); '
    'mount -o remount,bind,ro "$at" || mount -t tmpfs -o ro tmpfs "$at" || exit 9; done < /proc/self/mountinfo && '
    "{ [ ! -d /run ] || mount -t tmpfs -o size=1m,mode=555 tmpfs /run; } && "
    f"mount -t tmpfs -o size=1g tmpfs {_SCRATCH} && "
)
"""What can be written to is read only, what cannot be made so is empty, and so is where sockets of services lie."""


def _prepared(hidden: Sequence[Path]) -> str:
    """Return the shell's words that come before the submission's."""
    return _READ_ONLY + "".join(
        f"mount -t tmpfs -o size=1m,mode=555 tmpfs {shlex.quote(str(one))} && " for one in hidden
    )


def sandboxed(command: Sequence[str], hidden: Sequence[Path]) -> list[str]:
    """Return the words that run a program apart; it finds the ``hidden`` folders empty."""
    limits = f"cd / && ulimit -f {_BYTES // 512} && ulimit -c 0"
    script = f"{_prepared([one.resolve() for one in hidden])}{limits} && exec {_POWERLESS} {shlex.join(command)}"
    first = [sys.executable, "-I", "-S", "-c", _OWN_KEYS, str(_KEYCTL.get(platform.machine(), -1))]
    return [*first, str(shutil.which("unshare")), *_APART, "sh", "-c", script]


def environment() -> dict[str, str]:
    """Return the variables of a submission."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": _SCRATCH, "TMPDIR": _SCRATCH, "LANG": "C.UTF-8"}


def evaluate(
    command: Sequence[str], documents: Sequence[Document], *, hidden: Sequence[Path], seconds: float = 600
) -> dict[str, Any]:
    """Return counts and rates of a submission, and nothing else of what it wrote.

    Args:
        command: The program and its arguments.
        documents: Notes with gold.
        hidden: Folders that the program finds empty: where the labels, the log and results lie.
        seconds: After which it is ended.

    Raises:
        InputError: It cannot be kept from the labels, failed, took too long, or wrote something else than spans.
    """
    if not can_isolate():
        raise InputError(CANNOT)
    notes = [
        json.dumps({"id": f"n{number}", "lang": one.note.lang, "text": one.note.text}, ensure_ascii=False)
        for number, one in enumerate(documents)
    ]
    written = _run(command, "\n".join(notes) + "\n", hidden, seconds)
    found = _read(written, {f"n{number}": len(one.note.text) for number, one in enumerate(documents)})
    return _scores(documents, found)


def _run(command: Sequence[str], given: str, hidden: Sequence[Path], seconds: float) -> bytes:
    with tempfile.TemporaryFile() as out:
        try:
            ended = subprocess.run(  # noqa: S603 - what the operator named, apart from labels and network
                sandboxed(command, hidden), input=given.encode(), stdout=out, stderr=subprocess.DEVNULL,
                timeout=seconds, check=False, env=environment(),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise InputError(f"the submission took more than {seconds:g} s; allow it more, or refuse it") from None
        if ended.returncode:
            raise InputError(f"the submission failed with code {ended.returncode}; its messages are not shown")
        out.seek(0)
        return out.read()


def _read(written: bytes, known: Mapping[str, int]) -> dict[str, set[tuple[int, int, str]]]:
    """Return the spans of each note.

    Raises:
        InputError: A line is no such object; the message has its number and nothing of it.
    """
    found: dict[str, set[tuple[int, int, str]]] = {}
    for number, line in enumerate(written.splitlines(), 1):
        try:
            name, spans = _said(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"line {number} of the submission is no object of id and spans; correct it") from None
        if name not in known or name in found:
            raise InputError(f"line {number} of the submission answers an unknown note, or one twice; correct it")
        if any(not 0 <= start < end <= known[name] for start, end, _ in spans):
            raise InputError(f"line {number} of the submission has a span outside its note; correct it")
        found[name] = spans
    return found


def _said(line: Any) -> tuple[str, set[tuple[int, int, str]]]:
    """Return a note's name and its spans; what is no whole number is no place."""
    name, spans = line["id"], {(one["start"], one["end"], str(Phi(one["label"]).value)) for one in line["spans"]}
    if type(name) is not str or any(type(place) is not int for one in spans for place in one[:2]):
        raise TypeError
    return name, spans


def _scores(documents: Sequence[Document], found: Mapping[str, AbstractSet[tuple[int, int, str]]]) -> dict[str, Any]:
    expected: Counter[str] = Counter()
    right: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    said = 0
    for number, one in enumerate(documents):
        spans = found.get(f"n{number}", frozenset())
        said += len(spans)
        open_places = bytearray(b"o" * len(one.note.text))
        for start, end, _ in spans:
            open_places[start:end] = bytes(end - start)
        for gold in one.spans:
            expected[gold.label.value] += 1
            right[gold.label.value] += (gold.start, gold.end, gold.label.value) in spans
            covered[gold.label.value] += b"o" not in open_places[gold.start : gold.end]
    every = sum(expected.values())
    if every < LEAST:
        raise InputError(f"the notes have {every} annotated spans; scores of fewer than {LEAST} are not given")
    hits = sum(right.values())
    return {
        "notes": len(documents),
        "gold": every,
        "f1": round(2 * hits / (every + said), DIGITS),
        "precision": _share(hits, said),
        "recall": _share(hits, every),
        "covered": _share(sum(covered.values()), every),
        "covered_by_category": {
            label: _share(covered[label], expected[label]) for label in sorted(expected) if expected[label] >= LEAST
        },
        "withheld_categories": sum(count < LEAST for count in expected.values()),
    }


def _share(hits: int, trials: int) -> dict[str, float] | None:
    if not trials:
        return None
    low, high = wilson(hits, trials)
    return {name: round(one, DIGITS) for name, one in (("value", hits / trials), ("low", low), ("high", high))}
