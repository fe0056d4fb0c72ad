"""Surrogates: believable, the same for one patient everywhere, different for another, never the
original.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import BUILTIN, load_policy
from deid_assets.policies.drawing import fold
from deid_surrogates.locales import locale_of
from deid_surrogates.surrogate import Surrogate

KEY = Key(b"a key for tests, 24 bytes")
GENERATED = sorted(set(Phi) - {Phi.AGE, Phi.SEX, Phi.RELATIVE, Phi.OTHER})


def draw(
    text: str, label: Phi, *, lang: str | None = "en", patient: str = "p", key: Key = KEY
) -> str:
    context = Context(Note("n", text, patient_id=patient, lang=lang), key)
    return Surrogate()(text, Span(0, len(text), label), context)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", fold(text)))


@pytest.mark.parametrize(
    ("lang", "text", "shape"),
    [
        ("en", "John Smith", r"[A-Z]\w+ [A-Z]\w+"),
        ("en", "SMITH, JOHN", r"[A-Z]{3,}, [A-Z]{3,}"),
        ("en", "smith", r"[a-z]{3,}"),
        ("en", "John A. O'Brien's", r"[A-Z]\w+ [B-Z]\. [A-Z]\w+'s"),
        ("en", "Smith\u2019s", r"[A-Z]\w+\u2019s"),
        ("en", "J.S.", r"[A-Z]\.[A-Z]\."),
        ("en", "JS", r"[A-Z]{2}"),
        ("en", "Dr. Ana García-López", r"Dr\. [A-Z]\w+ [A-Z]\w+-[A-Z]\w+"),
        ("en", "Jose\u0301 Smith", r"[A-Z]\w+ [A-Z]\w+"),
        ("en", "Miss Ana Lee, MD", r"Miss [A-Z]\w+ [A-Z]\w+, MD"),
        ("en", "van Gogh", r"van [A-Z]\w+"),
        ("es", "Juan de la Fuente", r"[A-ZÁÉÍÓÚ]\w+ de la [A-ZÁÉÍÓÚ]\w+"),
        ("es", "MARÍA DEL CARMEN RUIZ", r"\w+ DEL \w+ \w+"),
    ],
)
def test_a_name_keeps_its_form(lang, text, shape):
    drawn = draw(text, Phi.NAME, lang=lang)

    assert re.fullmatch(shape, drawn)
    assert not words_of(drawn) & words_of(text) - {
        "dr",
        "miss",
        "md",
        "de",
        "la",
        "del",
        "van",
        "s",
    }


def test_words_of_a_name_agree_over_its_forms():
    first, last = draw("Maria Garcia", Phi.NAME).split()

    assert draw("Garcia", Phi.NAME) == last
    assert draw("GARCÍA, MARÍA", Phi.NAME) == f"{last.upper()}, {first.upper()}"
    assert draw("Garcia's", Phi.NAME) == f"{last}'s"


@pytest.mark.parametrize(
    ("name", "gender"), [("Maria", "female"), ("Robert", "male"), ("Elizabeth", "female")]
)
def test_a_first_name_keeps_its_gender(name, gender):
    for patient in "abcdefgh":
        assert draw(name, Phi.NAME, patient=patient) in getattr(locale_of("en"), gender).names


@pytest.mark.parametrize("text", ["Van Nguyen", "La", "De", "y", "Don Smith", "Herr"])
def test_a_name_that_looks_like_a_particle_or_a_title_does_not_stay(text):
    assert draw(text, Phi.NAME).split()[0] != text.split()[0]


@pytest.mark.parametrize("text", ["John E Smith", "John I. Smith", "Juan Y. Smith"])
def test_an_initial_that_looks_like_a_particle_does_not_stay(text):
    assert draw(text, Phi.NAME).split()[1][0] != text.split()[1][0]


@pytest.mark.parametrize(
    ("label", "lang", "text", "shape"),
    [
        (Phi.MRN, "en", "MRN-123-45", r"[A-Z]{3}-[1-9]\d\d-\d\d"),
        (Phi.ID, "en", "patient ID: 897-65-43", r"patient ID: [1-9]\d\d-\d\d-\d\d"),
        (Phi.HOSPITAL, "es", "HGD", r"[A-Z]{3}"),
        (Phi.HOSPITAL, "es", "HOSPITAL DE LA CRUZ", r"HOSPITAL DE LA [^a-z]*"),
        (Phi.PHONE, "en", "(617) 253-0143", r"\([2-9]\d\d\) 555-01\d\d"),
        (Phi.PHONE, "en", "+1 617.253.0143", r"\+1 [2-9]\d\d\.555\.01\d\d"),
        (Phi.PHONE, "es", "+34 612 345 678", r"\+34 6\d\d \d\d\d \d\d\d"),
        (Phi.PHONE, "en", "Tel: 617-253-0143 ext. 42", r"Tel: \d{3}-\d{3}-\d{4} ext. \d\d"),
        (Phi.FAX, "es", "942 20 25 28", r"9\d\d \d\d \d\d \d\d"),
        (Phi.EMAIL, "en", "jane.roe@hospital.org", r"[a-z]+\.[a-z]+@example\.(com|net|org)"),
        (
            Phi.URL,
            "en",
            "https://www.hospital.org/jane",
            r"https://www\.example\.(com|net|org)/[0-9a-f]{6}",
        ),
        (Phi.URL, "en", "hospital.org", r"example\.(com|net|org)/[0-9a-f]{6}"),
        (Phi.IP, "en", "10.0.0.7", r"(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+"),
        (Phi.IP, "en", "fe80::1", r"2001:db8::[0-9a-f]+"),
        (Phi.ZIP, "es", "28905", r"(0[1-9]|[1-4]\d|5[0-2])\d{3}"),
        (Phi.ZIP, "en", "02139-4307", r"\d{5}-\d{4}"),
        (Phi.DEVICE, "en", "00:1a:2b:3c:4d:5e", r"[0-9a-f]{2}(:[0-9a-f]{2}){5}"),
        (Phi.STREET, "en", "12 Main St, Apt 4", r"[1-9]\d [A-Z][\w ]+ St, Apt [1-9]"),
        (Phi.STREET, "es", "Calle Mayor, 19", r"Calle [\w ]+, [1-9]\d"),
        (Phi.STREET, "es", "Calle Mayor", r"Calle [\w ]+"),
        (Phi.REGION, "en", "MA", r"[A-Z]{2}"),
        (Phi.LOCATION, "en", "4-213B", r"[1-9]-\d\d\d[A-Z]"),
        (Phi.HOSPITAL, "es", "Hospital de la Cruz", r"Hospital de la .*"),
        (Phi.USERNAME, "en", "jsmith42", r"[a-z]{4,}[1-9]\d"),
    ],
)
def test_a_surrogate_has_the_form_of_its_category(label, lang, text, shape):
    for patient in "abcdefgh":
        assert re.fullmatch(shape, draw(text, label, lang=lang, patient=patient))


@pytest.mark.parametrize(
    ("label", "text", "module"),
    [
        (Phi.NATIONAL_ID, "12345678Z", "es.dni"),
        (Phi.NATIONAL_ID, "12.345.678-z", "es.dni"),
        (Phi.NATIONAL_ID, "X1234567L", "es.nie"),
        (Phi.NATIONAL_ID, "536-22-8726", "us.ssn"),
        (Phi.NATIONAL_ID, "943 476 5919", "gb.nhs"),
        (Phi.MRN, "943 476 5919", "gb.nhs"),
        (Phi.ACCOUNT, "4111 1111 1111 1111", "luhn"),
    ],
)
def test_check_digits_are_right_where_they_were_right(label, text, module):
    stdnum = pytest.importorskip("stdnum")
    checker = __import__(f"{stdnum.__name__}.{module}", fromlist=["is_valid"])
    assert checker.is_valid(text.replace(".", "").replace(" ", ""))

    for patient in map(str, range(40)):
        drawn = draw(text, label, lang="es", patient=patient)
        assert checker.is_valid(drawn.replace(".", "").replace(" ", ""))
        assert drawn != text


def test_a_provider_number_keeps_its_check_digit():
    luhn = pytest.importorskip("stdnum.luhn")

    assert all(
        luhn.is_valid("80840" + draw("1234567893", Phi.LICENSE, patient=p))
        for p in map(str, range(40))
    )


def test_separators_and_case_do_not_change_an_identifier():
    drawn = draw("ab-123-45", Phi.MRN)

    assert draw("AB12345", Phi.MRN) == drawn.replace("-", "").upper()


@pytest.mark.parametrize("label", [Phi.AGE, Phi.SEX, Phi.RELATIVE, Phi.OTHER])
def test_a_category_without_a_generator_is_tagged(label):
    assert draw("something", label) == f"[{label}]"


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (Phi.DATE, "yesterday"),
        (Phi.MRN, "unknown"),
        (Phi.PHONE, "-"),
        (Phi.NAME, "?"),
        # A word beside the number, or spelling it, and characters that are no letters would stay.
        (Phi.PHONE, "617-253-0143 (Mary)"),
        (Phi.PHONE, "1-800-FLOWERS"),
        (Phi.NAME, "\u0930\u093e\u092e"),
    ],
)
def test_what_cannot_be_read_is_tagged(label, text):
    assert draw(text, label) == f"[{label}]"


def test_one_patient_has_one_surrogate_in_every_note(redacted):
    text = "<NAME>Ann Lee</NAME> <MRN>12345</MRN> <DATE>2021-05-03</DATE> <CITY>Boston</CITY>"

    assert redacted(text, note_id="a") == redacted(f"Again: {text}", note_id="b").removeprefix(
        "Again: "
    )
    assert redacted(text, patient_id=None, note_id="a") != redacted(
        text, patient_id=None, note_id="b"
    )


def test_a_note_id_is_not_taken_for_a_patient(redacted):
    assert redacted("<MRN>123456789</MRN>", patient_id="x") != redacted(
        "<MRN>123456789</MRN>", patient_id=None, note_id="x"
    )


@pytest.mark.parametrize("label", [Phi.NAME, Phi.MRN, Phi.EMAIL, Phi.STREET])
def test_another_patient_or_key_gives_other_surrogates(label):
    text = "Maria Garcia 123456789"
    other = Key(b"another key for tests, 32 bytes.")

    assert len({draw(text, label, patient=p) for p in map(str, range(30))}) > 20
    assert draw(text, label) != draw(text, label, key=other)


@settings(deadline=None)  # the lists of a language are read with its first value
@given(
    st.text(min_size=1, max_size=30),
    st.sampled_from(GENERATED),
    st.sampled_from(["en", "es", "de", "fi", None]),
)
@example("Garcia", Phi.NAME, "en")
@example("0", Phi.MRN, "en")
@example("a1", Phi.MRN, "en")
def test_a_surrogate_is_never_its_original_and_always_the_same(text, label, lang):
    drawn = draw(text, label, lang=lang)

    assert drawn.casefold() != text.casefold()
    assert drawn == draw(text, label, lang=lang)


@given(
    st.from_regex(r"[A-Z]{0,3}-?[0-9]{4,12}(-[0-9a-z]{1,4})?", fullmatch=True),
    st.sampled_from([Phi.MRN, Phi.ID]),
)
def test_an_identifier_keeps_its_shape(text, label):
    def shape(value: str) -> str:
        return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "9", value)))

    assert shape(draw(text, label)) == shape(text)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=8), st.sampled_from(list(Phi)), st.text(min_size=1, max_size=12)
        ),
        max_size=6,
    ),
    st.sampled_from(BUILTIN),
)
def test_every_builtin_policy_redacts_any_text_and_leaves_the_rest(pieces, name):
    text, spans = "", []
    for between, label, covered in pieces:
        start = len(text) + len(between)
        spans.append(Span(start, start + len(covered), label))
        text += between + covered
    note = Note("n", text, patient_id="p", lang="en")

    redacted = redact(note, DisjointSpans.of(note, spans), load_policy(name), key=KEY)

    cursor = new_cursor = 0
    for edit in redacted.edits:
        assert redacted.text[new_cursor : edit.new_start] == text[cursor : edit.start]
        cursor, new_cursor = edit.end, edit.new_end
    assert redacted.text[new_cursor:] == text[cursor:]
