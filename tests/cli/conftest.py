"""The command run in this process, detectors installed for one test, and a corpus whose words never
may be printed.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app

CANARIES = ("Quillfeather", "Zyxwick", "1999-12-31", "rheumatoid")
"""Words of the notes: names, a date, and text that is no PHI."""

DETECTOR = """
import os
import re

from deid_assets import Phi, Span, SpanSet

WORDS = {
    "xnames": ("Quillfeather|Zyxwick", Phi.NAME),
    "xdates": (r"\\d{4}-\\d\\d-\\d\\d|Zyxwick", Phi.DATE),
}


class Detector:
    name = "@"
    version = "1"
    labels = frozenset({WORDS["@"][1]})

    def __init__(self, *, words: str = WORDS["@"][0], model: str = "") -> None:
        self.words = re.compile(words)

    def detect(self, notes):
        for note in notes:
            if "EXPLODE" in note.text:
                raise RuntimeError(note.text)
            if "DIE" in note.text:
                os._exit(9)
            label, = self.labels
            places = (match.span() for match in self.words.finditer(note.text))
            yield SpanSet.of(note, [Span(*place, label, 0.9, self.name) for place in places])
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def deid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run ``deid`` in an empty folder with two small detectors installed.

    No run may print a word of a note.
    """
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.delenv("DEID_KEY", raising=False)
    monkeypatch.delenv("DEID_DEBUG", raising=False)
    monkeypatch.syspath_prepend(site)
    for name in ("xnames", "xdates"):
        install(site, name)

    def run(*arguments: str | Path) -> Ran:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        printed = [
            line
            for line in (result.stdout + result.stderr).splitlines()
            if any(c in line for c in CANARIES)
        ]
        assert not printed, "a word of a note was printed"
        return Ran(result.exit_code, result.stdout, result.stderr)

    yield run
    for name in [name for name in sys.modules if name.startswith("deid_x")]:
        del sys.modules[name]


def install(site: Path, name: str) -> None:
    """Put a detector on disk as an installed distribution."""
    package, info = site / f"deid_{name}", site / f"deid_{name}-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(DETECTOR.replace("@", name))
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: deid_{name}\nVersion: 1.0\nSummary: For tests\n"
    )
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = deid_{name}:Detector\n")


NOTES: tuple[dict[str, Any], ...] = (
    {
        "id": "a",
        "text": "Quillfeather came on 1999-12-31 with rheumatoid pain.",
        "lang": "en",
        "patient_id": "p7",
        "meta": {"ward": "3"},
    },
    {"id": "b", "text": "No rheumatoid signs.", "lang": "en"},
    {
        "id": "c",
        "text": "Seen by Zyxwick.\r\nThen Quillfeather left.",
        "lang": "en",
        "patient_id": "p7",
    },
)


@pytest.fixture
def three() -> tuple[dict[str, Any], ...]:
    """The records of three notes, two of them with names."""
    return NOTES


@pytest.fixture
def write() -> Callable[..., Path]:
    """Write records as JSON Lines."""

    def write_lines(path: str | Path, *records: dict[str, Any]) -> Path:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write_lines


@pytest.fixture
def notes(deid: Callable[..., Ran], write: Callable[..., Path]) -> Path:
    """Three notes without annotation, in the folder of the run."""
    return write("notes.jsonl", *NOTES)


@pytest.fixture
def records() -> Callable[[str | Path], list[dict[str, Any]]]:
    """Read the records of a JSON Lines file."""
    return lambda path: [
        json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()
    ]
