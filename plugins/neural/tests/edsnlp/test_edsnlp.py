"""Pipelines of rules and of a CRF over a transformer, from a folder.

The entities are the library's, at exact offsets.
"""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from deid_assets import Note, Phi
from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError, PluginError, UnknownLabelError
from deid_assets.testing import check_detector
from deid_edsnlp import EdsnlpDetector, EdsnlpImporter

TEXT = "Vu par Dupont à Paris.\nLe 3 mai 2021, Martin   est revenu. \U0001f600 Dupont\r\n"
MAP = '[labels]\nNOM = "NAME"\nVILLE = "CITY"\nDATE = "DATE"\n'


def ruled(folder: Path, terms: dict[str, list[str]]) -> Path:
    import edsnlp

    nlp = edsnlp.blank("eds")
    nlp.add_pipe("eds.matcher", name="names", config={"terms": terms, "attr": "TEXT"})
    nlp.to_disk(folder)
    return folder


def trained(folder: Path) -> Path:
    """An untrained CRF over a tiny BERT, as EDS-Pseudo's is one over CamemBERT."""
    import edsnlp
    import edsnlp.pipes as eds
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(1)
    signs = sorted(set(TEXT) - set(" \r\n"))
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *signs,
        *(f"##{sign}" for sign in signs),
    ]
    made = Tokenizer(
        models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    ).save_pretrained(folder / "bert")
    nlp: Any = edsnlp.blank("eds")
    nlp.add_pipe(
        eds.ner_crf(
            mode="joint",
            target_span_getter="gold",
            span_setter="ents",
            labels=["NOM", "DATE"],
            window=10,
            embedding=eds.transformer(model=str(folder / "bert"), window=60, stride=40),
        ),
        name="ner",
    )
    with torch.no_grad():
        for weight in nlp.pipes.ner.parameters():
            weight.mul_(6.0 if weight.dim() > 1 else 1.0)
    nlp.to_disk(folder / "pipeline")
    return folder / "pipeline"


def added(folder: Path, source: Path, *, text: str = MAP, **given: Any) -> Path:
    (folder / "labels.toml").write_text(text)
    options = {
        "source": str(source),
        "name": "mine",
        "out": folder / "mine",
        "labels": str(folder / "labels.toml"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        EdsnlpImporter().add({**options, **given}, [Note("n", TEXT)])
    return folder / "mine"


def spans(detector: EdsnlpDetector, text: str) -> list[tuple[int, int, str, Phi]]:
    (found,) = detector.detect([Note("n", text)])
    return [(span.start, span.end, span.native_label, span.label) for span in found]


@pytest.mark.long
def test_entities_of_rules_are_found_where_they_stand(tmp_path) -> None:
    source = ruled(tmp_path / "rules", {"NOM": ["Dupont", "Martin"], "VILLE": ["Paris"]})
    assert EdsnlpImporter().recognises(source)

    detector = EdsnlpDetector(model=added(tmp_path, source))

    assert spans(detector, TEXT) == [
        (7, 13, "NOM", Phi.NAME),
        (16, 21, "VILLE", Phi.CITY),
        (38, 44, "NOM", Phi.NAME),
        (61, 67, "NOM", Phi.NAME),
    ]
    check_detector(detector)
    with pytest.raises(PluginError, match="device 'cuda:99' is not there"):
        EdsnlpDetector(model=tmp_path / "mine", device="cuda:99")


def test_a_network_in_a_pipeline_finds_what_the_library_finds_wherever_its_folder_is(
    tmp_path,
) -> None:
    import edsnlp

    source = trained(tmp_path)
    texts = [TEXT, TEXT * 20]
    theirs = [
        [(e.start_char, e.end_char, e.label_) for e in edsnlp.load(source)(text).ents]
        for text in texts
    ]
    out = added(tmp_path, source)
    shutil.rmtree(tmp_path / "bert")
    shutil.rmtree(source)
    detector = EdsnlpDetector(model=out)

    assert [[found[:3] for found in spans(detector, text)] for text in texts] == theirs
    assert len(theirs[1]) > 1
    assert detector.labels == {Phi.NAME, Phi.DATE, Phi.CITY}


def test_a_label_that_is_not_decided_stops_the_model_or_fails_the_note_that_has_it(
    tmp_path,
) -> None:
    source = ruled(tmp_path / "rules", {"NOM": ["Dupont"], "SERVICE": ["réanimation"]})
    with pytest.raises((ConfigError, UnknownLabelError), match="SERVICE"):
        added(tmp_path, source)

    out = added(tmp_path, source, text=MAP + 'SERVICE = "none"\n')
    assert spans(EdsnlpDetector(model=out), "Dupont en réanimation") == [(0, 6, "NOM", Phi.NAME)]
    detector = EdsnlpDetector(model=out)
    del detector._labels["SERVICE"]
    notes = [Note("a", "Dupont"), Note("b", "en réanimation"), Note("c", "Dupont")]
    assert [isinstance(run, Failed) for run in detect(detector, notes)] == [False, True, False]


def code(folder: Path) -> None:
    (folder / "own.py").write_text("")


def remote(folder: Path) -> None:
    config = folder / "config.cfg"
    config.write_text(config.read_text() + "\n[components.names.more]\ntrust_remote_code = true\n")


def unknown(folder: Path) -> None:
    config = folder / "config.cfg"
    config.write_text(config.read_text().replace("eds.matcher", "eds_pseudo.addresses"))


FAULTS = {
    "code of its own": (code, "own.py: it brings code of its own, which is not run"),
    "remote code": (remote, "it asks to run code of its own, which is not run"),
    "a pipe that is not installed": (
        unknown,
        "the pipeline does not load .*eds-pseudo, needs that package installed",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pipeline_that_cannot_be_used_is_one_line(fault, tmp_path) -> None:
    harm, message = FAULTS[fault]
    source = ruled(tmp_path / "rules", {"NOM": ["Dupont"]})
    harm(source)

    with pytest.raises(PluginError, match=message) as told:
        added(tmp_path, source)
    assert "\n" not in str(told.value)
    assert {path.name for path in tmp_path.iterdir()} == {"rules", "labels.toml"}


def test_without_a_label_map_one_is_proposed_and_a_changed_file_is_told(tmp_path) -> None:
    source = ruled(tmp_path / "rules", {"NOM": ["Dupont"], "SERVICE": ["réanimation"]})
    with pytest.raises(ConfigError, match="check it and give --labels"):
        added(tmp_path, source, labels="")
    assert '"NOM" = "NAME"' in (tmp_path / "mine.labels.toml").read_text()

    out = added(tmp_path, source, labels=str(tmp_path / "mine.labels.toml"))
    assert json.loads((out / "published.json").read_text())["labels"] == {
        "NOM": "NAME",
        "SERVICE": "OTHER",
    }
    (out / "model" / "more.txt").write_text("")
    with pytest.raises(PluginError, match="not a file that was added"):
        EdsnlpDetector(model=out)


def test_the_map_that_comes_along_is_found_by_the_models_name() -> None:
    assert "AP-HP/eds-pseudo-public" in EdsnlpImporter().maps()["eds_pseudo"].models
