"""Policy files: what is refused, and with which words.

What the digest covers; when a key is needed.
"""

from __future__ import annotations

import pickle
from importlib import resources

import pytest

from deid_assets.core.errors import ConfigError, PolicyError
from deid_assets.core.phi import Phi
from deid_assets.policies import BUILTIN, check_key, descriptions, load_policy, needs_key
from deid_assets.policies.wording import WORDS, in_words


@pytest.fixture
def policy_file(tmp_path):
    def write(content: str):
        path = tmp_path / "mine.toml"
        path.write_text(content, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("name", BUILTIN)
def test_a_builtin_policy_loads_under_its_own_name_and_says_what_it_does(name):
    assert load_policy(name).name == name
    assert descriptions()[name].endswith(".")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "name: Field required"),
        ('name = "Mine"', "name: String should match pattern"),
        ('name = "mine"\nkeeep = ["SEX"]', "keeep: Extra inputs are not permitted"),
        ('name = "mine"\nkeep = ["SEXX"]', "keep.0: Input should be"),
        ('name = "mine"\n[actions]\nNAMME = "tag"', "actions.NAMME: Input should be"),
        (
            'name = "mine"\n[actions]\nNAME = "surogate"',
            "actions.NAME: there is no action 'surogate'; did you mean 'surrogate'",
        ),
        ('name = "mine"\ndefault = "keep"', "default: there is no action 'keep'; choose of"),
        (
            'name = "mine"\ndefault = "age_90"',
            "default: age_90 serves AGE only and cannot be the default",
        ),
        (
            'name = "mine"\n[actions]\nNAME = "year_only"',
            "actions.NAME: year_only serves DATE only",
        ),
        (
            'name = "mine"\ndefault = { action = "tag", width = 3 }',
            "default: width is an option of blackout, not of tag",
        ),
        (
            'name = "mine"\ndefault = { action = "blackout", width = 0 }',
            "default.width: Input should be greater",
        ),
        (
            'name = "mine"\nkeep = ["SEX"]\n[actions]\nSEX = "tag"',
            "SEX both under keep and under actions",
        ),
        (
            'name = "mine"\ndefault = { action = "hash", hex_digits = 4 }',
            "default.hex_digits: Input should be greater",
        ),
        ('name = "mine"\ndefault = "shift"', "default: shift needs max_days"),
        (
            'name = "mine"\ndefault = { action = "shift", max_days = 30 }',
            "default: shift serves DATE only and cannot be the default",
        ),
        ('name = "mine"\n[actions]\nDATE = "shift"', "actions.DATE: shift needs max_days"),
        (
            'name = "mine"\n[actions]\nDATE = { action = "shift", max_days = 0 }',
            "actions.DATE.max_days: Input should",
        ),
        (
            'name = "mine"\n[actions]\nDATE = { action = "shift", max_days = 6 }',
            "actions.DATE: shift has no whole week from min_days = 1 to max_days = 6",
        ),
        (
            (
                'name = "mine"\n[actions]\nDATE = { action = "shift", min_days = 9, max_days = 8,'
                " whole_weeks = false }"
            ),
            "actions.DATE: shift has no day from min_days = 9 to max_days = 8",
        ),
        (
            (
                'name = "mine"\n[actions]\nDATE = { action = "shift", max_days = 9, whole_weeks ='
                ' "no" }'
            ),
            "actions.DATE.whole_weeks: Input should be a valid boolean",
        ),
        (
            'name = "mine"\ndefault = { action = "generalize", age_width = 1 }',
            "default.age_width: Input should be",
        ),
        (
            'name = "mine"\ndefault = { action = "generalize", date = "week" }',
            "default.date: Input should be 'year'",
        ),
        (
            'name = "mine"\ndefault = { action = "tag", require_patient = true }',
            "default: require_patient is an option of shift and hash and encrypt, not of tag",
        ),
        (
            'name = "mine"\ndefault = { action = "tag", other_languages = "tag" }',
            "default.other_languages: Extra inputs are not permitted",
        ),
        (
            'name = "mine"\ndefault = { action = "surrogate", other_languages = "skip" }',
            "default: other_languages: choose 'stop' or 'tag'",
        ),
        (
            'name = "mine"\ndefault = { action = "surrogate", width = 3 }',
            "default: width: surrogates take other_languages alone",
        ),
        ('name = "mine', "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_path_and_key(policy_file, content, message):
    path = policy_file(content)

    with pytest.raises(ConfigError) as error:
        load_policy(path)

    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"there is no policy 'tags'; .*choose one of blackout, .*, tag, or give"
    ):
        load_policy("tags")


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "mine"\ndescription = "año"'.encode("latin-1"))

    with pytest.raises(ConfigError, match="is not UTF-8"):
        load_policy(path)


def test_a_category_that_is_not_named_gets_the_default(redacted, policy_file):
    policy = load_policy(policy_file('name = "mine"\nkeep = ["SEX"]\n[actions]\nNAME = "numbered"'))

    text = redacted("<NAME>Lee</NAME> <SEX>male</SEX> <CITY>Rome</CITY>", policy)

    assert text == "[NAME_1] male [CITY]"


def test_without_a_default_the_tag_is_used(redacted, policy_file):
    assert redacted("<NAME>Lee</NAME>", load_policy(policy_file('name = "mine"'))) == "[NAME]"


KEPT = {
    "safe_harbor": {Phi.COUNTRY, Phi.SEX},
    "limited_data_set": {Phi.AGE, Phi.CITY, Phi.DATE, Phi.REGION, Phi.ZIP},
}


@pytest.mark.parametrize("name", BUILTIN)
def test_only_the_hipaa_policies_keep_whole_categories(name):
    assert load_policy(name).keep == KEPT.get(name, frozenset())


def test_every_policy_of_the_folder_is_named():
    folder = resources.files("deid_assets.policies") / "builtin"

    assert sorted(BUILTIN) == sorted(path.name.removesuffix(".toml") for path in folder.iterdir())


@pytest.mark.parametrize("name", BUILTIN)
def test_what_a_builtin_policy_does_has_words_for_every_category(name):
    policy = load_policy(name)
    of_plugins = {
        replacer.in_words for replacer in policy.actions.values() if hasattr(replacer, "in_words")
    }
    named, default = in_words(policy)

    assert {*named.values(), default} <= {*WORDS.values(), *of_plugins, "kept"}


@pytest.mark.parametrize("default", ["generalize", "tag"])
def test_a_default_that_reads_values_lets_only_its_own_categories_stay(policy_file, default):
    policy = load_policy(
        policy_file(f'name = "a"\ndefault = "{default}"\n[actions]\nAGE = "generalize"')
    )

    assert policy.may_leave == ({Phi.AGE, Phi.DATE} if default == "generalize" else {Phi.AGE})


def test_the_digest_follows_the_content_and_not_the_name(policy_file):
    def digest(content: str) -> str:
        return load_policy(policy_file(content)).digest

    same = digest('name = "a"\n[actions]\nNAME = "numbered"\nCITY = "hide"')

    assert (
        digest('name = "b"\ndescription = "x"\n[actions]\nCITY = "hide"\nNAME = "numbered"') == same
    )
    assert digest('name = "a"\n[actions]\nNAME = "numbered"') != same
    assert digest('name = "a"\nkeep = ["SEX"]\n[actions]\nNAME = "numbered"\nCITY = "hide"') != same
    assert digest('name = "a"\ndefault = { action = "blackout", width = 3 }') != digest(
        'name = "a"\ndefault = "blackout"'
    )


def test_an_action_within_an_action_is_part_of_the_digest(policy_file):
    """The month of a date is written by an action that holds the one for years."""
    found = {
        load_policy(
            policy_file(
                f'name = "a"\n[actions]\nDATE = {{ action = "generalize", date = "month"{year} }}'
            )
        ).digest
        for year in ("", ", oldest_year = 1950", ", oldest_year = 1990")
    }
    assert len(found) == 3


def test_what_becomes_of_other_languages_is_part_of_the_digest(policy_file):
    stops, tags = (
        load_policy(
            policy_file(
                f'name = "a"\ndefault = {{ action = "surrogate", other_languages = "{choice}" }}'
            )
        ).digest
        for choice in ("stop", "tag")
    )

    assert stops != tags
    assert load_policy(policy_file('name = "a"\ndefault = "surrogate"')).digest == stops


def test_the_year_that_limits_birth_dates_is_part_of_the_digest(policy_file):
    content = 'name = "a"\n[actions]\nDATE = {{ action = "year_only", oldest_year = {} }}'

    assert (
        load_policy(policy_file(content.format(1937))).digest
        != load_policy(policy_file(content.format(1938))).digest
    )


@pytest.mark.parametrize("name", BUILTIN)
def test_a_policy_travels_to_another_process(name):
    policy = load_policy(name)

    assert pickle.loads(pickle.dumps(policy)) == policy


def test_only_what_is_drawn_needs_a_key():
    assert [name for name in BUILTIN if needs_key(load_policy(name))] == [
        "hash",
        "i2b2_style",
        "research",
        "surrogate",
        "swedish",
    ]


@pytest.mark.parametrize(
    ("name", "what"),
    [("surrogate", "surrogates"), ("hash", "hashes"), ("research", "shifted dates and surrogates")],
)
def test_a_missing_key_is_one_clear_error(name, what):
    with pytest.raises(
        PolicyError, match=f"policy '{name}' writes {what}, which need a key; set DEID_KEY"
    ):
        check_key(load_policy(name), None)


def test_a_policy_without_surrogates_runs_without_a_secret(redacted):
    policy = load_policy("tag")

    assert redacted("<NAME>Lee</NAME>", policy, key=check_key(policy, None)) == "[NAME]"


def test_a_short_secret_is_refused():
    with pytest.raises(ConfigError, match="at least 16"):
        check_key(load_policy("surrogate"), b"short")
