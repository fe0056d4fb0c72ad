"""Encrypted values read back with the key alone.

Who did so goes into a file that is only added to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from deid_assets.core.detector import Failed
from deid_assets.core.errors import DeidError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.policies.encrypt import open_tokens
from deid_assets.vault.chain import FIRST, HashChain
from deid_assets.vault.log import AccessRequest


def open_all(
    notes: Sequence[Note], key: Key, request: AccessRequest, *, log: Path
) -> list[Note | Failed]:
    """Return each note with its tokens read back, in order; ``Failed`` where one does not open.

    The log has its line, with the keyed ids of the notes, before anything is given.

    Raises:
        ProvenanceError: A line of the log was altered or taken away.
    """
    outcomes: list[Note | Failed] = []
    for note in notes:
        try:
            outcomes.append(
                replace(note, text=open_tokens(note.text, key, note_id=note.note_id)[0])
            )
        except DeidError as error:
            outcomes.append(Failed(note.note_id, "reidentify", type(error).__name__))
    given = [outcome for outcome in outcomes if isinstance(outcome, Note)]
    _enter(
        log, key, request, [key.derive("opened note", note.note_id).hex()[:32] for note in given]
    )
    return outcomes


def check_log(log: Path, key: Key) -> str:
    """Return the hash of a log's last line after checking that each follows from the one before it.

    Raises:
        ProvenanceError: A line was altered, or one before the last taken away. The last lines may
            be missing: keep the hash of the last elsewhere to see that.
    """
    previous, chain = FIRST, _chain(key)
    lines = log.read_bytes().splitlines() if log.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            digest = row.pop("hash")
        except (ValueError, KeyError, TypeError, AttributeError):
            digest, row = "", {}
        if not chain.follows(row, digest, previous=previous):
            raise ProvenanceError(
                f"{log}:{number}: altered, or lines before it are missing; compare with a backup,"
                " or name a new log"
            )
        previous = str(digest)
    return previous


def _enter(log: Path, key: Key, request: AccessRequest, subjects: Sequence[str]) -> None:
    row = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "action": "reidentify",
        "who": request.who,
        "reason": request.reason,
        "subjects": list(subjects),
        "previous": check_log(log, key),
    }
    line = json.dumps({**row, "hash": _chain(key).hash(row)}, ensure_ascii=False) + "\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def _chain(key: Key) -> HashChain:
    return HashChain(partial(key.derive, "token log"))
