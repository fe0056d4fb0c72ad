import hashlib
import re
import statistics
import subprocess
import sys
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans
from deid_assets.testing import mark, parse_marked
from deid_synthesis import KINDS, languages, make_corpus

ALWAYS_PLAIN = {Phi.AGE}
"""Labels whose text also occurs as plain numbers."""

WORDS_TOO = re.compile(
    r"(?i)will|foley|may|grant|hope|grace|rose|young|long|short|day|white|black|head|hand|foot|hill|stone|strong|mark"
    r"|parkinson|hodgkin|bell|murphy|graves|ward|price|rich|guy|max|love|church|cook|paz|consuelo|esperanza|mar|luz"
    r"|salud|cabeza|sangre|mayo|abril|blanco|rey|bueno|claro|justo|severo|delgado|calvo|moreno|rubio|madrid|sierra"
    r"|esperança|nascimento|pessoa|campos|câmara"
)
"""Names that the grammars also use as words; such occurrences are not PHI."""


def _texts(lang, seed, notes=12):
    return [mark(note, spans) for note, spans in make_corpus(lang=lang, notes=notes, seed=seed)]


def _covered(note, spans):
    return {position for span in spans for position in range(span.start, span.end)}


def test_the_same_seed_gives_the_same_bytes_in_another_process(lang):
    code = (
        "import sys, hashlib; from deid_synthesis import make_corpus; from deid_assets.testing"
        f" import mark;texts = [mark(n, s) for n, s in make_corpus(lang={lang!r}, notes=12,"
        " seed=5)];print(hashlib.sha256('\\0'.join(texts).encode()).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert other == hashlib.sha256("\0".join(_texts(lang, 5)).encode()).hexdigest()


def test_another_seed_gives_other_notes(lang):
    assert not set(_texts(lang, 1)) & set(_texts(lang, 2))


def test_a_shorter_corpus_is_the_start_of_a_longer_one(lang):
    assert _texts(lang, 3, notes=9) == _texts(lang, 3, notes=14)[:9]


def test_bare_notes_label_every_name_that_they_hold(lang):
    for note, spans in make_corpus(lang=lang, notes=24, seed=4, mix="bare"):
        covered = _covered(note, spans)
        names = {
            note.text[span.start : span.end]
            for span in spans
            if span.label is Phi.NAME and span.end > span.start + 5
        }
        assert len(spans) > 3
        for found in (
            match for name in names for match in re.finditer(rf"\b{re.escape(name)}\b", note.text)
        ):
            assert covered >= set(range(*found.span())) or WORDS_TOO.search(found[0])


def test_languages_do_not_share_texts():
    assert not set(_texts("en", 1)) & set(_texts("es", 1))


def test_notes_carry_ids_language_kind_and_patient(lang, corpus):
    assert [note.note_id for note, _ in corpus] == [f"syn-{lang}-20-{n:06d}" for n in range(200)]
    assert {note.lang for note, _ in corpus} == {lang}
    assert {note.meta["kind"] for note, _ in corpus} == set(KINDS)
    assert all(note.patient_id for note, _ in corpus)


def test_patients_have_several_notes_and_keep_one_record_number(corpus):
    patients = {}
    for note, spans in corpus:
        if not {"spaced_digits", "wrapped_number"} & set(note.meta["cases"].split(",")):
            found = {
                " ".join(note.text[s.start : s.end].split()).upper()
                for s in spans
                if s.label is Phi.MRN
            }
            patients.setdefault(note.patient_id, []).append(found)
    assert statistics.mean(map(len, patients.values())) > 2
    for numbers in patients.values():
        assert len(set().union(*numbers)) <= 2  # the record number, and in Spanish the health card


def test_the_ages_of_a_note_follow_from_its_birth_date(corpus):
    for note, spans in corpus:
        ages = {
            int(age)
            for s in spans
            if s.label is Phi.AGE
            for age in re.findall(r"\d+", note.text[s.start : s.end])
        }
        assert len(ages) <= 1
        assert all(2 < age < 101 for age in ages)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_can_be_chosen(lang, kind):
    notes = [note for note, _ in make_corpus(lang=lang, notes=5, seed=1, kinds=[kind])]
    assert len(notes) == 5
    assert {note.meta["kind"] for note in notes} == {kind}


def test_spans_are_disjoint_trimmed_and_within_the_note(corpus):
    for note, spans in corpus:
        DisjointSpans.of(note, spans)
        for span in spans:
            text = note.text[span.start : span.end]
            assert text
            assert text == text.strip()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(), code=st.sampled_from(languages()))
def test_any_seed_gives_sane_notes(seed, code):
    for note, spans in make_corpus(lang=code, notes=3, seed=seed):
        assert 300 <= len(note) <= 6000
        assert all(note.text[s.start : s.end].strip() == note.text[s.start : s.end] for s in spans)


def test_marked_text_reads_back_to_the_same_spans(corpus):
    for note, spans in corpus[:40]:
        again, again_spans = parse_marked(mark(note, spans))
        assert again.text == note.text
        assert [(s.start, s.end, s.label) for s in again_spans] == [
            (s.start, s.end, s.label) for s in spans
        ]


def test_what_is_labelled_once_is_labelled_everywhere(corpus):
    for note, spans in corpus:
        covered = _covered(note, spans)
        for text in {note.text[s.start : s.end] for s in spans if s.label not in ALWAYS_PLAIN}:
            if len(text) < 5 or WORDS_TOO.fullmatch(text):
                continue
            for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", note.text):
                assert set(range(*match.span())) <= covered, (note.note_id, match.span())


def test_no_part_of_a_name_is_left_unlabelled(corpus):
    for note, spans in corpus:
        covered = _covered(note, spans)
        names = {note.text[s.start : s.end] for s in spans if s.label is Phi.NAME}
        for word in {word for name in names for word in re.findall(r"\w{4,}", name)}:
            if WORDS_TOO.fullmatch(word):
                continue
            for match in re.finditer(rf"(?<!\w){word}(?!\w)", note.text):
                assert match.start() in covered, (note.note_id, match.span())


@pytest.mark.long
def test_about_one_note_in_eight_has_no_phi_and_none_of_the_names(corpus):
    free = [note for note, spans in corpus if not spans.spans]
    assert 0.06 <= len(free) / len(corpus) <= 0.20
    assert {note.meta["phi"] for note in free} == {"no"}
    names = {
        note.text[s.start : s.end] for note, spans in corpus for s in spans if s.label is Phi.NAME
    }
    for note in free:
        for name in names:
            if len(name) > 3 and not WORDS_TOO.fullmatch(name):
                assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", note.text)


def test_notes_are_between_300_and_6000_characters_and_about_1900_on_average(corpus):
    sizes = [len(note) for note, _ in corpus]
    assert min(sizes) >= 300
    assert max(sizes) <= 6000
    assert max(sizes) > 4000
    assert 1700 <= statistics.mean(sizes) <= 2300


def test_notes_do_not_resemble_each_other(corpus):
    shingles = []
    for note, _ in corpus:
        words = note.text.split()
        shingles.append({tuple(words[start : start + 5]) for start in range(len(words) - 4)})
    overlaps = [len(a & b) / len(a | b) for a, b in combinations(shingles, 2)]
    assert statistics.median(overlaps) < 0.05
    assert max(overlaps) < 0.5


def test_words_vary(corpus):
    words = [word for note, _ in corpus for word in re.findall(r"[^\W\d_]+", note.text.lower())]
    assert len(set(words)) > 2_500


def test_layout_varies(corpus):
    texts = [note.text for note, _ in corpus]
    assert any("\r\n" in text for text in texts)
    assert any(text.upper() == text for text in texts)
    assert any(re.search(r"^- ", text, re.MULTILINE) for text in texts)
    assert any(max(map(len, text.splitlines())) <= 90 for text in texts)
    assert all("\t\t" not in text and "{" not in text and "}" not in text for text in texts)


def test_an_unknown_language_kind_or_count_is_refused():
    unknown = next(code for code in ("xx", "yy") if code not in languages())
    known = re.escape(", ".join(languages()))
    with pytest.raises(ConfigError, match=f"language '{unknown}'; choose one of {known}$"):
        make_corpus(lang=unknown, notes=1, seed=1)
    with pytest.raises(InputError, match="poem; choose of emergency"):
        make_corpus(lang="en", notes=1, seed=1, kinds=["poem"])
    with pytest.raises(InputError, match="none given"):
        make_corpus(lang="en", notes=1, seed=1, kinds=[])
    with pytest.raises(InputError, match="0 or more"):
        make_corpus(lang="en", notes=-1, seed=1)
    assert list(make_corpus(lang="en", notes=0, seed=1)) == []


def test_synthesis_needs_the_standard_library_only():
    code = (
        "import sys, deid_synthesis; print(sorted({'faker','pandas','dagster','pyarrow'} &"
        " set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"
