"""Suites catch what they are for, and their results hold numbers only."""

from __future__ import annotations

import logging
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.quality import Verdict, frames
from deid_assets.quality.expectations import run
from deid_assets.quality.suites import Suite, builtin

NOTE = Note("a", "Jane Lee was seen", lang="en")
GOOD = SpanSet.of(NOTE, [Span(0, 8, Phi.NAME)])
CANARY = "XCANARYX"


def failing(verdicts: list[Verdict]) -> set[str]:
    return {verdict.name for verdict in verdicts if verdict.failed}


def judged(suite: Suite, frame: pd.DataFrame) -> list[Verdict]:
    return run(suite, frame, sources=["gold"], labels=[label.value for label in Phi])


def counts(verdicts: list[Verdict]) -> dict[str, dict]:
    return {verdict.name: dict(verdict.counts) for verdict in verdicts}


@pytest.mark.parametrize(
    ("notes", "broken"),
    [
        ([NOTE, Note("b", "x"), Note("c", "y", lang="nl")], set()),
        ([], set()),
        ([NOTE, Note("a", "other")], {"ids_unique"}),
        ([NOTE, Note("b", "")], {"not_empty"}),
        ([NOTE, Note("b", "caf\ufffd")], {"encoding"}),
        ([NOTE, Note("b", "nul\x00")], {"encoding"}),
        ([NOTE, Note("b", "tab\tand\r\nform feed\f")], set()),
    ],
)
def test_raw_notes(notes: list[Note], broken: set[str]) -> None:
    assert failing(run(builtin("raw_notes"), frames.notes_frame(notes))) == broken


@pytest.mark.parametrize(
    ("suite", "frame"),
    [
        (builtin("raw_notes"), frames.notes_frame([])),
        (builtin("span_sets"), frames.span_sets_frame([NOTE], [])),
        (builtin("spans"), frames.spans_frame([NOTE], [])),
    ],
)
def test_without_rows_nothing_has_passed(suite, frame) -> None:
    assert {verdict.state.value for verdict in judged(suite, frame)} == {"not applicable"}


def test_a_doubtful_encoding_warns_and_everything_else_blocks() -> None:
    verdicts = run(builtin("raw_notes"), frames.notes_frame([NOTE]))

    assert {verdict.name for verdict in verdicts if not verdict.blocking} == {"encoding"}


def test_a_malformed_digest_is_found() -> None:
    frame = frames.notes_frame([NOTE, Note("b", "x")]).assign(digest=["f" * 64, "f" * 63 + "G"])

    assert counts(run(builtin("raw_notes"), frame))["digest_form"] == {"rows": 2, "bad": 1}


@pytest.mark.parametrize("missing", ["note_id", "n_chars", "digest", "broken_chars"])
def test_a_missing_value_fails_although_great_expectations_passes_over_it(missing: str) -> None:
    frame = frames.notes_frame([NOTE, Note("b", "x")])
    frame[missing] = frame[missing].where(frame["note_id"] == "a")

    assert len(failing(run(builtin("raw_notes"), frame))) == 1


@pytest.mark.parametrize(
    ("span_sets", "broken"),
    [
        ([GOOD], set()),
        ([SpanSet.of(NOTE, [])], set()),
        ([], set()),
        ([GOOD, GOOD], {"one_set_per_note"}),
        ([SpanSet("z", NOTE.digest)], {"notes_known", "digests_match"}),
        ([SpanSet("a", "0" * 64)], {"digests_match"}),
    ],
)
def test_span_sets(span_sets: list[SpanSet], broken: set[str]) -> None:
    assert failing(run(builtin("span_sets"), frames.span_sets_frame([NOTE], span_sets))) == broken


@pytest.mark.parametrize(
    ("spans", "broken"),
    [
        ([Span(0, 8, Phi.NAME), Span(8, 9, Phi.DATE)], set()),
        ([], set()),
        ([Span(0, 17, Phi.NAME)], set()),
        ([Span(0, 18, Phi.NAME)], {"in_bounds"}),
        ([Span(0, 8, Phi.NAME, source="stranger")], {"sources_known"}),
        ([Span(0, 8, Phi.NAME), Span(7, 9, Phi.DATE)], {"no_overlap"}),
        ([Span(0, 9, Phi.NAME), Span(2, 3, Phi.DATE), Span(5, 6, Phi.DATE)], {"no_overlap"}),
    ],
)
def test_merged_spans(spans: list[Span], broken: set[str]) -> None:
    frame = frames.spans_frame([NOTE], [SpanSet("a", NOTE.digest, tuple(spans))])

    assert (
        failing(judged(builtin("spans"), frame) + run(builtin("disjoint_spans"), frame)) == broken
    )


@pytest.mark.parametrize(
    ("column", "value", "broken"),
    [
        ("start", -1, {"in_bounds"}),
        ("start", 8, {"in_bounds"}),
        ("n_chars", None, {"in_bounds"}),
        ("label", "PATIENT", {"labels_known"}),
        ("label", None, {"labels_known"}),
        ("score", 1.01, {"scores_in_range"}),
        ("score", None, {"scores_in_range"}),
        ("source", None, {"sources_known"}),
    ],
)
def test_spans_from_elsewhere_are_checked_too(column: str, value: object, broken: set[str]) -> None:
    frame = frames.spans_frame([NOTE], [GOOD])
    frame = frames.add_margins(
        frame.assign(**{column: pd.array([value], dtype=frame[column].dtype)})
    )

    assert failing(judged(builtin("spans"), frame)) == broken


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.integers(1, 8)), max_size=12)
)
def test_a_gap_is_negative_exactly_where_a_span_overlaps_an_earlier_one(
    rows: list[tuple[str, int, int]],
) -> None:
    spans: dict[str, list[Span]] = {"a": [], "b": []}
    for note_id, start, size in rows:
        spans[note_id].append(Span(start, start + size, Phi.NAME))
    sets = [SpanSet(note_id, "d", tuple(found)) for note_id, found in spans.items()]

    gaps = frames.spans_frame([], sets)["gap"]

    overlapping = [
        span
        for found in sets
        for n, span in enumerate(found)
        if any(span.overlaps(one) for one in found.spans[:n])
    ]
    assert (gaps < 0).sum() == len(overlapping)


@pytest.mark.parametrize("frame", [pd.DataFrame({"other": [1]}), pd.DataFrame()])
def test_what_cannot_be_evaluated_fails_and_blocks(frame: pd.DataFrame) -> None:
    for name in ("raw_notes", "span_sets", "spans", "disjoint_spans"):
        for verdict in judged(builtin(name), frame):
            assert (verdict.passed, verdict.blocking, dict(verdict.counts)) == (
                False,
                True,
                {"not_evaluated": 1},
            )


@pytest.mark.parametrize("column", ["text", "value", "meta"])
def test_a_frame_with_text_is_refused(column: str) -> None:
    frame = frames.notes_frame([NOTE]).assign(**{column: CANARY})

    with pytest.raises(InputError, match=column) as caught:
        run(builtin("raw_notes"), frame)
    assert CANARY not in str(caught.value)


def test_frames_of_notes_hold_no_text() -> None:
    note = Note("a", f"{CANARY} was seen", CANARY, "en", {"ward": CANARY})
    spans = SpanSet.of(note, [Span(0, 8, Phi.NAME)])

    for frame in (
        frames.notes_frame([note]),
        frames.span_sets_frame([note], [spans]),
        frames.spans_frame([note], [spans]),
    ):
        assert CANARY not in frame.to_csv()


def test_offending_cells_appear_neither_in_verdicts_nor_in_logs_nor_on_the_terminal(
    caplog, capfd
) -> None:
    caplog.set_level(logging.DEBUG)
    spans = frames.spans_frame([NOTE], [GOOD]).assign(
        label=CANARY, source=CANARY, score=CANARY, note_id=CANARY
    )
    notes = pd.concat([frames.notes_frame([NOTE])] * 2).assign(
        note_id=CANARY, lang=CANARY, digest=CANARY
    )

    verdicts = judged(builtin("spans"), spans) + run(builtin("raw_notes"), notes)

    assert failing(verdicts) >= {"labels_known", "sources_known", "ids_unique", "digest_form"}
    assert counts(verdicts)["scores_in_range"] == {"not_evaluated": 1}
    output = capfd.readouterr()
    assert CANARY not in f"{verdicts} {caplog.text} {output.out} {output.err}"
    assert "it/s" not in output.err


def test_great_expectations_is_not_imported_until_a_suite_runs() -> None:
    program = (
        "import sys, deid_assets.quality, deid_assets.quality.suites,"
        " deid_assets.quality.expectations;import deid_assets.quality.text_checks;print([name for"
        " name in ('great_expectations', 'pandas', 'numpy', 'dagster') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert done.stdout.strip() == "[]"
