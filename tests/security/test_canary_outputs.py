"""What audits, exports and calibrations write of notes whose every value is a canary.

Watched: the console, all logs, and every file that a command writes, in all spellings. A command
that is meant to write notes, such as ``deid privacy plant``, is watched on its console alone.
"""

from __future__ import annotations

import base64
import json
import logging
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deid_assets.cli import app

pytestmark = pytest.mark.long

KEY = "5a" * 32
NOTES = 48
"""Of each set, two of a patient: audits of models want 20 patients a side."""
CONDITIONS = ("narcolepsy", "acromegaly", "porphyria", "scleroderma", "dystonia", "vasculitis")
SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
CRF = """\
name = "ward"
plugin = "crf"
[settings]
max_iterations = 20
predictions_of = ""
"""
NETWORK = """\
name = "ward"
plugin = "transformers"
[settings]
window = 48
epochs = 40
patience = 8
collapse_after = 30
batch = 4
learning_rate = 5e-3
threads = 1
new = { layers = 1, hidden = 32, heads = 2, positions = 64, vocabulary = 300, dropout = 0 }
"""
CAUSAL = """\
name = "tiny"
plugin = "causal"
[settings]
epochs = 4
batch = 16
length = 48
learning_rate = 8e-3
threads = 1
new = { layers = 1, width = 32, heads = 2, feed_forward = 64, vocabulary = 400, context = 64 }
"""
FACTS = """\
[model]
name = "ward"
made_from = ["notes"]
folder = "FOLDER"
[[sources]]
name = "notes"
tier = "synthetic"
notes = "training.jsonl"
[rules]
waived = { canaries = "no secrets were planted" }
checklist = ["GDPR"]
"""


@dataclass
class Canaries:
    """Notes, and every value in them that may stand nowhere else.

    Args:
        folder: Where the notes lie.
        values: Canaries, each of one note's or one patient's own.
    """

    folder: Path
    values: set[str] = field(default_factory=set)

    def write(self, name: str, seed: int) -> None:
        """Write a set of annotated notes as JSON Lines."""
        rng = random.Random(seed)
        lines = [json.dumps(self._note(rng, seed, number)) for number in range(NOTES)]
        (self.folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def _note(self, rng: random.Random, seed: int, number: int) -> dict[str, Any]:
        first, last, word = (self._word(rng) for _ in range(3))
        record = self._own(str(rng.randrange(10**9, 10**10)))
        parts = (
            ("Patient ", ""),
            (f"{first} {last}", "NAME"),
            (" has record ", ""),
            (record, "MRN"),
            (f" and {rng.choice(CONDITIONS)}. Told of {word.lower()} on ", ""),
            (f"{rng.randint(1, 28)} May 2021", "DATE"),
            (".", ""),
        )
        text, spans = "", []
        for part, label in parts:
            if label:
                spans.append({"start": len(text), "end": len(text) + len(part), "label": label})
            text += part
        patient = self._own(f"canarypatient{seed}x{number // 2}")
        return {
            "id": f"n{seed}-{number}",
            "lang": "en",
            "text": text,
            "patient_id": patient,
            "spans": spans,
        }

    def _word(self, rng: random.Random) -> str:
        return self._own("".join(rng.choices(SYLLABLES, k=5)).capitalize())

    def _own(self, value: str) -> str:
        self.values.add(value)
        return value

    def found_in(self, content: bytes) -> set[str]:
        """Return the canaries in some bytes, in any spelling."""
        told = {spelling: value for value in self.values for spelling in _spellings(value)}
        pattern = re.compile(b"|".join(re.escape(one) for one in told))
        return {told[one] for one in set(pattern.findall(content))}


def _spellings(value: str) -> Iterator[bytes]:
    plain = value.encode()
    yield from (plain, value.lower().encode(), value.upper().encode(), plain.hex().encode())
    yield from (value.encode(f"utf-16-{order}") for order in ("le", "be"))
    yield from (
        base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4] for shift in range(3)
    )


@dataclass
class Watched:
    """Commands whose outputs are searched.

    Args:
        canaries: What is searched for.
        capfd: Of the test: what the process writes, by file descriptor.
        count: Counts a try by what came of it.
        kept: Files that were there before a command, by time and size.
        said: What the last command printed.
    """

    canaries: Canaries
    capfd: pytest.CaptureFixture[str]
    count: Callable[[str], None]
    kept: set[tuple[Path, int, int]] = field(default_factory=set)
    said: str = ""

    def __call__(self, *arguments: str, holds_text: Sequence[str] = ()) -> int:
        """Run a command, and search what it printed and wrote.

        Args:
            arguments: Of ``deid``.
            holds_text: Beginnings of names of files that are meant to hold words of notes.

        Returns:
            The exit code.
        """
        self.kept = set(self._files())
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(list(arguments))
        printed = "".join(self.capfd.readouterr())
        assert "Traceback" not in printed, arguments
        assert "inside deid" not in printed, (arguments, printed)
        assert self.canaries.found_in(printed.encode()) == set(), ("console", arguments)
        self.said = printed
        self.count("consoles without a canary")
        for one in set(self._files()) - self.kept:
            path = one[0]
            if path.name.startswith(tuple(holds_text)):
                continue
            content = path.name.encode() + b"\n" + path.read_bytes()
            assert self.canaries.found_in(content) == set(), (path.name, arguments)
            self.count("files without a canary")
        return int(ended.value.code or 0)

    def _files(self) -> Iterator[tuple[Path, int, int]]:
        for path in self.canaries.folder.rglob("*"):
            if path.is_file():
                yield path, path.stat().st_mtime_ns, path.stat().st_size


@pytest.fixture
def canaries(tmp_path, monkeypatch):
    """Four sets of notes in the working directory, with the key set and all logging on."""
    made = Canaries(tmp_path)
    for seed, name in enumerate(("training", "held_out", "calibration", "dev"), 1):
        made.write(name, seed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEID_KEY", KEY)
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DEID_DEBUG", raising=False)
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    yield made
    logging.getLogger().setLevel(before)


@pytest.fixture
def watched(canaries, capfd, campaign):
    """Commands whose outputs are searched for the canaries."""
    return Watched(canaries, capfd, campaign.count)


def _damaged(folder: Path) -> Iterator[str]:
    """Write sets of notes that cannot be read whole, and yield their names."""
    lines = (folder / "training.jsonl").read_text(encoding="utf-8").splitlines()
    note = json.loads(lines[0])
    text, patient = note["text"], note["patient_id"]
    wrong: dict[str, Any] = {
        "label": {**note, "spans": [{"start": 0, "end": 3, "label": text}]},
        "offset": {**note, "spans": [{"start": 0, "end": len(text) + 9, "label": "NAME"}]},
        "type": {**note, "text": [text]},
        "language": {**note, "lang": text},
        "key": {**note, text: patient},
        "spans": {**note, "spans": {text: patient}},
    }
    for name, broken in wrong.items():
        path = folder / f"damaged-{name}.jsonl"
        path.write_text("\n".join([json.dumps(broken), *lines[1:]]), encoding="utf-8")
        yield path.name
    (folder / "damaged-line.jsonl").write_text("\n".join([lines[0][:-9], *lines[1:]]))
    yield "damaged-line.jsonl"


MODEL = ("--training", "training.jsonl", "--held-out", "held_out.jsonl")
MODEL += ("--calibration", "calibration.jsonl")
RELEASE = ("privacy", "run", "hips", "residue", "reidentification")


def test_no_output_of_an_audit_holds_a_canary_campaign(watched, canaries, campaign):
    pytest.importorskip("deid_audits")
    pytest.importorskip("deid_crf")
    damaged = list(_damaged(canaries.folder))
    given = ("--notes", "training.jsonl", "--policy", "tag", "--policy", "surrogate")
    watched("detect", "training.jsonl", "--detector", "rules", "--out", "found.jsonl")
    watched("privacy", "list", "--json")
    watched(*RELEASE, *given, "--spans", "found.jsonl", "--out", "release")
    watched("privacy", "report", "release", "--out", "release.html", "--json")
    (canaries.folder / "empty").mkdir()
    for name in campaign.numbers(2, len(damaged)):
        watched(
            "privacy",
            "run",
            "hips",
            "--notes",
            damaged[name],
            "--policy",
            "tag",
            "--out",
            f"of-{name}",
        )
        watched(
            "privacy",
            "run",
            "membership",
            "--model",
            "empty",
            "--training",
            damaged[name],
            *MODEL[2:],
            "--out",
            f"of-model-{name}",
        )
    if campaign.is_whole:
        _audit_tagger(watched, canaries.folder)
        _audit_language_model(watched, canaries.folder)


def _audit_tagger(watched: Watched, folder: Path) -> None:
    (folder / "crf.toml").write_text(CRF)
    (folder / "facts.toml").write_text(FACTS.replace("FOLDER", "tagger"))
    watched(
        "train",
        "crf.toml",
        "--train",
        "training.jsonl",
        "--dev",
        "dev.jsonl",
        "--out",
        "tagger",
        holds_text=["attributes.txt"],
    )
    audited = ("privacy", "run", "--model", "tagger", *MODEL, "--notes", "training.jsonl")
    watched(*audited, "--policy", "tag", "--out", "of-tagger")
    watched(*audited, "--policy", "tag", "--out", "of-tagger")
    watched("privacy", "report", "of-tagger", "--facts", "facts.toml", "--out", "t.html", "--json")
    watched("privacy", "site", "one", "dev.jsonl", "site.log", "--model", "tagger")
    watched("privacy", "site", "two", "dev.jsonl", "site.log", "--spans", "found.jsonl")
    watched("privacy", "leaderboard", "site.log")


def _audit_language_model(watched: Watched, folder: Path) -> None:
    pytest.importorskip("deid_causal")
    (folder / "causal.toml").write_text(CAUSAL)
    (folder / "facts.toml").write_text(FACTS.replace("FOLDER", "model"))
    watched(
        "pretrain",
        "causal.toml",
        "--raw",
        "training.jsonl",
        "--out",
        "model",
        holds_text=["tokenizer", "vocab", "merges"],
    )
    audits = ("membership", "extraction", "slot_fill", "canaries")
    watched(
        "privacy",
        "run",
        *audits,
        "--model",
        "model",
        *MODEL,
        "--notes",
        "training.jsonl",
        "--option",
        "membership.attacks='loss,zlib'",
        "--option",
        "extraction.texts=20",
        "--out",
        "of-model",
    )
    watched("privacy", "report", "of-model", "--facts", "facts.toml", "--out", "m.html", "--json")
    watched("privacy", "cost", "model", "training.jsonl", "--share", "20")
    watched("privacy", "probe", "model", "training.jsonl", "held_out.jsonl")
    watched(
        "privacy",
        "generate",
        "model",
        "dev.jsonl",
        "generated.jsonl",
        "--each",
        "1",
        "--training",
        "training.jsonl",
        holds_text=["generated"],
    )


def test_no_onnx_export_holds_a_canary_campaign(watched, canaries, campaign):
    pytest.importorskip("deid_transformers")
    pytest.importorskip("onnx")
    if not campaign.is_whole:
        pytest.skip("a network is trained: the whole of it on request")
    (canaries.folder / "network.toml").write_text(NETWORK)
    vocabulary = ["tokenizer.json", "vocab.txt"]
    code = watched(
        "train",
        "network.toml",
        "--train",
        "training.jsonl",
        "--dev",
        "dev.jsonl",
        "--out",
        "tagger",
        holds_text=vocabulary,
    )
    assert code == 0, watched.said
    code = watched("export", "tagger", "--notes", "dev.jsonl", "--json", holds_text=vocabulary)
    assert code == 0, watched.said
    for name in _damaged(canaries.folder):
        watched("export", "tagger", "--notes", name, "--out", "again", holds_text=vocabulary)
    watched("detect", "dev.jsonl", "--detector", "onnx=tagger-onnx", "--out", "found.jsonl")


def test_no_calibration_holds_a_canary_campaign(watched, canaries, campaign):
    pytest.importorskip("deid_zero_shot")
    transformers = pytest.importorskip("transformers")
    _save_masked(transformers, canaries.folder / "masked")
    calibrate = ("zero-shot", "calibrate", "masked", "--threads", "1")
    assert watched(*calibrate, "--notes", "dev.jsonl") == 0
    damaged = list(_damaged(canaries.folder))
    for number in campaign.numbers(1, len(damaged)):
        watched(*calibrate, "--notes", damaged[number], "--out", f"{number}.json")
    if campaign.is_whole:
        watched(*calibrate, "--notes", "training.jsonl", "--target", "recall=0.95")
        watched("zero-shot", "export", "masked", "--out", "masked-onnx")


def _save_masked(transformers: Any, folder: Path) -> None:
    """Write a masked language model that never read a canary: its vocabulary is of letters."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,"
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{one}" for one in letters),
    ]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
