"""Phileas forgets each note; what every wrapper promises is in tests/wrappers."""

from __future__ import annotations

from deid_assets.testing import parse_marked
from deid_phileas import PhileasDetector


def test_no_token_of_one_note_is_kept_for_the_next():
    from phileas import InMemoryContextService

    detector, kept = PhileasDetector(), []
    original = InMemoryContextService.put
    InMemoryContextService.put = lambda self, *args: (kept.append(id(self)), original(self, *args))[
        1
    ]
    try:
        notes = [parse_marked("jane@example.org", note_id=str(n))[0] for n in range(3)]
        services = [len(set(kept)) for _ in detector.detect(notes)]
    finally:
        InMemoryContextService.put = original

    assert services == sorted(services)
    assert not any("example" in str(value) for value in vars(detector).values())
