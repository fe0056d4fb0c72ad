"""Damage inside what is packed.

The parts of a DOCX, a PDF's streams, a Parquet file's columns, members of archives.

A byte changed in a ZIP is caught by its checksum and reaches no parser. Here a container is taken
apart, one part of it damaged, and the whole put together again, so that the damage is read.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from fuzzing.damage import ANY, OF_FORMAT, damaged

TEXTS = ("", "\0", "\ud7ff", "é" * 9, "[]", "null", '[{"start": -1}]', "x" * 70_000, "\u2028")
DOCX = (
    *ANY,
    b"</w:p>",
    b"<w:p>",
    b"<w:tbl><w:tr><w:tc>",
    b"<w:t>",
    b"<w:del>",
    b"<w:ins>",
    b"<w:delText>",
    b"<w:txbxContent>",
    b"<w:fldChar/>",
    b"<mc:AlternateContent>",
    b'w:val="-1"',
    b'r:id="rId9"',
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b'Target="../../x"',
    b"<w:altChunk/>",
)
PDF = (
    *ANY,
    b"%PDF",
    b"<<",
    b">>",
    b" 0 R",
    b" obj",
    b"endobj",
    b"stream\n",
    b"/Length -1",
    b"/Length 99999999",
    b"/Filter/ASCIIHexDecode",
    b"/Kids[",
    b"/Parent 1 0 R",
    b"/Encrypt",
    b"/XFA",
    b"Tj",
    b"TJ",
    b"BT",
    b"ET",
    b"Tf",
    b"Do",
    b"BI ID EI",
    b"q",
    b"/Prev 0",
    b"xref",
    b"trailer",
    b"/Size 0",
    b"(",
    b")",
    b"\\",
    b"/ToUnicode",
    b"beginbfchar",
    b"<FFFF>",
    b"/Annots[",
)


def without_styles(content: bytes) -> bytes:
    """Return a DOCX with three of its styles left.

    Reading the rest would take nearly all of the time.
    """
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as package,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as slim,
    ):
        for name in package.namelist():
            part = package.read(name)
            if "styles" in name:
                end = [match.end() for match in re.finditer(b"</w:style>", part)][2]
                part = part[:end] + b"</w:styles>"
            slim.writestr(name, part)
    return made.getvalue()


def damaged_docx(originals: Sequence[bytes], rng: Random) -> bytes:
    """Damage one part of the package."""
    content = rng.choice(originals)
    if rng.random() < 0.1:
        return damaged([content], rng)
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    # Half of the damage goes to the text, which is one part of many.
    chosen = "word/document.xml" if rng.random() < 0.5 else rng.choice(sorted(parts))
    made = io.BytesIO()
    with zipfile.ZipFile(
        made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as package:
        for name, part in parts.items():
            if name == chosen and rng.random() < 0.05:
                continue
            package.writestr(name, damaged([part], rng, DOCX) if name == chosen else part)
    return made.getvalue()


def damaged_pdf(originals: Sequence[bytes], rng: Random) -> bytes:
    """Damage a stream after it is unpacked, or the bytes around."""
    content = rng.choice(originals)
    streams = [
        match
        for match in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
        if match[1]
    ]
    if not streams or rng.random() < 0.5:
        return damaged([content], rng, PDF)
    chosen = rng.choice(streams)
    try:
        inside = zlib.compress(damaged([zlib.decompress(chosen[1])], rng, PDF))
    except zlib.error:
        inside = damaged([chosen[1]], rng, PDF)
    return content[: chosen.start(1)] + inside + content[chosen.end(1) :]


def damaged_parquet(originals: Sequence[bytes], rng: Random) -> bytes:
    """Exchange a column's values, type or name, or damage the bytes."""
    content = rng.choice(originals)
    if rng.random() < 0.4:
        return damaged([content], rng)
    table = pq.read_table(io.BytesIO(content))
    at = rng.randrange(table.num_columns)
    name, rows = table.column_names[at], table.num_rows
    values: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array([rng.choice(TEXTS) for _ in range(rows)]),
        lambda: pa.array([rng.randint(-(2**31), 2**31) for _ in range(rows)]),
        lambda: pa.array([rng.choice((0.5, float("nan"), 1e300)) for _ in range(rows)]),
        lambda: pa.array([b"\xff\0" for _ in range(rows)]),
        lambda: pa.array([rng.randint(0, 2**40) for _ in range(rows)], pa.timestamp("us")),
        lambda: pa.nulls(rows),
        lambda: pa.array([[rng.choice(TEXTS)]] * rows),
        lambda: pa.array([{"start": -1, "end": 2**40, "label": rng.choice(TEXTS)}] * rows),
        lambda: pa.array([rng.choice(TEXTS) for _ in range(rows)]).dictionary_encode(),
    )
    table = table.set_column(
        at, name if rng.random() < 0.9 else rng.choice(TEXTS), rng.choice(values)()
    )
    made = io.BytesIO()
    pq.write_table(table, made, compression=rng.choice(("none", "snappy", "zstd")))
    return made.getvalue()


def damaged_archive(originals: Sequence[bytes], rng: Random, suffix: str) -> bytes:
    """Pack damaged notes under damaged names, and damage some of the archives."""
    members = [
        (_name(rng), damaged(originals, rng, (*ANY, *OF_FORMAT["jsonl"])))
        for _ in range(rng.randint(1, 3))
    ]
    made = io.BytesIO()
    if suffix == ".zip":
        with zipfile.ZipFile(
            made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        ) as package:
            for name, content in dict(members).items():
                package.writestr(name, content)
    else:
        with tarfile.open(fileobj=made, mode="w") as package:
            for name, content in members:
                entry = tarfile.TarInfo(name)
                entry.size, entry.type = (
                    len(content),
                    rng.choice((tarfile.REGTYPE,) * 8 + (tarfile.SYMTYPE, tarfile.FIFOTYPE)),
                )
                entry.size *= entry.type == tarfile.REGTYPE
                package.addfile(entry, io.BytesIO(content))
    whole = made.getvalue()
    if rng.random() < 0.3:
        whole = damaged([whole], rng)
    return whole if suffix == ".zip" else gzip.compress(whole, 1)


def _name(rng: Random) -> str:
    return rng.choice(
        (
            "a.jsonl",
            "b/a.jsonl",
            "../a.jsonl",
            "/a.jsonl",
            "é.jsonl",
            "x" * 300 + ".jsonl",
            "a",
            "a.jsonl/b.jsonl",
            "._a.jsonl",
        )
    )
