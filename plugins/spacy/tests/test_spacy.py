"""Pipelines from a folder and the labels they must have; what every wrapper promises is in tests/wrappers."""

from __future__ import annotations

import pytest
import spacy
from spacy.training import Example

from deid_assets.core.errors import ConfigError, UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, marked
from deid_spacy import SpacyDetector


def ruled(folder, patterns):
    """A pipeline of rules, written as ``nlp.to_disk`` does."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.to_disk(folder)
    return str(folder)


def test_a_statistical_pipeline_keeps_the_contract(tmp_path):
    """Untrained weights find nonsense, and must find the same nonsense alone and in a batch."""
    nlp = spacy.blank("en")
    recognizer = nlp.add_pipe("ner")
    recognizer.add_label("PERSON")
    example = Example.from_dict(nlp.make_doc("Seen by Lee"), {"entities": [(8, 11, "PERSON")]})
    nlp.initialize(lambda: [example])
    nlp.to_disk(tmp_path / "ner")

    check_detector(SpacyDetector(model=str(tmp_path / "ner")))


def test_a_label_without_a_category_is_refused_when_the_pipeline_loads(tmp_path):
    model = ruled(tmp_path / "wards", [{"label": "WARD", "pattern": "C3"}])

    with pytest.raises(UnknownLabelError, match="'WARD'"):
        SpacyDetector(model=model)

    mapped = SpacyDetector(model=model, labels={"WARD": "HOSPITAL"})
    note, _ = marked("on C3")
    (found,) = mapped.detect([note])
    assert [span.label for span in found] == [Phi.HOSPITAL]
    assert SpacyDetector(model=model, labels={"WARD": ""}).labels == frozenset()


def test_a_category_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="'STATION'"):
        SpacyDetector(
            model=ruled(tmp_path / "wards", [{"label": "GPE", "pattern": "Quahog"}]), labels={"GPE": "STATION"}
        )


def test_a_pipeline_without_entities_is_refused(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "sentences")

    with pytest.raises(ConfigError, match="sets no entities; it has sentencizer"):
        SpacyDetector(model=str(tmp_path / "sentences"))


def test_a_model_that_is_not_there_is_refused_and_not_fetched(tmp_path):
    with pytest.raises(ConfigError, match="neither a pipeline folder nor an installed pipeline"):
        SpacyDetector(model=str(tmp_path / "nowhere"))
