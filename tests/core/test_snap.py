"""Spans end where words do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import DisjointSpans, Note, Phi, Span, SpanSet
from deid_assets.core.resolve import POLICIES, Ensemble, inside_word, resolve, snap_to_words
from deid_assets.testing import mark, parse_marked

CASES = [
    ("Herr.<URL>Sc</URL>hulz kommt", "Herr.<URL>Schulz</URL> kommt"),
    ("see f1504<ID>dhu</ID>lz.", "see <ID>f1504dhulz</ID>."),
    ("Tues 2/<DATE>24</DATE>.", "Tues <DATE>2/24</DATE>."),
    ("HC: 7.<ID>318</ID>.442.", "HC: <ID>7.318.442</ID>."),
    ("<NAME>Müller</NAME>s Befund", "<NAME>Müllers</NAME> Befund"),
    ("Jose<NAME>\u0301</NAME> kam", "<NAME>Jose\u0301</NAME> kam"),
    ("Schmi\u00ad<NAME>dt</NAME>", "<NAME>Schmi\u00addt</NAME>"),
    ("anna_<USERNAME>lee</USERNAME>", "<USERNAME>anna_lee</USERNAME>"),
    ("<NAME>ab</NAME>c<DATE>d</DATE>e", "<NAME>abc</NAME><DATE>de</DATE>"),
]
WHOLE = [
    "<NAME>Lee</NAME>'s, <NAME>O\u2019Brien</NAME>\u2019s, l'<HOSPITAL>hôpital Necker</HOSPITAL>",
    "<NAME>Parkinson</NAME>-Syndrom, ex-<NAME>Lee</NAME>",
    (
        "<AGE>70</AGE>jährige, <AGE>82</AGE>-jährig, <DATE>12/12/2012</DATE>RAPPORT,"
        " le<PHONE>0698434020</PHONE>"
    ),
    "<DATE>06</DATE>/<DATE>07.11.2024</DATE>, <DATE>07/63</DATE>-<DATE>12/63</DATE>.",
    "<NAME>Lee</NAME>: <DATE>3/5</DATE>, 25 mg.<NAME>Lee</NAME>",
]


@pytest.mark.parametrize(("found", "expected"), [*CASES, *zip(WHOLE, WHOLE, strict=True)])
def test_spans_grow_to_the_words_they_cut_and_no_further(found, expected):
    note, spans = parse_marked(found)

    assert mark(note, snap_to_words(note.text, spans.spans)) == expected


texts = st.text(st.sampled_from("aÉ\u0301ß漢1٣²½ ._-'’/:,\n\u00ad\u200d"), min_size=1, max_size=40)


@given(texts, st.data(), st.sampled_from(sorted(POLICIES)))
def test_no_half_word_is_left_whatever_the_policy(text, data, policy):
    note = Note("n", text)
    at = st.integers(0, len(text) - 1)
    size = st.integers(1, 8)
    sources = st.sampled_from("ab")
    found = [
        Span(start, min(len(text), start + length), Phi.NAME, 1.0, source)
        for start, length, source in data.draw(st.lists(st.tuples(at, size, sources), max_size=6))
    ]
    spans = resolve(note, [SpanSet.of(note, found)], policy=policy, ensemble=Ensemble(("a", "b")))
    covered = {index for span in spans for index in range(span.start, span.end)}

    for span in spans:
        for border, beyond in ((span.start, span.start - 1), (span.end, span.end)):
            assert (
                not inside_word(text, border)
                or beyond in covered
                or joins_to(text, beyond, covered)
            )


def joins_to(text, at, covered):
    """Whether what joins two parts of a word is left alone between two spans."""
    return not text[at].isalnum() and {at - 1, at + 1} <= covered


@given(texts, st.data())
def test_spans_never_shrink_or_meet_and_growing_them_again_changes_nothing(text, data):
    borders = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pairs = zip(borders[::2], borders[1::2], strict=False)
    spans = [Span(start, end, Phi.NAME) for start, end in pairs]
    grown = snap_to_words(text, spans)

    assert all(
        new.start <= old.start and old.end <= new.end for old, new in zip(spans, grown, strict=True)
    )
    assert DisjointSpans.of(Note("n", text), grown).spans == tuple(grown)
    assert snap_to_words(text, grown) == grown


def test_growing_takes_time_in_proportion_to_the_text():
    text = "a1" * 50_000
    spans = [Span(at, at + 1, Phi.ID) for at in range(0, len(text), 10)]

    assert snap_to_words(text, spans)[-1].end == len(text)
