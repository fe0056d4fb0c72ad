"""Damage inside what is packed: the parts of a DOCX, a PDF's streams and a Parquet file's columns, not just its bytes.

A byte changed in a ZIP is caught by its checksum and reaches no parser. Here a container is taken apart, one part of it
damaged, and the whole put together again, so that the damage is read.
"""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
import zlib
from itertools import chain
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deid_assets.core.errors import InputError
from deid_assets.formats import Annotated, Fault, read_notes

ROOT = Path(__file__).parents[2]
DATA = (ROOT / "tests" / "formats" / "data", *sorted(ROOT.glob("plugins/*_formats/tests/data")))
PIECES = (b"", b"<", b">", b"&", b"&#0;", b'"', b"\0", b"\xff", b"</w:p>", b"%PDF", b"[" * 40, b"9" * 20, b"-1", b"{")
TEXTS = ("", "\0", "\ud7ff", "é" * 9, "[]", "null", '[{"start": -1}]', "x" * 70_000, "\u2028")


def damage(content: bytes, rng: Random) -> bytes:
    """Cut up to three pieces out and put others in."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(content))
        end = min(len(content), start + rng.choice((0, 1, 4, 60)))
        content = content[:start] + rng.choice(PIECES) + content[end:]
    return content


def damaged_docx(content: bytes, rng: Random) -> bytes:
    """Damage one part of the package."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    chosen = rng.choice(sorted(parts))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in parts.items():
            if name == chosen and rng.random() < 0.05:
                continue
            package.writestr(name, damage(part, rng) if name == chosen else part)
    return made.getvalue()


def damaged_pdf(content: bytes, rng: Random) -> bytes:
    """Damage a stream after it is unpacked, or the bytes around."""
    streams = [match for match in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL) if match[1]]
    if not streams or rng.random() < 0.3:
        return damage(content, rng)
    chosen = rng.choice(streams)
    try:
        inside = zlib.compress(damage(zlib.decompress(chosen[1]), rng))
    except zlib.error:
        inside = damage(chosen[1], rng)
    return content[: chosen.start(1)] + inside + content[chosen.end(1) :]


def damaged_parquet(content: bytes, rng: Random) -> bytes:
    """Exchange a column's values, type or name, or damage the bytes."""
    if rng.random() < 0.3:
        return damage(content, rng)
    table = pq.read_table(io.BytesIO(content))
    at = rng.randrange(table.num_columns)
    name, rows = table.column_names[at], table.num_rows
    columns = (
        pa.array([rng.choice(TEXTS) for _ in range(rows)]),
        pa.array([rng.randint(-(2**31), 2**31) for _ in range(rows)]),
        pa.nulls(rows),
        pa.array([[rng.choice(TEXTS)]] * rows),
        pa.array([{"start": -1, "end": 2**40, "label": rng.choice(TEXTS)}] * rows),
    )
    table = table.set_column(at, name if rng.random() < 0.9 else rng.choice(TEXTS), rng.choice(columns))
    made = io.BytesIO()
    pq.write_table(table, made)
    return made.getvalue()


CONTAINERS = {
    ".docx": (damaged_docx, 25, 100_000),
    ".pdf": (damaged_pdf, 2, 100_000),  # each starts a process
    ".parquet": (damaged_parquet, 40, 100_000),
}


@pytest.mark.parametrize("suffix", CONTAINERS)
def test_damage_inside_a_container_gives_notes_or_faults_campaign(suffix, campaign):
    damaged, share, whole = CONTAINERS[suffix]
    originals = [path.read_bytes() for path in chain(*(sorted(folder.rglob(f"*{suffix}")) for folder in DATA))]
    assert originals
    for number in range(campaign.size(share, whole)):
        rng = Random(number)
        content = damaged(rng.choice(originals), rng)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"a1{suffix}").write_bytes(content)
            try:
                found = list(read_notes(Path(folder)))
            except InputError:
                campaign.count("refused as a whole")
                continue
        assert found, f"seed {number}: neither a note nor a fault"
        assert all(isinstance(entry, Annotated | Fault) for entry in found), f"seed {number}"
        assert all(entry.message.isprintable() for entry in found if isinstance(entry, Fault)), f"seed {number}"
        campaign.count("with faults" if any(isinstance(entry, Fault) for entry in found) else "read as notes")
