"""Damaged files of every format give notes or faults.

10⁶ of each text format and 10⁵ of each container when all are asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from random import Random

import pytest
from fuzzing.containers import (
    damaged_archive,
    damaged_docx,
    damaged_parquet,
    damaged_pdf,
    without_styles,
)
from fuzzing.damage import OF_FORMAT, damaged_text
from fuzzing.pdf_forks import Forks
from fuzzing.reading import golden, reading
from fuzzing.watched import watched

from deid_assets.formats import FORMATS

CONTAINERS = {
    "docx": (damaged_docx, 25),
    "pdf": (damaged_pdf, 25),
    "parquet": (damaged_parquet, 40),
    "omop": (damaged_parquet, 40),
}


@pytest.fixture
def tries(campaign):
    """A function that makes the campaign's tries and fails with what was found."""

    def make(share: int, whole: int, one: Callable[[int], str]) -> None:
        counts, findings = watched(campaign.numbers(share, whole), one, campaign.tell)
        campaign.counts.update(counts)
        assert not findings, "\n".join(findings)

    return make


@contextmanager
def pdf_by_fork():
    """Start the process that reads each PDF by ``fork``."""
    reader = sys.modules[FORMATS["pdf"].reader.__module__]
    forks, before = Forks(), reader.subprocess
    reader.subprocess = forks
    try:
        yield
    finally:
        reader.subprocess = before
        forks.close()


@pytest.mark.parametrize("name", OF_FORMAT)
def test_damaged_text_gives_notes_or_faults_campaign(name, tries):
    paths = golden(name)
    assert paths
    with ExitStack() as places:
        rows = []
        for suffix in sorted({path.suffix for path in paths}):
            same = [path for path in paths if path.suffix == suffix]
            beside = (
                next((path for path in paths if path.name == "a1.txt"), None)
                if suffix == ".ann"
                else None
            )
            rows.append(
                (
                    places.enter_context(reading(name, suffix, beside)),
                    [path.read_bytes() for path in same],
                )
            )

        def one(number: int) -> str:
            place, originals = rows[number % len(rows)]
            return place.outcome(damaged_text(name, originals, Random(number)))

        tries(150, 1_000_000, one)


@pytest.mark.parametrize("name", CONTAINERS)
def test_damage_inside_a_container_gives_notes_or_faults_campaign(name, tries):
    damaged, share = CONTAINERS[name]
    paths = [path for path in golden(name) if path.suffix != ".omop"]
    assert paths
    originals = [path.read_bytes() for path in paths]
    if name == "docx":
        originals = [without_styles(content) for content in originals]
    with pdf_by_fork(), reading(name, paths[0].suffix) as place:
        tries(share, 100_000, lambda number: place.outcome(damaged(originals, Random(number))))


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_a_damaged_archive_gives_notes_or_faults_campaign(suffix, tries):
    originals = [path.read_bytes() for path in golden("jsonl")]
    with reading("jsonl", suffix) as place:
        tries(
            40,
            100_000,
            lambda number: place.outcome(damaged_archive(originals, Random(number), suffix)),
        )
