"""A patient's name has one surrogate in every note and batch, or the tag; however it is read."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies.needs import originals_of
from deid_surrogates import names
from deid_surrogates.locales import locale_of
from deid_surrogates.names import full_name
from deid_surrogates.surrogate import Surrogate

KEY = Key(b"a key for tests, 24 bytes")
LANGS = ("de", "en", "es", "fi", "fr", "it", "nl", "pt", "sv")


def draw(text: str, *, patient: str = "p", before: str = "") -> str:
    note = Note("n", before + text, patient_id=patient, lang="en")
    return Surrogate()(text, Span(len(before), len(note.text), Phi.NAME), Context(note, KEY))


def test_a_surrogate_that_is_a_name_of_the_note_becomes_the_tag_and_is_counted():
    free = draw("Smith")
    text = f"{free} and Smith"
    note = Note("n", text, patient_id="p", lang="en")
    context = Context(note, KEY)

    assert Surrogate()("Smith", Span(len(free) + 5, len(text), Phi.NAME), context) == "[NAME]"
    assert context.fallbacks == {Phi.NAME: 1}


@pytest.mark.parametrize(
    ("written", "is_taken"),
    [
        ("{name}", True),
        ("{NAME}", True),
        ("{name}'s", True),
        ("{lower}", False),
        ("{name}ville", False),
        ("\u00e9{name}", False),
    ],
)
def test_only_a_word_with_a_capital_takes_a_name(written, is_taken):
    free = draw("Smith")
    before = written.format(name=free, NAME=free.upper(), lower=free.lower()) + " "

    assert (draw("Smith", before=before) == "[NAME]") is is_taken


def test_a_name_in_lower_case_that_is_marked_takes_it_too(redacted):
    free = draw("Smith", patient="patient-1")

    assert redacted(f"<NAME>{free.lower()}</NAME> <NAME>Smith</NAME>").split()[1] == "[NAME]"


def test_a_whole_name_of_the_batch_is_not_drawn():
    note = Note("n", "John Smith", patient_id="p", lang="en")
    span = Span(0, 10, Phi.NAME)
    first = Surrogate()("John Smith", span, Context(note, KEY))
    real = Note("m", first, patient_id="q", lang="en")
    batch = [(real, DisjointSpans.of(real, [Span(0, len(first), Phi.NAME)]))]
    originals = originals_of(Policy("mine", Surrogate()), KEY, batch)

    assert Surrogate()("John Smith", span, Context(note, KEY, originals=originals)) == "[NAME]"


@settings(deadline=None)
@given(
    st.sampled_from(locale_of("en").female.names[:300]),
    st.sampled_from(locale_of("en").last.names[:300]),
    st.lists(st.sampled_from(locale_of("en").last.names), max_size=40),
    st.booleans(),
    st.integers(0, 99),
)
def test_a_name_has_one_surrogate_in_every_note_and_batch_or_the_tag(
    first, last, others, is_met, patient
):
    name, beside = f"{first} {last}", " ".join(others)
    alone = draw(name, patient=str(patient))
    met = {full_name(name, "en"), full_name(alone, "en") if is_met else "somebody else"}
    note = Note("n", f"{beside} {name}", patient_id=str(patient), lang="en")
    span = Span(len(beside) + 1, len(note.text), Phi.NAME)

    drawn = Surrogate()(name, span, Context(note, KEY, originals=met))

    assert drawn in (alone, "[NAME]")
    assert (drawn == "[NAME]") is (is_met or not set(alone.split()).isdisjoint(note.text.split()))


@settings(deadline=None)
@given(
    st.sampled_from(LANGS),
    st.lists(
        st.sampled_from(
            (
                "Ann",
                "LEE",
                "García",
                "J",
                "J.",
                "de",
                "Mr.",
                "MD",
                "Jr",
                "M.",
                "Walter",
                "McKay",
                "o'Neill",
            )
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from((" ", ", ", ",", "-", ". ")),
    st.sampled_from((str, str.upper, str.title)),
)
@example("en", ["Lee", "Ann", "J."], ", ", str)
@example("it", ["Bruzzone", "Gian", "Carlo"], " ", str)
@example("es", ["Ana", "García", "López"], " ", str.upper)
def test_names_read_word_by_word_are_read_as_all_others_are(lang, words, separator, cased):
    text = cased(separator.join(words))
    for name in (
        text,
        text.replace(separator, " "),
        text.replace(separator, " ").replace(" ", separator, 1),
    ):
        plain = names._plain(name, lang)

        assert plain is None or plain[0] == names._parse(name, lang)[0]


@pytest.mark.parametrize(
    "text", ["Ann Lee", "LEE, ANN", "LEES,ANNA", "Lee", "Ann J. Lee", "Lee, Ann J"]
)
def test_the_usual_names_are_read_word_by_word(text):
    # short capitals may be initials
    assert (names._plain(text, "en") is None) is (text == "LEE, ANN")
