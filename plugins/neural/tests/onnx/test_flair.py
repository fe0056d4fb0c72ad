"""Flair's Bi-LSTM in ONNX Runtime: the same scores as in PyTorch, and what reads its inputs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import PluginError
from deid_assets.core.note import Note
from deid_assets.core.span import DisjointSpans
from deid_assets.core.tagging import TagScheme
from deid_assets.core.trainer import Document, Task, label_inventory
from deid_assets.testing import CONTRACT_TEXTS, check_detector, parse_marked
from deid_onnx import OnnxDetector
from deid_onnx.families.flair import (
    Characters,
    CharacterStates,
    Letters,
    StackReader,
    VectorTable,
    buckets,
)

LINES = st.lists(
    st.lists(st.text("abßŁ😀", min_size=1, max_size=5), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)
EMBEDDINGS = [
    {"kind": "word", "train": True, "width": 8, "buckets": 50, "epochs": 1},
    {
        "kind": "flair",
        "train": True,
        "hidden": 8,
        "layers": 2,
        "width": 4,
        "epochs": 1,
        "batch_size": 2,
        "sequence_length": 20,
    },
    {"kind": "character", "hidden": 4, "width": 4},
    {"kind": "onehot", "width": 4, "min_count": 1},
    {"kind": "bpemb", "train": True, "vocabulary": 40, "width": 4, "epochs": 1},
]


def exported(folder: Path, **given: object) -> tuple[Path, Path]:
    deid_flair = pytest.importorskip("deid_flair")
    documents = []
    for number, name in enumerate(("Lee", "Ito", "Berg", "Cruz") * 5):
        note, spans = parse_marked(
            f"Seen by Dr. <NAME>Ana {name}</NAME>.\nWalks on day {number}.\n", note_id=f"n{number}"
        )
        documents.append(Document(note, DisjointSpans(note.note_id, note.digest, spans.spans)))
    trainer = deid_flair.FlairTrainer()
    settings = {
        "embeddings": EMBEDDINGS,
        "hidden": 8,
        "layers": 2,
        "max_epochs": 12,
        "optimizer": "adamw",
        "learning_rate": 0.03,
        "threads": 1,
        **given,
    }
    task = Task(
        phases=[documents],
        dev=[],
        labels=label_inventory(documents, native=False),
        native=False,
        scheme=TagScheme.BIO,
        grouping=1,
        seed=1,
        settings=trainer.settings(settings),
    )
    (folder / "model").mkdir()
    trainer.train(task, folder / "model", lambda _epoch: None)
    trainer.export(folder / "model", folder / "onnx")
    return folder / "model", folder / "onnx"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return exported(tmp_path_factory.mktemp("flair"))


def difference(model: Path, onnx: Path, precision: str) -> tuple[float, float]:
    """Return the largest difference of a score, and the share of tokens with another best tag."""
    from deid_flair import FlairDetector

    ours = OnnxDetector(model=onnx, precision=precision, threads=1).tagger
    theirs = FlairDetector(model=model, threads=1).tagger
    worst, other = 0.0, []
    for number, text in enumerate([*CONTRACT_TEXTS, "Seen by Dr. Ana Itö.\nDay 3", "x" * 3_000]):
        parts = ours.inputs(Note(f"n{number}", text))
        for a, b in zip(
            ours.network.emissions(parts), theirs.network.emissions(parts), strict=True
        ):
            worst = max(worst, float(np.abs(a - b).max()))
            other.append(a.argmax(1) != b.argmax(1))
    return worst, float(np.concatenate(other).mean())


@pytest.mark.parametrize(
    ("precision", "bound", "share"), [("fp32", 1e-4, 0.0), ("fp16", 0.05, 0.01), ("int8", 2, 0.1)]
)
def test_the_scores_are_those_of_pytorch(folders, precision, bound, share) -> None:
    worst, other = difference(*folders, precision)

    assert worst < bound
    assert other <= share


def test_fp16_computes_in_16_bits(folders) -> None:
    graph = onnx.load(folders[1] / "model.fp16.onnx").graph
    half = {
        weight.name for weight in graph.initializer if weight.data_type == onnx.TensorProto.FLOAT16
    }
    lstms = [node for node in graph.node if node.op_type == "LSTM"]
    widened = [
        node
        for node in graph.node
        if node.op_type == "Cast" and node.attribute[0].i == onnx.TensorProto.FLOAT
    ]

    assert lstms
    assert all(set(node.input[1:4]) <= half for node in lstms)
    assert [node.output[0] for node in widened] == [output.name for output in graph.output]


@pytest.mark.parametrize(
    "given", [{"encoder": "linear"}, {"decoder": "softmax"}, {"reproject": False}]
)
def test_every_ablation_is_exported(tmp_path, given) -> None:
    model, onnx = exported(tmp_path, **given, embeddings=EMBEDDINGS[1:3], max_epochs=1)

    assert difference(model, onnx, "fp32")[0] < 1e-4


def test_the_spans_are_those_of_pytorch(folders) -> None:
    from deid_flair import FlairDetector

    model, onnx = folders
    texts = [*CONTRACT_TEXTS, "Seen by Dr. Ana Berg.\nWalks on day 3.\n" * 9]
    notes = [Note(f"n{number}", text) for number, text in enumerate(texts)]

    theirs = [
        spans.spans for spans in FlairDetector(model=model, name="onnx", threads=1).detect(notes)
    ]
    ours = [spans.spans for spans in OnnxDetector(model=onnx, threads=1).detect(notes)]

    assert [[(span.start, span.end, span.label) for span in spans] for spans in ours] == [
        [(span.start, span.end, span.label) for span in spans] for spans in theirs
    ]
    assert any(ours)


def test_the_detector_keeps_the_contract(folders) -> None:
    check_detector(OnnxDetector(model=folders[1], threads=1))


def test_detection_loads_no_torch(folders) -> None:
    script = f"""
        import sys
        from deid_assets.core.note import Note
        from deid_onnx import OnnxDetector
        detector = OnnxDetector(model={str(folders[1])!r}, threads=1)
        assert [len(spans) for spans in detector.detect([Note("n", "Seen by Dr. Ana Lee.")])] == [1]
        print(sorted({{"torch", "flair", "gensim", "sentencepiece", "onnx"}} & set(sys.modules)))
    """

    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )

    assert found.stdout == "[]\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embeddings": [{"kind": "elmo"}]}, "kind 'elmo' cannot be read without PyTorch"),
        ({"embeddings": [{"kind": "word"}]}, "KeyError: 'buckets'"),
        ({"longest": "many"}, "ValueError"),
    ],
)
def test_a_broken_folder_is_one_clear_line(folders, tmp_path, changes, message) -> None:
    folder = Path(shutil.copytree(folders[1], tmp_path / "onnx"))
    described = json.loads((folder / "tagger.json").read_text())
    (folder / "tagger.json").write_text(json.dumps(described | changes))

    with pytest.raises(PluginError, match=message) as caught:
        OnnxDetector(model=folder)

    assert "\n" not in str(caught.value)


@given(LINES, st.booleans())
def test_states_are_read_where_a_token_ends_or_begins(lines, backward) -> None:
    items = ["<unk>", "\n", " ", "a", "b", "ß", "Ł"]
    feeds = CharacterStates(Characters(items), backward).feeds(lines, [])
    chars = [[items[number] for number in column] for column in feeds["chars"].T]

    for number, line in enumerate(lines):
        for at, token in enumerate(line):
            step, row = divmod(int(feeds["at"][number, at]), len(lines))
            read = "".join(chars[row][: step + 1]).replace("<unk>", "?")
            known = token.replace("😀", "?")
            assert row == number
            # the blank after the token, or before it when read from behind
            assert chars[row][step] == " "
            assert read[:-1].endswith(known[::-1] if backward else known)
            rest = line[at:] if backward else line[: at + 1]
            expected = " ".join(rest).replace("😀", "?")
            assert read == "\n" + (expected[::-1] if backward else expected) + " "


@given(LINES)
def test_words_are_numbered_once_and_their_letters_kept(lines) -> None:
    items = ["<unk>", "a", "b", "ß", "Ł", "😀"]
    feeds = StackReader([Letters(Characters(items)), VectorTable({"a": 0, "ab": 1})]).feeds(lines)
    spelt = [
        "".join(items[number] for number in column[:size])
        for column, size in zip(feeds["chars_0"].T, feeds["sizes_0"], strict=True)
    ]

    assert [
        [spelt[word] for word in row[: len(line)]]
        for row, line in zip(feeds["words"], lines, strict=True)
    ] == lines
    assert len(spelt) == len(set(spelt))
    assert [int(size) for size in feeds["lengths"]] == [len(line) for line in lines]
    assert {
        spelt[at]: int(row) for at, (row,) in enumerate(feeds["rows_1"]) if row < 2
    }.items() <= {
        "a": 0,
        "ab": 1,
    }.items()


@given(LINES, st.integers(1, 3), st.integers(1, 60))
def test_batches_hold_every_input_once_within_their_bounds(lines, most, characters) -> None:
    batches = buckets(lines, most=most, characters=characters)
    size = [sum(map(len, line)) + len(line) for line in lines]

    assert sorted(number for batch in batches for number in batch) == list(range(len(lines)))
    assert all(len(batch) <= most for batch in batches)
    assert all(
        len(batch) == 1 or max(size[at] for at in batch) * len(batch) <= characters
        for batch in batches
    )


@pytest.mark.long
def test_a_result_depends_on_no_other_note_nor_on_the_cores(folders) -> None:
    texts = [
        *CONTRACT_TEXTS,
        *(f"Seen by Dr. Ana Berg.\nWalks on day {day}.\n" * day for day in range(1, 9)),
    ]
    notes = [Note(f"n{number}", text) for number, text in enumerate(texts)]

    for precision in ("fp32", "int8"):
        one, two = (
            OnnxDetector(model=folders[1], precision=precision, threads=count) for count in (1, 2)
        )
        together = list(one.detect(notes))

        assert together == [next(iter(one.detect([note]))) for note in notes]
        assert together == list(two.detect(list(reversed(notes))))[::-1]


def test_a_score_is_the_same_to_the_last_bit_in_any_batch(folders) -> None:
    tagger = OnnxDetector(model=folders[1], threads=1).tagger
    inputs = [
        part
        for text in ["Ana Lee. " * size for size in range(1, 40, 3)]
        for part in tagger.inputs(Note("n", text))
    ]

    for part, rows in zip(inputs, tagger.network.emissions(inputs), strict=True):
        assert np.array_equal(rows, tagger.network.emissions([part])[0])
