"""Checks for plugin authors tell what they are there to tell."""

import logging
import socket
from contextlib import suppress

import pytest

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.core.errors import DetectorError
from deid_assets.testing import check_offline

NOTE = Note("n", "Lee")


def detector_that(act):
    class Acting:
        name = "acting"
        version = "1"
        labels = frozenset({Phi.NAME})

        def detect(self, notes):
            act()
            return [SpanSet.of(note, [Span(0, 3, Phi.NAME, source="acting")]) for note in notes]

    return Acting


def dial():
    with suppress(OSError):
        socket.socket()


def look_up():
    with suppress(OSError):
        socket.getaddrinfo("example.org", 80)


def test_a_quiet_detector_gives_its_spans():
    assert len(check_offline(detector_that(lambda: None), NOTE)) == 1


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (dial, "reached for a socket"),
        (look_up, "reached for a look-up"),
        (lambda: logging.getLogger("acting").debug("Lee"), "logged 1 lines"),
    ],
)
def test_what_reaches_out_or_talks_is_told_though_it_goes_on(act, told):
    with pytest.raises(DetectorError, match=told):
        check_offline(detector_that(act), NOTE)
