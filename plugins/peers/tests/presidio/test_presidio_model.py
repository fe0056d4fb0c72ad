"""Presidio with a spaCy pipeline: names in its language, labels checked, nothing fetched."""

from __future__ import annotations

import pytest
import spacy

from deid_assets.core.errors import ConfigError, UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, parse_marked
from deid_presidio import PresidioDetector


def pipeline(folder, *labels, lang="en"):
    nlp = spacy.blank(lang)
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": label, "pattern": f"Q{label.lower()}"} for label in labels]
    )
    nlp.to_disk(folder)
    return str(folder)


@pytest.fixture(scope="module")
def detector(tmp_path_factory) -> PresidioDetector:
    return PresidioDetector(
        model=pipeline(tmp_path_factory.mktemp("model"), "PERSON", "GPE", "HOSP", "MONEY")
    )


def test_names_and_places_are_found_beside_the_patterns(detector):
    note, expected = parse_marked(
        "<NAME>Qperson</NAME> of <LOCATION>Qgpe</LOCATION>, <ORGANIZATION>Qhosp</ORGANIZATION>,"
        " Qmoney, <IP>192.0.2.44</IP>"
    )

    (found,) = detector.detect([note])

    assert {(s.start, s.end, s.label) for s in found} == {
        (s.start, s.end, s.label) for s in expected
    }


def test_a_note_in_another_language_is_read_by_patterns_alone(detector):
    note, _ = parse_marked("Qperson, DNI 12345678Z", lang="es")

    (found,) = detector.detect([note])

    assert {span.label for span in found} == {Phi.NATIONAL_ID}


def test_the_contract_holds_and_names_are_declared(detector):
    check_detector(detector)
    assert {Phi.NAME, Phi.LOCATION, Phi.ORGANIZATION} <= detector.labels


@pytest.mark.parametrize(
    ("labels", "lang", "error", "message"),
    [
        (["PERSON", "WARD"], "en", UnknownLabelError, "'WARD'"),
        (["MONEY"], "en", ConfigError, "sets no entities that Presidio knows"),
        (["PERSON"], "de", ConfigError, "is for 'de'; give one for en or es"),
    ],
)
def test_a_pipeline_that_would_find_less_than_it_seems_is_refused(
    tmp_path, labels, lang, error, message
):
    with pytest.raises(error, match=message):
        PresidioDetector(model=pipeline(tmp_path / "model", *labels, lang=lang))


def test_a_pipeline_that_is_not_there_is_refused_and_not_fetched(tmp_path):
    with pytest.raises(ConfigError, match="neither a pipeline folder nor an installed pipeline"):
        PresidioDetector(model=str(tmp_path / "nowhere"))
