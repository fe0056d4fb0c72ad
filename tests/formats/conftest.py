"""Notes that every format has to carry, and short ways to read and write."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deid_assets import plugins
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import Annotated, Fault, ReadOptions, read_notes
from deid_assets.formats.catalogue import load_installed

DATA = Path(__file__).parent / "data"


@pytest.fixture
def golden() -> Path:
    """The folder of golden files."""
    return DATA


@pytest.fixture
def golden_notes() -> list[Annotated]:
    """What the golden files hold: CRLF, CR, tab, combining and astral characters.

    Spans, no spans, no annotation.
    """
    first = Note(
        "a1",
        'Seen by "Dr." Ann Le\u0301e,\r\nward\t7, 3 May 2021.\rMRN <44>&]]>;'
        " \U0001f468\u200d\u2695\ufe0f Bo\n",
    )
    start = first.text.index("Ann")
    spans = [
        Span(start, start + 8, Phi.NAME),
        Span(first.text.index("3 May"), first.text.index("3 May") + 10, Phi.DATE),
        Span(first.text.index("Bo"), first.text.index("Bo") + 2, Phi.NAME),
    ]
    second, third = (
        Note("a2", "No finding, \u00a0none."),
        Note("b/c d", "\ufeffnot annotated\u2028"),
    )
    return [
        Annotated(first, SpanSet.of(first, spans)),
        Annotated(second, SpanSet.of(second, [])),
        Annotated(third),
    ]


@pytest.fixture
def faults_of(tmp_path: Path) -> Callable[..., list[Fault]]:
    """Write one file, read it, and return the faults; no note may come with them."""

    def read(name: str, content: bytes | str, **options: Any) -> list[Fault]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        found = list(read_notes(path, options=ReadOptions(**options)))
        assert all(isinstance(entry, Fault) for entry in found), "a broken note was yielded"
        return [entry for entry in found if isinstance(entry, Fault)]

    return read


DECLARATION = """
from deid_assets.extending.formats import Format

FORMAT = Format(
    "@NAME@", (".@NAME@",), "deid_@NAME@.files", is_folder=True, keeps=frozenset({"patient_id"})
)
"""
FILES = '''
"""Plain text with a patient in front."""

from deid_assets.extending import InputError
from deid_assets.extending.formats import ParsedNote, Fault, atomic_folder, read_bytes, write_member


def read(source, options):
    blob = read_bytes(source, max_bytes=options.max_note_chars * 4)
    if isinstance(blob, Fault):
        yield blob
        return
    text = blob.decode(errors="replace")
    patient, bar, text = text.partition("|")
    if bar and "\\ufffd" not in text:
        yield ParsedNote(source.name, source.note_id, text, patient_id=patient)
    else:
        yield source.fault("malformed", "has no patient; add one")


def write(path, notes, options):
    with atomic_folder(path) as folder:
        for annotated in notes:
            note = annotated.note
            write_member(folder, note.note_id, ".@NAME@", f"{note.patient_id or ''}|{note.text}")
'''


@pytest.fixture
def add(tmp_path, monkeypatch):
    """Lay a distribution with one format out in a folder on the path, as pip would."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    load_installed.cache_clear()

    def lay_out(name, *, declaration=DECLARATION, entry=None, files=FILES):
        package, info = site / f"deid_{name}", site / f"deid_{name}-1.0.dist-info"
        package.mkdir()
        (package / "__init__.py").write_text(declaration.replace("@NAME@", name))
        (package / "files.py").write_text(files.replace("@NAME@", name))
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: deid_{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[{plugins.FORMATS}]\n{entry or name} = deid_{name}:FORMAT\n"
        )

    lay_out.files = FILES
    yield lay_out
    load_installed.cache_clear()
    for name in [name for name in sys.modules if name.startswith(("deid_shout", "deid_broken"))]:
        del sys.modules[name]
