"""What scrubadub finds through the plugin, what it cannot, and the contract every detector keeps."""

from __future__ import annotations

import pytest

from deid_assets.core.errors import ConfigError, UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, check_offline, mark, marked
from deid_scrubadub import FILTH, ScrubadubDetector

CASES = [
    ("en", "Write to <EMAIL>jane.roe@example.org</EMAIL> today."),
    ("en", "Tel. <PHONE>617-555-0143</PHONE>\r\n"),
    ("en", "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>"),
    ("en", "card <ACCOUNT>4111111111111111</ACCOUNT>"),
    ("de", "Tel. <PHONE>030 901820</PHONE>"),
    # Near misses, and what it was not made for: a ratio, a date, a name, a German number in an English note.
    ("en", "BP 120/80, Na 138, visit 4"),
    ("en", "Seen on 05/03/2021 by Dr. Lee."),
    ("en", "Tel. 030 901820"),
]


@pytest.fixture(scope="module")
def detector() -> ScrubadubDetector:
    return ScrubadubDetector()


@pytest.mark.parametrize(("lang", "text"), CASES)
def test_identifiers_are_found_and_near_misses_are_not(detector: ScrubadubDetector, lang, text):
    note, _ = marked(text, lang=lang)

    (found,) = detector.detect([note])

    assert mark(note, found) == text


def test_the_contract_holds(detector: ScrubadubDetector):
    check_detector(detector)


def test_what_it_cannot_find_by_design_is_not_declared(detector: ScrubadubDetector):
    assert detector.labels.isdisjoint({Phi.NAME, Phi.LOCATION, Phi.CITY, Phi.DATE, Phi.AGE, Phi.MRN})


def test_the_version_names_the_tool_it_ran(detector: ScrubadubDetector):
    assert detector.version == "0.1.0+scrubadub2.0.1"


def test_no_socket_is_opened_and_nothing_is_logged():
    note, _ = marked("jane@example.org, 617-555-0143, 05/03/2021")

    found = check_offline(ScrubadubDetector, note)

    assert Phi.EMAIL in {span.label for span in found}


def test_a_kind_without_a_category_is_refused():
    with pytest.raises(UnknownLabelError, match="new_kind"):
        FILTH.require(["email", "new_kind"])


def test_another_locale_finds_other_numbers():
    note, _ = marked("NINO AB123456C, SSN 536-22-8726")

    (found,) = ScrubadubDetector(locales={"en": "en_GB"}).detect([note])

    assert {span.native_label for span in found} == {"national_insurance_number"}


def test_a_detector_that_is_off_by_default_is_named():
    note, _ = marked("date of birth 03/05/1960")

    (found,) = ScrubadubDetector(more=["date_of_birth"]).detect([note])

    assert Phi.DATE in {span.label for span in found}
    with pytest.raises(ConfigError, match="no detector 'horoscope'"):
        ScrubadubDetector(more=["horoscope"])
