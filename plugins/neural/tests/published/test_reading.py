"""Schemes, words, windows and label maps, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import Phi
from deid_assets.core.errors import ConfigError, PluginError
from deid_published.aggregation import Convention, SubToken, piece_windows
from deid_published.labels import decide_labels, proposal_text, propose, read_built_in, read_labels
from deid_published.scheme import EntityScheme, groups, labels_of, recognise_scheme

PUBLISHED = {
    "ai4privacy": (
        "ACCOUNTNAME ACCOUNTNUMBER AGE AMOUNT BIC BITCOINADDRESS BUILDINGNUMBER CITY COMPANYNAME"
        " COMPANY_NAME COUNTY CREDITCARDCVV CREDITCARDISSUER CREDITCARDNUMBER CURRENCY CURRENCYCODE"
        " CURRENCYNAME CURRENCYSYMBOL DATE DISPLAYNAME DOB EMAIL ETHEREUMADDRESS EYECOLOR FIRSTNAME"
        " FULLNAME GENDER HEIGHT IBAN IP IPV4 IPV6 JOBAREA JOBDESCRIPTOR JOBTITLE JOBTYPE LASTNAME"
        " LITECOINADDRESS MAC MASKEDNUMBER MIDDLENAME NAME NEARBYGPSCOORDINATE NUMBER"
        " ORDINALDIRECTION PASSWORD PHONEIMEI PHONENUMBER PHONE_NUMBER PIN PREFIX SECONDARYADDRESS"
        " SEX SEXTYPE SSN STATE STREET STREETADDRESS SUFFIX TIME URL USERAGENT USERNAME VEHICLEVIN"
        " VEHICLEVRM ZIPCODE"
    ),
    "ghmschrft": (
        "<PERSOON> <PERSOONAFKORTING> <LEEFTIJD> <ZIEKENHUIS> <ADRES> <PLAATS> <BEDRIJF>"
        " <STUDIE_NAAM> <DATUM> <TIJD> <TELEFOONNUMMER> <EMAIL> <URL> <PATIENTNUMMER> <ZNUMMER>"
        " <RAPPORT_ID> <DOCUMENTID> <DOCUMENTNUMMER> <ACCREDITATIE_NUMMER> <AGBNUMMER> <BIGNUMMER>"
        " <BSN> <IBAN> <PHINUMMER>"
    ),
    "swedish_ner": "OBJ TME ORG/PRS OBJ/ORG PRS/WRK WRK LOC ORG PER LOC/PRS LOC/ORG MSR EVN",
    "scandinavian": "PER ORG GPE_LOC PROD LOC GPE_ORG DRV EVT MISC",
}
"""Labels as configurations, cards and data say them; `docs/published-models.md` says which."""


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (("O", "B-PER", "I-PER"), EntityScheme.BIO),
        (("O", "B-PER", "I-PER", "L-PER", "U-PER"), EntityScheme.BILOU),
        (("O", "B-PER", "I-PER", "E-PER", "S-PER"), EntityScheme.BILOU),
        (("I-LOC", "I-PER", "O"), EntityScheme.IO),
        (("O", "PATIENT", "LOCATION-OTHER"), EntityScheme.PLAIN),
        (("", "FECHAS", "O"), EntityScheme.PLAIN),
    ],
)
def test_a_scheme_is_recognised_from_its_tags(tags, scheme) -> None:
    assert recognise_scheme(tags) is scheme


def test_tags_of_two_schemes_are_refused() -> None:
    with pytest.raises(PluginError, match="tags DATE have no prefix and others have one"):
        recognise_scheme(("O", "B-PER", "I-PER", "DATE"))


@pytest.mark.parametrize(
    ("tags", "scheme", "found"),
    [
        ("B-P I-P O", EntityScheme.BIO, [(0, 1, "P")]),
        ("B-P B-P", EntityScheme.BIO, [(0, 0, "P"), (1, 1, "P")]),
        ("I-P I-Q", EntityScheme.BIO, [(0, 0, "P"), (1, 1, "Q")]),
        ("U-P U-P", EntityScheme.BILOU, [(0, 0, "P"), (1, 1, "P")]),
        ("B-P I-P L-P", EntityScheme.BILOU, [(0, 2, "P")]),
        ("B-P L-P I-P", EntityScheme.BILOU, [(0, 1, "P"), (2, 2, "P")]),
        ("L-P O S-Q E-Q", EntityScheme.BILOU, [(0, 0, "P"), (2, 2, "Q"), (3, 3, "Q")]),
        ("P P O P", EntityScheme.PLAIN, [(0, 1, "P"), (3, 3, "P")]),
        ("LOCATION-OTHER O", EntityScheme.PLAIN, [(0, 0, "LOCATION-OTHER")]),
    ],
)
def test_tags_become_entities_as_their_scheme_means_them(tags, scheme, found) -> None:
    assert groups(tags.split(), scheme) == found


def convention(**given) -> Convention:
    return Convention(tags=("O", "B-P", "I-P"), scheme=EntityScheme.BIO, **given)


def test_a_name_after_a_line_break_is_a_word_of_its_own_where_words_are_the_texts() -> None:
    text = "Name:\nJane"
    pieces = [
        SubToken(0, 4, "Name", is_unknown=False),
        SubToken(4, 5, ":", is_unknown=False),
        SubToken(6, 10, "Jane", is_unknown=False),
    ]
    scores = np.array([[5, 0, 0], [5, 0, 0], [0, 5, 0]], dtype=np.float32)

    ours = convention().entities(text, pieces, scores)
    theirs = convention(words="pipeline").entities(text, pieces, scores)

    assert [(one.start, one.end) for one in ours] == [(6, 10)]
    assert theirs == []


def test_the_first_sub_token_speaks_for_its_word_and_a_blank_one_belongs_to_the_next() -> None:
    text = "x Johnson"
    pieces = [
        SubToken(0, 1, "▁x", is_unknown=False),
        SubToken(1, 2, "▁", is_unknown=False),
        SubToken(2, 6, "John", is_unknown=False),
        SubToken(6, 9, "son", is_unknown=False),
    ]
    scores = np.array([[5, 0, 0], [0, 5, 0], [5, 0, 0], [5, 0, 0]], dtype=np.float32)

    assert [(one.start, one.end) for one in convention().entities(text, pieces, scores)] == [(2, 9)]


@given(st.integers(1, 600), st.integers(4, 80), st.data())
def test_each_sub_token_is_taken_from_the_window_in_which_it_is_most_central(
    count, room, data
) -> None:
    overlap = data.draw(st.integers(0, room - 1))
    windows = piece_windows(count, room=room, overlap=overlap)
    owners = [
        (number, at)
        for number, one in enumerate(windows)
        for at in range(one.own_start, one.own_stop)
    ]

    assert [at for _, at in owners] == list(range(count))
    assert {one.stop - one.start for one in windows} == {min(count, room)}
    assert all(one.start <= one.own_start <= one.own_stop <= one.stop for one in windows)

    def margin(at, one):
        left = at - one.start if one.start else count
        right = one.stop - at - 1 if one.stop < count else count
        return min(left, right)

    inside = {
        at: [margin(at, one) for one in windows if one.start <= at < one.stop] for _, at in owners
    }
    assert all(margin(at, windows[number]) >= max(inside[at]) - 1 for number, at in owners)


def test_every_label_map_that_comes_along_reads_and_says_how_sure_it_is() -> None:
    for name, choice in read_built_in().items():
        assert read_labels(name) == choice
        assert {"languages", "licence", "size", "sure"} <= set(choice.facts), name
        assert choice.facts["sure"].startswith(("verified: ", "partly: ", "recalled: ")), name
        assert Phi.NAME in choice.labels.values()


def test_the_page_of_public_models_names_every_map_that_comes_along() -> None:
    root = Path(__file__).parents[4]
    page = (root / "docs" / "published-models.md").read_text()
    maps = [
        file.stem
        for file in root.glob("plugins/neural/deid_*/maps/*.toml")
        if file.name != "proposals.toml"
    ]

    assert len(maps) > 15
    assert [name for name in maps if f"`{name}`" not in page] == []


def test_a_label_that_no_map_knows_stops_the_model_and_a_whole_map_is_proposed(tmp_path) -> None:
    choice, file, labels = (
        read_labels("stanford_deidentifier"),
        tmp_path / "m.labels.toml",
        ("HCW", "FECHAS", "XYZ"),
    )
    assert decide_labels(("HCW", "ID"), choice, where="m", file=file) == {
        "HCW": Phi.NAME,
        "ID": Phi.ID,
    }
    with pytest.raises(
        ConfigError, match=r"does not decide 2 labels .*whole map is proposed in .* give --labels"
    ) as told:
        decide_labels(labels, choice, where="m", file=file)
    assert "\n" not in str(told.value)

    own = read_labels(str(file))
    assert decide_labels(labels, own, where="m", file=file) == {
        "HCW": Phi.NAME,
        "FECHAS": Phi.DATE,
        "XYZ": Phi.OTHER,
    }
    assert own.window == choice.window == 512
    with pytest.raises(ConfigError, match=r'does not decide 1 labels; add "NEW" = "OTHER"$'):
        decide_labels((*labels, "NEW"), own, where="m", file=file)
    file.write_text("mine")
    with pytest.raises(ConfigError):
        decide_labels(labels, choice, where="m", file=file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize(("name", "labels"), PUBLISHED.items(), ids=PUBLISHED)
def test_maps_decide_the_labels_that_were_published(name, labels, tmp_path) -> None:
    assert set(
        decide_labels(labels.split(), read_labels(name), where=name, file=tmp_path / "x.toml")
    ) == set(labels.split())


def test_a_proposal_reads_again_and_decides_every_label(tmp_path) -> None:
    tags = (
        "O",
        "B-date_of_birth",
        "I-date_of_birth",
        "B-<BSN>",
        "B-NOMBRE_SUJETO_ASISTENCIA",
        "B-ODD",
        "B-time",
    )
    path = tmp_path / "labels.toml"
    path.write_text(proposal_text(labels_of(tags), model="m"))

    assert decide_labels(labels_of(tags), read_labels(str(path)), where="m", file=path) == {
        "date_of_birth": Phi.DATE,
        "<BSN>": Phi.NATIONAL_ID,
        "NOMBRE_SUJETO_ASISTENCIA": Phi.NAME,
        "ODD": Phi.OTHER,
        "time": Phi.OTHER,
    }
    assert labels_of(tags) == list(propose(labels_of(tags)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[labels]\nX = 'NAMES'", "'NAMES' is no category"),
        ("x = 1", "no .labels."),
        ("labels = ", "not TOML"),
        ("aggregation = 'last'\n[labels]\nX = 'NAME'", "aggregation is 'last'"),
    ],
)
def test_a_wrong_label_map_is_told(tmp_path, text, message) -> None:
    path = tmp_path / "labels.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_labels(str(path))
