"""What Phileas finds through the plugin, what it cannot, and the contract every detector keeps."""

from __future__ import annotations

import pytest

from deid_assets.core.errors import UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, check_offline, mark, marked
from deid_phileas import FILTERS, PhileasDetector

CASES = [
    ("en", "Write to <EMAIL>jane.roe@example.org</EMAIL> today."),
    ("en", "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>"),
    ("en", "server at <IP>192.0.2.44</IP>"),
    ("en", "Seen <DATE>05/03/2021</DATE>, again <DATE>June 7, 2021</DATE>."),
    ("en", "lives at <STREET>12 Oak Street</STREET>"),
    # Near misses, and what it was not made for: a ratio, a sum of money, a name, a European date.
    ("en", "BP 120/80, Na 138, visit 4"),
    ("en", "paid $12.50"),
    ("en", "Seen by Dr. Lee on 3.5.2021."),
]


@pytest.fixture(scope="module")
def detector() -> PhileasDetector:
    return PhileasDetector()


@pytest.mark.parametrize(("lang", "text"), CASES)
def test_identifiers_are_found_and_near_misses_are_not(detector: PhileasDetector, lang, text):
    note, _ = marked(text, lang=lang)

    (found,) = detector.detect([note])

    assert mark(note, found) == text


def test_the_contract_holds(detector: PhileasDetector):
    check_detector(detector)


def test_what_it_cannot_find_by_design_is_not_declared(detector: PhileasDetector):
    assert detector.labels.isdisjoint({Phi.NAME, Phi.LOCATION, Phi.CITY, Phi.HOSPITAL, Phi.MRN})


def test_the_version_names_the_tool_it_ran(detector: PhileasDetector):
    assert detector.version == "0.1.0+phileas-redact1.0.0"


def test_no_socket_is_opened_and_nothing_is_logged():
    note, _ = marked("jane@example.org, 617-555-0143, 05/03/2021")

    found = check_offline(PhileasDetector, note)

    assert Phi.EMAIL in {span.label for span in found}


def test_a_kind_without_a_category_is_refused():
    with pytest.raises(UnknownLabelError, match="new_kind"):
        FILTERS.require(["ssn", "new_kind"])


def test_no_token_of_one_note_is_kept_for_the_next(detector: PhileasDetector):
    from phileas import InMemoryContextService

    kept = []
    original = InMemoryContextService.put
    InMemoryContextService.put = lambda self, *args: (kept.append(id(self)), original(self, *args))[1]
    try:
        notes = [marked("jane@example.org", note_id=str(n))[0] for n in range(3)]
        services = [len(set(kept)) for _ in detector.detect(notes)]
    finally:
        InMemoryContextService.put = original

    assert services == sorted(services)
    assert not any("example" in str(value) for value in vars(detector).values())
