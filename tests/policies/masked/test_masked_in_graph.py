"""Surrogates of a language model through Dagster.

The same from one process and from two, and one line without it.
"""

from __future__ import annotations

import json
import shutil

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.runtime.detectors import CHUNK_CHARS

pytestmark = pytest.mark.long

POLICY = """\
name = "mlm"
default = "surrogate"
[actions]
NAME = { action = "surrogate_mlm", model = "model" }
"""
MADE = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans", "redacted_notes_mlm")


@pytest.fixture(scope="module")
def model(tmp_path_factory, save_model):
    return save_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def configured(installation, model):
    """An installation whose only policy takes names from the model in its own folder."""

    def configure(*, workers=1):
        shutil.copytree(model, installation.root / "model", dirs_exist_ok=True)
        (installation.root / "mlm.toml").write_text(POLICY)
        settings = installation.default_settings.replace(
            '["tag", "blackout"]', f'["{installation.root}/mlm.toml"]'
        )
        settings = settings.replace(
            'release_policy = "tag"', f'release_policy = "{installation.root}/mlm.toml"'
        )
        settings = settings.replace(
            "[gates]", f"workers = {workers}\n[gates]\nnear_duplicates = 1.0"
        )
        installation.configure(settings)
        return installation

    return configure


def redacted(installation, batch, *assets):
    """Make the assets, all up to the redacted notes when none is named, and return the texts."""
    assert installation.failures(installation.run(batch, *(assets or MADE))) == {}
    rows = installation.opened().files.read("redacted_notes_mlm", batch, "notes").to_pylist()
    return {row["note_id"]: row["text"] for row in rows}


def test_names_become_words_of_the_model_and_a_patients_are_the_same_in_a_later_batch(
    configured, note_records, vocabulary
):
    installation = configured()
    early = note_records()
    late = [
        {
            **record,
            "id": f"late-{record['id']}",
            "text": f"Seen again. {record['text']}",
            "spans": [],
        }
        for record in early
    ]

    first = redacted(installation, installation.receive(early))
    second = redacted(installation, installation.receive(late, name="late.jsonl"))

    assert len(first) == len(second) == len(early)
    for record in early:
        original, story = record["text"].split(", record ", 1)
        name, rest = first[record["id"]].split(", record ", 1)
        assert name in vocabulary
        assert name != original
        assert rest.split(". ", 1)[1] == story.split(". ", 1)[1]
        assert second[f"late-{record['id']}"] == f"Seen again. {name}, record {rest}"


@pytest.mark.slow
def test_two_processes_write_what_one_does(configured, note_record, note_records):
    last = note_record(8, "The last of nine.", person="Zedmarlowb", record=4_000_008)
    # Eight of them fill what is sent to a process at once.
    records = [
        {**record, "text": record["text"] + "x" * (CHUNK_CHARS // 8)}
        for record in [*note_records(), last]
    ]
    installation = configured()
    batch = installation.receive(records)
    alone = redacted(installation, batch)

    configured(workers=2)

    assert redacted(installation, batch, "redacted_notes_mlm") == alone
    assert len(alone) == len(records)


def test_what_could_not_be_drawn_is_counted(configured, note_record, vocabulary):
    every = " ".join(sorted(vocabulary))
    installation = configured()
    record = note_record(1, f"Words of the model: {every}.", person="Zedmarlowe", record=4_000_000)

    (text,) = redacted(installation, batch := installation.receive([record])).values()

    assert text.startswith("[NAME], record ")
    counts = installation.opened().files.receipt("redacted_notes_mlm", batch).counts
    assert counts["fallbacks_NAME"] == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("", "there is no model folder"),
        ("tokenizer.json", "lacks tokenizer.json"),
        ("model.safetensors", "lacks model"),
    ],
)
def test_without_its_model_the_graph_does_not_load(configured, file, message):
    installation = configured()
    if file:
        (installation.root / "model" / file).unlink()
    else:
        shutil.rmtree(installation.root / "model")

    with pytest.raises(ConfigError, match=f"mlm.toml: actions.NAME: .*{message}") as error:
        installation.definitions()

    assert "\n" not in str(error.value)


def test_a_model_that_is_not_its_configurations_withholds_every_note(configured, note_records):
    installation = configured()
    config = installation.root / "model" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "hidden_size": 18}))
    batch = installation.receive(note_records())

    ((step, message),) = installation.failures(installation.run(batch, *MADE)).items()

    assert step == "redacted_notes_mlm"
    assert "quarantine_share" in message
    assert installation.opened().files.find("redacted_notes_mlm", batch) is None
