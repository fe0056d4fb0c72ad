"""What DataFog finds through the plugin, what it cannot, and the contract every detector keeps."""

from __future__ import annotations

import pytest

from deid_assets.core.errors import UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, check_offline, mark, marked
from deid_datafog import ENTITIES, DatafogDetector

CASES = [
    ("en", "Write to <EMAIL>jane.roe@example.org</EMAIL> today."),
    ("en", "Tel. <PHONE>(617) 555-0143</PHONE>\r\n"),
    ("en", "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>"),
    ("en", "server at <IP>192.0.2.44</IP>"),
    ("en", "Seen <DATE>05/03/2021</DATE>, again <DATE>2021-06-07</DATE>."),
    ("de", "IBAN <ACCOUNT>DE89370400440532013000</ACCOUNT>"),
    # Near misses, and what it was not made for: a ratio, a name, a European date, a German number in an English note.
    ("en", "BP 120/80, Na 138, visit 4"),
    ("en", "Seen by Dr. Lee on 3.5.2021."),
    ("en", "IBAN DE89370400440532013000"),
]


@pytest.fixture(scope="module")
def detector() -> DatafogDetector:
    return DatafogDetector()


@pytest.mark.parametrize(("lang", "text"), CASES)
def test_identifiers_are_found_and_near_misses_are_not(detector: DatafogDetector, lang, text):
    note, _ = marked(text, lang=lang)

    (found,) = detector.detect([note])

    assert mark(note, found) == text


def test_the_contract_holds(detector: DatafogDetector):
    check_detector(detector)


def test_what_it_cannot_find_by_design_is_not_declared(detector: DatafogDetector):
    assert detector.labels.isdisjoint({Phi.NAME, Phi.LOCATION, Phi.CITY, Phi.HOSPITAL, Phi.AGE, Phi.MRN})


def test_the_version_names_the_tool_it_ran(detector: DatafogDetector):
    assert detector.version == "0.1.0+datafog4.9.0"


def test_no_socket_is_opened_and_nothing_is_logged():
    note, _ = marked("jane@example.org, 617-555-0143, 05/03/2021")

    found = check_offline(DatafogDetector, note)

    assert Phi.EMAIL in {span.label for span in found}


def test_a_kind_without_a_category_is_refused():
    with pytest.raises(UnknownLabelError, match="new_kind"):
        ENTITIES.require(["EMAIL", "new_kind"])
