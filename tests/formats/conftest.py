"""Notes that every format has to carry, and short ways to read and write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import Annotated, Fault, ReadOptions, read_notes

DATA = Path(__file__).parent / "data"


@pytest.fixture
def golden() -> Path:
    """The folder of golden files."""
    return DATA


@pytest.fixture
def golden_notes() -> list[Annotated]:
    """What the golden files hold: CRLF, CR, tab, combining and astral characters; spans, no spans, no annotation."""
    first = Note(
        "a1", 'Seen by "Dr." Ann Le\u0301e,\r\nward\t7, 3 May 2021.\rMRN <44>&]]>; \U0001f468\u200d\u2695\ufe0f Bo\n'
    )
    start = first.text.index("Ann")
    spans = [
        Span(start, start + 8, Phi.NAME),
        Span(first.text.index("3 May"), first.text.index("3 May") + 10, Phi.DATE),
        Span(first.text.index("Bo"), first.text.index("Bo") + 2, Phi.NAME),
    ]
    second, third = Note("a2", "No finding, \u00a0none."), Note("b/c d", "\ufeffnot annotated\u2028")
    return [Annotated(first, SpanSet.of(first, spans)), Annotated(second, SpanSet.of(second, [])), Annotated(third)]


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
