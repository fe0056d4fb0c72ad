"""Names: one person stays one person, of the same sex, in the same form, and never himself."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.policies.drawing import fold
from deid_assets.testing import parse_marked
from deid_surrogates.locales import locale_of
from deid_surrogates.locales.finnish import cases
from deid_surrogates.surrogate import Surrogate
from deid_surrogates.words import is_name

KEY = Key(b"a key for tests, 24 bytes")
LANGS = ("de", "en", "es", "fi", "fr", "it", "nl", "pt", "sv")
PATIENTS = [f"patient {number}" for number in range(12)]


def draw(
    text: str,
    *,
    lang: str = "en",
    patient: str = "p",
    label: Phi = Phi.NAME,
    before: str = "",
    after: str = "",
):
    note = Note("n", before + text + after, patient_id=patient, lang=lang)
    return Surrogate()(text, Span(len(before), len(before + text), label), Context(note, KEY))


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize(
    ("lang", "one", "other"),
    [
        ("en", "Bill Turner", "William Turner"),
        ("en", "Smith, John", "SMITH, JOHN"),
        ("es", "Paco García", "Francisco Garcia"),
        ("it", "Beppe Rossi", "Giuseppe Rossi"),
        ("sv", "Lasse Svensson", "Lars Svensson"),
        ("fi", "Jussi Mäki", "Juhani Mäki"),
    ],
)
def test_forms_of_one_name_name_one_person(patient, lang, one, other):
    last = [
        draw(text, lang=lang, patient=patient).split()[-1 if "," not in text else 0]
        for text in (one, other)
    ]
    first = [draw(text.split()[0].strip(","), lang=lang, patient=patient) for text in (one, other)]
    nick = locale_of(lang).name_words.nicknames

    assert fold(last[0]) == fold(last[1])
    assert len({nick.get(fold(name), fold(name)) for name in first}) == 1


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize(
    ("lang", "surname_first", "given_first"),
    [
        ("fi", "KYTÖKANGAS MARIA", "Maria Kytökangas"),
        ("it", "Rosastri Ciro", "Ciro Rosastri"),
        ("it", "Bruzzone Gian Carlo", "Gian Carlo Bruzzone"),
        ("fr", "LACROIX BENOÎT", "Benoît Lacroix"),
        ("es", "García López María", "María García López"),
        ("en", "Johnson Mary", "Mary Johnson"),
    ],
)
def test_a_surname_may_stand_first(patient, lang, surname_first, given_first):
    drawn = [
        fold(draw(text, lang=lang, patient=patient)).split()
        for text in (surname_first, given_first)
    ]

    assert sorted(drawn[0]) == sorted(drawn[1])
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize(
    ("lang", "text", "titled"),
    [
        ("en", "Zoltrix Martin", "Mr. Martin"),
        ("en", "Baker Martin", "Mr. Martin"),
        ("de", "Zoltrix Peter", "Herr Peter"),
    ],
)
def test_a_surname_stands_last_where_nothing_tells_otherwise(lang, text, titled):
    assert draw(text, lang=lang).split()[-1] == draw(titled, lang=lang).split()[-1]


@pytest.mark.parametrize("patient", PATIENTS)
def test_an_account_of_initial_particles_and_surname_follows_them(patient):
    name, account = "Yannick van der Meer", "yvandermeer67@mail.example.com"
    first, *particles, last = draw(name, lang="nl", patient=patient, after=f" {account}").split()
    drawn = draw(account, lang="nl", patient=patient, label=Phi.EMAIL, before=f"{name} ")

    assert particles == ["van", "der"]
    assert re.fullmatch(
        rf"{fold(first)[0]}vander{fold(last)}[0-9]{{2}}@example\.(com|net|org)", drawn
    )


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize(
    ("lang", "surname"), [("en", "Smith"), ("de", "Schmidt"), ("nl", "Smit"), ("fi", "Virtanen")]
)
def test_initials_and_addresses_follow_the_name(patient, lang, surname):
    first, last = (
        fold(word) for word in draw(f"Robert {surname}", lang=lang, patient=patient).split()
    )

    assert fold(draw(f"R. {surname}", lang=lang, patient=patient)) == f"{first[0]}. {last}"
    assert fold(draw(f"R{surname[0]}", lang=lang, patient=patient)) == first[0] + last[0]
    for user, expected in [
        (f"robert.{surname}", f"{first}.{last}@"),
        (f"r.{surname}", f"{first[0]}.{last}@"),
        (f"r{surname}", f"{first[0]}{last}@"),
        (f"robert{surname}", f"{first}{last}@"),
    ]:
        drawn = draw(f"{user.lower()}@ward.example", lang=lang, patient=patient, label=Phi.EMAIL)
        # German addresses write umlauts with two letters.
        assert _plain(drawn).startswith(_plain(expected))


def _plain(text: str) -> str:
    return text.replace("ae", "a").replace("oe", "o").replace("ue", "u")


@pytest.mark.parametrize(
    ("lang", "before", "name", "pool"),
    [
        ("en", "Mrs. ", "Zorblax Turner", "female"),
        ("en", "Mr. ", "Zorblax Turner", "male"),
        ("en", "", "Zorblax Turner", "neutral"),
        ("de", "Frau ", "Zorblax Müller", "female"),
        ("de", "Herr ", "Zorblax Müller", "male"),
        ("fr", "Mme ", "Zorblax Dupont", "female"),
        ("nl", "dhr. ", "Zorblax Visser", "male"),
        ("fi", "rouva ", "Zorblax Virtanen", "female"),
        ("sv", "herr ", "Zorblax Lindgren", "male"),
        ("it", "signora ", "Zorblax Rossi", "female"),
        ("es", "Sra. ", "Zorblax García", "female"),
    ],
)
def test_a_title_tells_the_sex_of_an_unknown_given_name(lang, before, name, pool):
    for patient in PATIENTS:
        first = draw(name, lang=lang, before=before, patient=patient).split()[0]
        assert first in getattr(locale_of(lang), pool).names


@pytest.mark.parametrize("lang", LANGS)
def test_a_given_name_stays_of_its_sex(lang):
    locale = locale_of(lang)

    for pool in (locale.female, locale.male):
        for name in pool.names[::40]:
            drawn = draw(name, lang=lang)
            assert (
                drawn in pool.names
                or fold(drawn) in locale.name_words.nicknames
                or fold(name) in locale.surnames
            )


@pytest.mark.parametrize(
    ("lang", "base", "inflected", "ending"),
    [
        ("en", "Smith", "Smith's", "'s"),
        ("en", "SMITH", "SMITH'S", "'S"),
        ("de", "Müller", "Müllers", "(s|')"),
        ("nl", "Anna", "Anna's", "('s|s|')"),
        ("sv", "Andersson", "Anderssons", "s?"),
    ],
)
def test_a_genitive_stays_one(lang, base, inflected, ending):
    for patient in PATIENTS:
        stem = re.escape(draw(base, lang=lang, patient=patient))
        assert re.fullmatch(f"{stem}{ending}", draw(inflected, lang=lang, patient=patient))


@pytest.mark.parametrize(
    ("name", "is_given", "forms"),
    [
        ("Virtanen", False, "Virtasen Virtasta Virtaseen Virtasella"),
        ("Mäki", False, "Mäen Mäkeä Mäkeen Mäellä"),
        ("Lahti", False, "Lahden Lahtea Lahteen Lahdella"),
        ("Ranta", False, "Rannan Rantaa Rantaan Rannalla"),
        ("Aalto", False, "Aallon Aaltoa Aaltoon Aallolla"),
        ("Laine", False, "Laineen Lainetta Laineeseen Laineella"),
        ("Heikkilä", False, "Heikkilän Heikkilää Heikkilään Heikkilällä"),
        ("Andersson", False, "Anderssonin Anderssonia Anderssoniin Anderssonilla"),
        ("Pekka", True, "Pekan Pekkaa Pekkaan Pekalla"),
        ("Matti", True, "Matin Mattia Mattiin Matilla"),
        ("Ville", True, "Villen Villeä Villeen Villellä"),
        ("Aino", True, "Ainon Ainoa Ainoon Ainolla"),
        ("Mika", True, "Mikan Mikaa Mikaan Mikalla"),
    ],
)
def test_finnish_names_take_their_cases(name, is_given, forms):
    found = cases(name, is_given=is_given)

    assert [found[case] for case in ("gen", "par", "ill", "ade")] == forms.split()


@settings(deadline=None)
@given(
    st.sampled_from(locale_of("fi").last.names),
    st.sampled_from(["gen", "par", "ine", "ela", "ill", "ade", "all"]),
)
def test_a_finnish_name_in_any_case_has_the_surrogate_of_its_base_form_in_that_case(name, case):
    inflection = locale_of("fi").inflection
    drawn = draw(name, lang="fi")
    inflected = inflection.join(name, case)

    # Salosta is of Salo and of Salonen.
    if inflection.split(inflected, lambda word: is_name(locale_of("fi"), word)) == (
        fold(name),
        case,
    ):
        assert draw(inflected, lang="fi") == inflection.join(drawn, case)


@pytest.mark.parametrize(
    ("lang", "text", "shape"),
    [
        ("nl", "van den Berg", r"van den [A-Z]\w+"),
        ("nl", "VRIES, JAN DE", r"[A-ZÀ-Þ]{3,}, [A-ZÀ-Þ]{2,} DE"),
        ("nl", "A.Th. Bakker", r"[A-Z]\.[A-Z]\. [A-Z]\w+"),
        ("nl", "JdV", r"[A-Z]d[A-Z]"),
        ("de", "von der Leyen", r"von der [A-Z]\w+"),
        ("de", "K.-H. Weber", r"[A-Z]\.-[A-Z]\. [A-Z]\w+"),
        ("es", "De la Cruz", r"De la [A-Z]\w+"),
        ("fr", "M. DUPONT", r"M\. [A-ZÀ-Ý]+"),
        ("fr", "DUPONT Marie", r"[A-ZÀ-Ý]+ [A-ZÀ-Ý][a-zà-ÿ]+"),
        ("fr", "d'Anne", r"(d'[AEIOUYÀÂÉÈÊÎÔH]|de [A-Z])\w+"),
        ("it", "Dott.ssa Bianchi", r"Dott\.ssa [A-Z]\w+"),
        ("en", "JohnSmith", r"[A-Z][a-z]+[A-Z][a-z]+"),
        ("en", "Smith/Jones", r"[A-Z]\w+/[A-Z]\w+"),
        ("sv", "Lars-Erik", r"[A-ZÅÄÖ]\w+-[A-ZÅÄÖ]\w+"),
    ],
)
def test_a_name_keeps_its_form_in_its_language(lang, text, shape):
    for patient in PATIENTS:
        assert re.fullmatch(shape, draw(text, lang=lang, patient=patient))


@pytest.mark.parametrize("word", ["Zorblax", "Walter"])
def test_a_word_that_lists_do_not_settle_is_what_the_note_says(word):
    full = f"Herr Dieter {word} kam. "

    surname = draw(f"Dieter {word}", lang="de").split()[1]
    assert draw(word, lang="de", before=full) == surname


def test_two_words_of_a_name_seldom_become_one():
    drawn = [
        draw("María del Mar García", lang="es", patient=f"p{number}").split()
        for number in range(300)
    ]

    assert sum(first == second for first, _, second, _ in drawn) <= 3


NAMES = st.sampled_from(
    ["Ann Lee", "LEE, Ann", "Ann", "Lee's", "A. Lee", "Dr. Lee", "Maria Garcia-Lopez", "Bob Hill"]
)


@settings(deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=6), st.lists(NAMES, max_size=4), st.sampled_from(LANGS))
def test_a_name_has_the_same_surrogate_in_every_note_of_the_patient(names, others, lang):
    policy = load_policy("surrogate")

    def redacted(values: list[str], note_id: str) -> dict[str, str]:
        text = " ; ".join(f"<NAME>{value}</NAME>" for value in values)
        note, spans = parse_marked(text, note_id=note_id, lang=lang)
        note = replace(note, patient_id="p")
        done = redact(note, DisjointSpans.of(note, spans), policy, key=KEY)
        return {note.text[e.start : e.end]: done.text[e.new_start : e.new_end] for e in done.edits}

    once, again = redacted(names, "a"), redacted([*others, *names], "b")
    shared = {name: again[name] for name in once}
    # A surrogate that is a word of one note alone is drawn again there.
    real = {fold(word) for value in (*names, *others) for word in re.findall(r"\w{2,}", value)}
    assert all(
        once[name] == shared[name]
        for name in once
        if not real & set(re.findall(r"\w+", fold(once[name])))
    )


@settings(deadline=None)  # the lists of a language are read with its first value
@given(
    st.text(min_size=1, max_size=20),
    st.sampled_from(sorted({*Phi} - {Phi.AGE, Phi.SEX, Phi.OTHER, Phi.DATE})),
    st.sampled_from(LANGS),
)
def test_any_text_has_a_surrogate_that_is_not_itself(text, label, lang):
    drawn = draw(text, label=label, lang=lang)

    assert drawn.casefold() != text.casefold()
    assert drawn == draw(text, label=label, lang=lang)


@pytest.mark.parametrize("lang", LANGS)
@settings(deadline=None)
@given(st.data())
def test_no_word_of_a_name_survives(lang, data):
    locale = locale_of(lang)
    pools = (
        st.sampled_from((*locale.female.names, *locale.male.names)),
        st.sampled_from(locale.last.names),
    )
    first, last = (data.draw(pool) for pool in pools)

    drawn = set(re.findall(r"\w+", fold(draw(f"{first} {last}", lang=lang))))
    assert not drawn & {fold(first), fold(last)}
