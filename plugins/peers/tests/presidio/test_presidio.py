"""The detector agrees with Presidio and fails closed.

What every wrapper promises is in tests/wrappers.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from presidio_analyzer.predefined_recognizers import (
    EmailRecognizer,
    IbanRecognizer,
    IpRecognizer,
    MacAddressRecognizer,
    MedicalLicenseRecognizer,
    PhoneRecognizer,
    UrlRecognizer,
    UsLicenseRecognizer,
    UsPassportRecognizer,
)

from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError, DetectorError
from deid_assets.core.phi import Phi
from deid_assets.testing import parse_marked
from deid_presidio import PresidioDetector
from deid_presidio.engine import _NEEDED as NEEDED
from deid_presidio.recognizers import StrictIban, WindowedPhone
from deid_presidio.regexes import StrictRegex

NARROWED = (
    EmailRecognizer,
    IpRecognizer,
    MacAddressRecognizer,
    MedicalLicenseRecognizer,
    UrlRecognizer,
    UsLicenseRecognizer,
    UsPassportRecognizer,
)
EDGES = (
    "a.b@x.org,c@y.es\tjane@example.org.",
    'see www.example.org/a?b=1 or "https://example.com" and example.net.',
    "10.0.0.1 ::1 fe80::1%eth0 2001:db8::7 1:2",
    "00:1A:2B:3C:4D:5E 001A.2B3C.4D5E 00-1a-2b-3c-4d-5e",
    "BB1388568 A1234567 H12345678,123456789",
)


@pytest.fixture(scope="module")
def detector() -> PresidioDetector:
    return PresidioDetector()


def test_a_word_before_a_hit_raises_its_score(detector: PresidioDetector):
    note, _ = parse_marked("bank account number 90341122334")

    (with_context,) = detector.detect([note])
    (without,) = PresidioDetector(context=False).detect([note])

    assert Phi.ACCOUNT in {span.label for span in with_context}
    assert Phi.ACCOUNT not in {span.label for span in without}


def test_a_lower_threshold_uncovers_nothing(detector: PresidioDetector):
    note, _ = parse_marked(
        "Call 617-555-0143, bank 90341122334, SSN 536-22-8726, passport 123456789."
    )

    (default,) = detector.detect([note])
    (everything,) = PresidioDetector(min_score=0.0).detect([note])

    assert set(default) < set(everything)


def test_a_timeout_fails_the_note():
    slow = StrictRegex("slow", r"(a|aa)+$", 0, timeout_s=0.01)
    with pytest.raises(DetectorError, match="pattern 'slow' took longer"):
        list(slow.finditer("a" * 40_000 + "b"))


def test_a_timeout_inside_presidio_reads_as_failed_and_not_as_clean():
    note, _ = parse_marked("1.1.1." * 30_000 + "x jane@example.org")

    assert detect(PresidioDetector(timeout_s=1e-6), [note]) == [
        Failed("marked", "spans_presidio", "DetectorError")
    ]


@pytest.mark.parametrize("options", [{"min_score": 1.5}, {"timeout_s": 0}])
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(ConfigError, match="presidio"):
        PresidioDetector(**options)


def _corpus_texts() -> list[str]:
    folder = os.environ.get("DEID_CORPORA")
    if not folder:
        pytest.skip("DEID_CORPORA is not set")
    files = sorted(Path(folder, "annotated").glob("*/*.jsonl"))
    return [
        json.loads(line)["text"]
        for file in files
        for line in file.read_text("utf-8").splitlines()[::40]
    ]


def _places(recognizer, text):
    return {
        (r.start, r.end, r.score)
        for r in recognizer.analyze(text, recognizer.supported_entities, None)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            WindowedPhone(supported_regions=("US", "ES")),
            PhoneRecognizer(supported_regions=("US", "ES")),
        ),
        (StrictIban(timeout_s=10), IbanRecognizer()),
    ],
    ids=["phone", "iban"],
)
def test_the_changed_recognizers_find_what_presidio_finds(ours, theirs):
    for text in _corpus_texts():
        assert _places(ours, text) == _places(theirs, text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "recognizer", [r() for r in NARROWED], ids=lambda recognizer: recognizer.name
)
def test_reading_only_the_words_that_can_match_finds_the_same(recognizer):
    needed = NEEDED[recognizer.supported_entities[0]]
    flags = recognizer.global_regex_flags
    for pattern in recognizer.patterns:
        whole = StrictRegex(pattern.name, pattern.regex, flags, timeout_s=60)
        words = StrictRegex(pattern.name, pattern.regex, flags, timeout_s=60, needed=needed)
        for text in [*_corpus_texts(), *EDGES]:
            assert [m.span() for m in words.finditer(text)] == [
                m.span() for m in whole.finditer(text)
            ]


def test_every_narrowed_entity_is_compared_with_presidio():
    assert {r().supported_entities[0] for r in NARROWED} == set(NEEDED)
