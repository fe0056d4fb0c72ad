"""The benchmark of short forms counts what is touched needlessly and what of an identifier
is left.
"""

import sys
from pathlib import Path

import pytest

from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.testing import parse_marked

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import bench_short_forms

    return bench_short_forms


def test_what_is_touched_and_what_is_left_are_counted_by_character(program):
    line = parse_marked("Dr. <NAME>Lee</NAME> @ 2100. hold")
    spans = DisjointSpans.of(line[0], [Span(8, 16, Phi.EMAIL)])

    assert program.tally(line, spans, load_policy("tag")) == (8, 3)


def test_a_category_that_the_policy_may_leave_is_not_left_wrongly(program):
    line = parse_marked("from <COUNTRY>Peru</COUNTRY>, aged <AGE>45</AGE>", lang="en")
    nothing = DisjointSpans.of(line[0], [])
    kept = sum(
        len(text)
        for text, label in (("Peru", Phi.COUNTRY), ("45", Phi.AGE))
        if label not in may_leave()
    )

    assert program.tally(line, nothing, load_policy("limited_data_set")) == (0, kept)


def may_leave():
    return load_policy("limited_data_set").may_leave


def test_the_table_has_a_row_for_each_detector_and_policy(program, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["bench", "--lang", "en", "--detector", "rules", "--policy", "tag", "--show"]
    )
    program.main()
    printed = capsys.readouterr().out

    assert "| rules | tag | 0 / 0 | 0 / 0 |" in printed
    assert "en-" not in printed
