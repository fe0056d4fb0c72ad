"""What OpenMed's safety sweep finds through the plugin, what it cannot, and the contract every detector keeps."""

from __future__ import annotations

import pytest

from deid_assets.core.errors import UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, check_offline, mark, marked
from deid_openmed import ENTITIES, OpenmedDetector

CASES = [
    ("en", "Write to <EMAIL>jane.roe@example.org</EMAIL> today."),
    ("en", "Tel. <PHONE>617-555-0143</PHONE>\r\n"),
    ("en", "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>"),
    ("en", "Seen <DATE>05/03/2021</DATE>, again <DATE>3 May 2021</DATE>."),
    ("en", "<MRN>MRN 1234567</MRN>"),
    # Near misses, and what it was not made for: a ratio, a name.
    ("en", "BP 120/80, Na 138, visit 4"),
    ("en", "Seen by Dr. Lee."),
]


@pytest.fixture(scope="module")
def detector() -> OpenmedDetector:
    return OpenmedDetector()


@pytest.mark.parametrize(("lang", "text"), CASES)
def test_identifiers_are_found_and_near_misses_are_not(detector: OpenmedDetector, lang, text):
    note, _ = marked(text, lang=lang)

    (found,) = detector.detect([note])

    assert mark(note, found) == text


def test_the_contract_holds(detector: OpenmedDetector):
    check_detector(detector)


def test_what_it_cannot_find_by_design_is_not_declared(detector: OpenmedDetector):
    assert detector.labels.isdisjoint({Phi.NAME, Phi.LOCATION, Phi.CITY, Phi.HOSPITAL, Phi.AGE})


def test_the_version_names_the_tool_it_ran(detector: OpenmedDetector):
    assert detector.version == "0.1.0+openmed3.1.0"


def test_no_socket_is_opened_and_nothing_is_logged():
    note, _ = marked("jane@example.org, 617-555-0143, 05/03/2021")

    found = check_offline(OpenmedDetector, note)

    assert Phi.EMAIL in {span.label for span in found}


def test_a_kind_without_a_category_is_refused():
    with pytest.raises(UnknownLabelError, match="new_kind"):
        ENTITIES.require(["email", "new_kind"])
