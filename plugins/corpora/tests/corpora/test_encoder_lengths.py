"""``deid corpus lengths --encoder`` on a real tokenizer, made here from a few sentences."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.core.tagging import sentences, tokenize

tokenizers = pytest.importorskip("tokenizers")
NOTES = (
    "Ann Caldwick was admitted on 12 March. She complained of breathlessness.\nNo fever.",
    (
        "Dr Bo Ray examined Caldwick. Electrocardiogram unremarkable. Discharged to Caldwickshire."
        " Review in two weeks."
    ),
)


@pytest.fixture
def encoder(tmp_path):
    """A folder with the tokenizer.json of a small WordPiece encoder."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=80, special_tokens=["[UNK]", "[CLS]", "[SEP]"]
    )
    tokenizer.train_from_iterator(NOTES, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(8)
    folder = tmp_path / "encoder"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"n{at}", "text": text}) + "\n" for at, text in enumerate(NOTES))
    )
    return path


def lengths(*arguments):
    return CliRunner().invoke(app, ["corpus", "lengths", *map(str, arguments)])


def test_sub_tokens_are_those_of_the_encoder_and_the_limit_is_kept(notes, encoder):
    tokenizer = tokenizers.Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    by_note = []
    for text in NOTES:
        tokens = tokenize(text)
        parts = [
            text[tokens[part.start][0] : tokens[part.stop - 1][1]]
            for part in sentences(text, tokens)
        ]
        by_note.append(
            [len(tokenizer.encode(part, add_special_tokens=False).ids) for part in parts]
        )
    assert max(map(len, by_note)) == 4

    longest = {
        factor: max(
            sum(note[at : at + factor]) for note in by_note for at in range(0, len(note), factor)
        )
        for factor in (1, 2, 3, 4)
    }
    limit = longest[3] + 2  # and the encoder's own two: the factor is no power of two
    done = lengths(
        notes, "--encoder", encoder, "--limit", limit, "--factor", "1", "--factor", "3", "--json"
    )
    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(done.stdout)["corpora"]

    assert [row["most_subtokens"] for row in found["factors"]] == [longest[1], longest[3]]
    sizes = [size for note in by_note for size in note]
    assert found["factors"][0]["mean_subtokens"] == pytest.approx(sum(sizes) / len(sizes), abs=1e-4)
    assert found["factors"][0]["mean_tokens"] < found["factors"][0]["mean_subtokens"]
    assert found["limits"] == [{"limit": limit, "factor": 3, "sentences_over": 0}]


def test_a_tokenizer_that_is_none_is_one_line(notes, tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    for folder in (tmp_path, tmp_path / "absent"):
        done = lengths(notes, "--encoder", folder)
        assert done.exit_code == 2
        assert "no tokenizer that can be read" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
