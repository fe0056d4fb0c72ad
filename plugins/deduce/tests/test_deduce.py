"""What Deduce finds through the plugin, and the contract every detector keeps. Skipped where Deduce is not installed."""

from __future__ import annotations

import logging

import pytest

from deid_assets.core.errors import UnknownLabelError
from deid_assets.core.phi import Phi
from deid_assets.testing import check_detector, mark, marked

pytest.importorskip("deduce", reason="Deduce is not installed: make install-all brings it")
deid_deduce = pytest.importorskip("deid_deduce", reason="the plugin is not installed: make install-all brings it")
TAGS, DeduceDetector = deid_deduce.TAGS, deid_deduce.DeduceDetector
pytestmark = pytest.mark.slow  # Deduce builds its look-up structures for a minute

CASES = [
    "Patient <NAME>Jan Jansen</NAME>, geboren op <DATE>12-03-1960</DATE>.",
    "BSN <NATIONAL_ID>111222333</NATIONAL_ID>, tel. <PHONE>06-12345678</PHONE>\r\n",
    "Mail <EMAIL>jan@example.nl</EMAIL>; <AGE>45</AGE> jaar oud.",
    "Verwezen naar het <HOSPITAL>Antonius Ziekenhuis</HOSPITAL>.",
    # A number that fails the check of eleven is an id. Near misses: a pressure, a disease that bears a name.
    "RR 120/80, Na 138",
    "nummer <ID>111222334</ID>",
    "ziekte van Parkinson",
]


@pytest.fixture(scope="module")
def detector(tmp_path_factory, request) -> DeduceDetector:
    return DeduceDetector(cache=str(request.config.cache.mkdir("deduce")))


@pytest.mark.parametrize("text", CASES)
def test_identifiers_are_found_and_near_misses_are_not(detector: DeduceDetector, text):
    note, _ = marked(text, lang="nl")

    (found,) = detector.detect([note])

    assert mark(note, found) == text


def test_the_contract_holds(detector: DeduceDetector):
    check_detector(detector)


def test_the_version_names_the_tool_it_ran(detector: DeduceDetector):
    assert detector.version.startswith("0.1.0+deduce3.")


def test_the_root_logger_is_as_it_was(detector: DeduceDetector):
    assert logging.getLogger().level == logging.WARNING


def test_names_are_declared_and_fax_numbers_are_not(detector: DeduceDetector):
    assert Phi.NAME in detector.labels
    assert Phi.FAX not in detector.labels


def test_a_tag_without_a_category_is_refused():
    with pytest.raises(UnknownLabelError, match="kenteken"):
        TAGS.require(["bsn", "kenteken"])
