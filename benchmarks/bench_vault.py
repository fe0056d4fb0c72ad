"""How many notes a second go into a vault, come out of it, and are re-encrypted.

One core, SQLite, 2 KB and 20 edits a note.

python benchmarks/bench_vault.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from conditions import conditions

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies.tags import Tag
from deid_assets.vault.keys import Keyring
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.store import Vault, VaultEntry
from deid_assets.vault.upkeep import reidentify, rotate, verify

NOTES, EDITS, CHARS, AT_ONCE = 2_000, 20, 2_000, 100
OLD, NEW = bytes(32), bytes(range(32))
REQUEST = AccessRequest("benchmark", "measures time")


def main() -> None:
    print(conditions())
    entries = [_entry(number) for number in range(NOTES)]
    chunks = [entries[at : at + AT_ONCE] for at in range(0, NOTES, AT_ONCE)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vault.db"
        vault = Vault(f"sqlite:///{file}", Keyring([OLD]))
        _measure("seal", lambda: [vault.store(chunk) for chunk in chunks])
        given_out = [
            [Note(entry.note.note_id, entry.redacted.text) for entry in chunk] for chunk in chunks
        ]
        _measure("give back", lambda: [reidentify(vault, chunk, REQUEST) for chunk in given_out])
        _measure("verify", lambda: verify(vault))
        vault.close()
        both = Keyring([NEW, OLD])
        vault = Vault(f"sqlite:///{file}", both)
        _measure("rotate", lambda: rotate(vault, both, REQUEST))
        vault.close()
        print(f"{file.stat().st_size / (NOTES * EDITS):,.0f} bytes an edit")


def _entry(number: int) -> VaultEntry:
    note = Note(
        f"n{number}",
        ("Seen on the ward and in good spirits. " * 60)[:CHARS],
        f"p{number % 300}",
        "en",
    )
    spans = DisjointSpans.of(note, [Span(at * 100, at * 100 + 10, Phi.NAME) for at in range(EDITS)])
    return VaultEntry(note, redact(note, spans, Policy("tag", Tag()), key=Key(OLD)))


def _measure(what: str, work: Callable[[], object]) -> None:
    started, used = time.perf_counter(), time.process_time()
    work()
    print(
        f"{what}: {NOTES / (time.process_time() - used):,.0f} notes/s of processor time, "
        f"{NOTES / (time.perf_counter() - started):,.0f} notes/s on the clock"
    )


if __name__ == "__main__":
    main()
