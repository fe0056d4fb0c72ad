"""Lets atheris grow inputs that reach new code of the readers, for as long as it is told.

A program, not a test.

    python tests/fuzz/readers.py --seconds 3600 [--format rtf]    # after: pip install atheris

``tests/security/test_damaged_files.py`` damages golden files at random. What a reader may not do
ends this program, and the input is left in the folder ``findings`` beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from fuzzing.reading import golden, reading

from deid_assets.formats import FORMATS

FINDINGS = Path(__file__).with_name("findings")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--format", action="append", choices=sorted(FORMATS), dest="formats")
    options = parser.parse_args()
    names = [name for name in options.formats or sorted(FORMATS) if golden(name)]
    import atheris

    with atheris.instrument_imports(
        include=["deid_assets.formats", "deid_clinical_formats", "deid_document_formats"],
        enable_loader_override=False,
    ):
        for name in names:
            FORMATS[name].reader  # noqa: B018 - loads the reader
    FINDINGS.mkdir(exist_ok=True)
    with ExitStack() as places, tempfile.TemporaryDirectory() as corpus:
        rows = [places.enter_context(reading(name, golden(name)[0].suffix)) for name in names]
        for number, row in enumerate(rows):
            for path in golden(row.name):
                content = bytes([number]) + path.read_bytes()
                Path(corpus, hashlib.sha256(content).hexdigest()).write_bytes(content)

        def one(data: bytes) -> None:
            """Read an input; its first byte chooses the format."""
            if data:
                rows[data[0] % len(rows)].outcome(data[1:])

        arguments = [
            f"-max_total_time={options.seconds}",
            f"-artifact_prefix={FINDINGS}/",
            "-max_len=20000",
        ]
        atheris.Setup(
            [sys.argv[0], corpus, *arguments, "-print_final_stats=1"],
            one,
            enable_python_coverage=True,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
