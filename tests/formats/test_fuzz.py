"""No bytes make a reader raise: what cannot be read is a fault.

And CSV means what Python's writer meant.
"""

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deid_assets.formats import Annotated, Fault, read_notes, read_spans

DATA = Path(__file__).parent / "data"
SEEDS = {
    ".jsonl": "notes.jsonl",
    ".csv": "notes.csv",
    ".xml": "i2b2/a1.xml",
    ".txt": "txt/a1.txt",
    ".ann": "brat/a1.ann",
    ".conll": "notes.conll",
}
FAST = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def damaged(draw, seed):
    """A golden file with a piece cut out and another put in."""
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 40)))
    added = st.binary(max_size=8) | st.sampled_from(
        [b'"', b"\n", b"\r", b"\0", b"{", b"]", b"NaN", b"-1", b"<", b"&", b"\xef\xbb\xbf"]
    )
    return seed[:start] + draw(added) + seed[end:]


def kinds(path):
    found = list(read_notes(path))
    assert all(isinstance(entry, Annotated | Fault) for entry in found)
    assert found, "nothing came of a file: neither a note nor a fault"
    for fault in (entry for entry in found if isinstance(entry, Fault)):
        assert fault.message.isprintable()
        assert "Ann Le" not in fault.message
    return found


@pytest.mark.parametrize("suffix", SEEDS)
def test_damaged_files_give_notes_or_faults(suffix):
    seed = (DATA / SEEDS[suffix]).read_bytes()

    @FAST
    @given(content=damaged(seed))
    def reads(content):
        with tempfile.TemporaryDirectory() as folder:
            if suffix == ".ann":
                Path(folder, "a1.txt").write_bytes((DATA / "brat" / "a1.txt").read_bytes())
            Path(folder, f"a1{suffix}").write_bytes(content)
            kinds(Path(folder))

    reads()


@FAST
@given(content=damaged((DATA / "spans.jsonl").read_bytes()))
def test_damaged_spans_files_give_spans_or_faults(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(content)
        assert list(read_spans(path))


@FAST
@given(
    texts=st.lists(
        st.text(st.sampled_from('ab",;\r\n é\0'), max_size=6).filter(bool), min_size=1, max_size=4
    )
)
def test_rows_of_pythons_csv_writer_are_read_the_same(texts):
    rows = io.StringIO(newline="")
    writer = csv.writer(rows)
    writer.writerow(["id", "text"])
    writer.writerows((f"n{number}", text) for number, text in enumerate(texts))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.csv")
        path.write_bytes(rows.getvalue().encode())
        assert [annotated.note.text for annotated in read_notes(path)] == texts
