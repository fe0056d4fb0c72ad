import json

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.quickstart.sample import write_sample


def _bytes(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.jsonl"))
    }


def test_the_sample_is_written_as_batches_of_files(tmp_path):
    written = write_sample(tmp_path, notes=230, seed=4)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == sorted(_bytes(tmp_path))
    assert {path.parent.name for path in written} == {"en-0000", "en-0001", "es-0000", "es-0001"}
    lines = [
        json.loads(line)
        for path in written
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]
    ]
    assert len(lines) == 230
    assert len({line["id"] for line in lines}) == 230


def test_the_gold_of_the_sample_fits_its_texts(tmp_path):
    for path in write_sample(tmp_path, notes=20, seed=4):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            record = json.loads(line)
            note = Note(
                record["id"], record["text"], patient_id=record["patient_id"], lang=record["lang"]
            )
            spans = [Span(s["start"], s["end"], Phi(s["label"])) for s in record["spans"]]
            DisjointSpans.of(note, spans)


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    write_sample(tmp_path / "a", notes=12, seed=9)
    write_sample(tmp_path / "b", notes=12, seed=9)
    write_sample(tmp_path / "c", notes=12, seed=10)
    assert _bytes(tmp_path / "a") == _bytes(tmp_path / "b")
    assert _bytes(tmp_path / "a") != _bytes(tmp_path / "c")
