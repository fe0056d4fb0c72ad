"""Options of scrubadub; what every wrapper promises is in tests/wrappers."""

from __future__ import annotations

import pytest

from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import Phi
from deid_assets.testing import parse_marked
from deid_scrubadub import ScrubadubDetector


def test_another_locale_finds_other_numbers():
    note, _ = parse_marked("NINO AB123456C, SSN 536-22-8726")

    (found,) = ScrubadubDetector(locales={"en": "en_GB"}).detect([note])

    assert {span.native_label for span in found} == {"national_insurance_number"}


def test_a_detector_that_is_off_by_default_is_named():
    note, _ = parse_marked("date of birth 03/05/1960")

    (found,) = ScrubadubDetector(more=["date_of_birth"]).detect([note])

    assert Phi.DATE in {span.label for span in found}
    with pytest.raises(ConfigError, match="no detector 'horoscope'"):
        ScrubadubDetector(more=["horoscope"])
