"""Feeds broken files to every reader of notes for as long as it is told; a program, not a test.

python tests/fuzz/readers.py --engine hypothesis --seconds 3600
python tests/fuzz/readers.py --engine atheris --seconds 3600 [--format docx] [--jobs 1]

Hypothesis cuts pieces out of the golden files and puts others in; atheris (``pip install atheris``) grows inputs that
reach new code. A reader answers with notes and faults, or says with InputError that it takes none of it; whatever else
it raises, or an answer that takes longer than ``SLOW_S``, is written into the folder ``findings`` beside this file.
What was found and mended becomes a test.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
import traceback
from itertools import cycle
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.formats import FORMATS, Annotated, Fault, read_notes

ROOT = Path(__file__).parents[2]
DATA = (ROOT / "tests" / "formats" / "data", *sorted(ROOT.glob("plugins/*_formats/tests/data")))
FINDINGS = Path(__file__).with_name("findings")
SHARED_MEMORY = Path("/dev/shm")
SLOW_S = 30.0
"""Seconds by the clock; a PDF starts a process, which takes its time on a busy machine."""
EXAMPLES = 500
PIECES = [b'"', b"\n", b"\r", b"\0", b"{", b"]", b"NaN", b"-1", b"<", b"&", b"\xef\xbb\xbf", b"\xff\xfe", b"\\", b"}"]


def golden(name: str) -> list[Path]:
    """The golden files of a format."""
    chosen = FORMATS[name]
    beside = [path for folder in DATA for path in (folder / name).rglob("*") if path.is_file()]
    return [path for path in (*beside, *DATA[0].glob("notes.*")) if path.suffix.lower() in chosen.suffixes]


def read(name: str, suffix: str, content: bytes) -> None:
    """Read a file as a format; what a reader may not do raises.

    Raises:
        AssertionError: The answer is no note and no fault, or shows text, or took too long.
    """
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None) as folder:
        path = Path(folder, f"a1{suffix}")
        path.write_bytes(content)
        started = time.monotonic()
        try:
            found = list(read_notes(Path(folder), format=name))
        except InputError:
            return
        assert time.monotonic() - started < SLOW_S, "slow"
        assert all(isinstance(entry, Annotated | Fault) for entry in found)
        assert found, "neither a note nor a fault"
        assert all(entry.message.isprintable() for entry in found if isinstance(entry, Fault))


def checked(name: str, suffix: str, content: bytes) -> bool:
    """Read a file; write it down and return false where the reader fails."""
    try:
        read(name, suffix, content)
    except Exception as error:  # noqa: BLE001 - any is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}-{place.lineno}"
        finding = FINDINGS / f"{name}-{type(error).__name__}-{where}{suffix}"
        if not finding.exists():
            FINDINGS.mkdir(exist_ok=True)
            finding.write_bytes(content)
            print(f"finding: {finding.name}", flush=True)
        return False
    return True


@st.composite
def damaged(draw: st.DrawFn, original: bytes) -> bytes:
    """A golden file with up to four pieces cut out and others put in."""
    content = original
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 60)))
        content = content[:start] + draw(st.binary(max_size=8) | st.sampled_from(PIECES)) + content[end:]
    return content


def by_hypothesis(names: list[str], seconds: float) -> int:
    """Damage golden files until the time is over; return the number of files read."""
    until, count, rng = time.monotonic() + seconds, 0, Random(1)
    for name, path in cycle([(each, path) for each in names for path in golden(each)]):
        if time.monotonic() > until:
            break
        damage(name, path, rng.randrange(2**32))
        count += EXAMPLES
    return count


def damage(name: str, path: Path, number: int) -> None:
    """Read ``EXAMPLES`` damaged copies of a golden file."""
    limits = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seed(number)
    @limits
    @given(content=damaged(path.read_bytes()))
    def reads(content: bytes) -> None:
        checked(name, path.suffix, content)

    reads()


def by_atheris(names: list[str], seconds: float) -> int:
    """Let atheris grow inputs until the time is over; the first byte chooses the format."""
    import atheris

    with atheris.instrument_imports(
        include=["deid_assets.formats", "deid_clinical_formats", "deid_document_formats"], enable_loader_override=False
    ):
        for name in names:
            FORMATS[name].reader  # noqa: B018 - loads the reader
    kinds = [(name, suffix) for name in names for suffix in FORMATS[name].suffixes[:1]]

    def one(data: bytes) -> None:
        if data:
            name, suffix = kinds[data[0] % len(kinds)]
            checked(name, suffix, data[1:])

    with tempfile.TemporaryDirectory() as corpus:
        for number, (name, _) in enumerate(kinds):
            for path in golden(name):
                content = bytes([number]) + path.read_bytes()
                Path(corpus, hashlib.sha256(content).hexdigest()).write_bytes(content)
        arguments = [
            sys.argv[0],
            corpus,
            f"-max_total_time={int(seconds)}",
            f"-artifact_prefix={corpus}/",
            "-max_len=20000",
            "-print_final_stats=1",
        ]
        atheris.Setup(arguments, one, enable_python_coverage=True)
        atheris.Fuzz()
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("hypothesis", "atheris"), default="hypothesis")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--format", action="append", choices=sorted(FORMATS), dest="formats")
    options = parser.parse_args()
    names = [name for name in options.formats or sorted(FORMATS) if golden(name)]
    os.environ["TMPDIR"] = tempfile.gettempdir()
    run = by_hypothesis if options.engine == "hypothesis" else by_atheris
    count = run(names, options.seconds)
    print(f"{count:,} files read in {', '.join(names)}; findings: {len(list(FINDINGS.glob('*')))}")


if __name__ == "__main__":
    main()
