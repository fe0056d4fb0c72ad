"""What every plugin that wraps another project's detector promises.

What is peculiar to one is in its own folder.
"""

from __future__ import annotations

import logging
from importlib import import_module

import pytest

from deid_assets.core.errors import UnknownLabelError
from deid_assets.testing import check_detector, check_offline, mark, parse_marked

from .wrapped import NO_NUMBERS, WRAPPED

NAMES = [
    pytest.param(name, marks=pytest.mark.slow if one.is_slow else ())
    for name, one in WRAPPED.items()
]
CASES = [
    pytest.param(name, lang, text, marks=pytest.mark.slow if one.is_slow else ())
    for name, one in WRAPPED.items()
    for lang, texts in one.found.items()
    for text in (*texts, NO_NUMBERS)
]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Build the detector of a plugin once.

    Skip where the plugin or what it wraps is not installed.
    """
    detectors = {}

    def make(name):
        module = pytest.importorskip(
            f"deid_{name}", reason="the plugin is not installed", exc_type=ImportError
        )
        if name not in detectors:
            one, level = WRAPPED[name], logging.getLogger().level
            detectors[name] = getattr(module, one.detector)(
                **one.options(tmp_path_factory.mktemp(name))
            )
            assert logging.getLogger().level == level, "it changed the root logger"
        return detectors[name]

    return make


@pytest.mark.parametrize(("name", "lang", "text"), CASES)
def test_what_is_marked_is_found_and_near_misses_are_not(made, name, lang, text):
    note, _ = parse_marked(text, lang=lang)

    (found,) = made(name).detect([note])

    spans = list(found)
    if WRAPPED[name].nests:
        spans = [
            s
            for s in spans
            if not any(o.start <= s.start and s.end <= o.end and o.label != s.label for o in found)
        ]
    assert mark(note, spans) == text


@pytest.mark.parametrize("name", NAMES)
def test_the_contract_of_detectors_holds(made, name):
    check_detector(made(name))


@pytest.mark.parametrize("name", NAMES)
def test_what_it_finds_is_declared_and_what_it_cannot_find_by_design_is_not(made, name):
    found = {
        span.label
        for texts in WRAPPED[name].found.values()
        for text in texts
        for span in parse_marked(text)[1]
    }

    assert found <= made(name).labels
    assert made(name).labels.isdisjoint(WRAPPED[name].unmarked)


@pytest.mark.parametrize("name", NAMES)
def test_the_version_names_the_tool_it_ran(made, name):
    assert made(name).version.startswith(WRAPPED[name].version)


@pytest.mark.parametrize("name", [name for name, one in WRAPPED.items() if not one.is_slow])
def test_no_socket_is_opened_and_nothing_is_logged(made, name, tmp_path):
    detector, one = made(name), WRAPPED[name]
    note, expected = parse_marked("\n\n".join(one.found["en"]))
    options = one.options(tmp_path)

    found = check_offline(lambda: type(detector)(**options), note)

    assert {span.label for span in expected} <= {span.label for span in found}


@pytest.mark.parametrize("name", [name for name in NAMES if WRAPPED[name.values[0]].labels])
def test_a_kind_without_a_category_is_refused(made, name):
    made(name)
    labels, known = WRAPPED[name].labels

    with pytest.raises(UnknownLabelError, match="new_kind"):
        getattr(import_module(f"deid_{name}"), labels).require([known, "new_kind"])
