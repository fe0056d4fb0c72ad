"""Policy files: what is refused, and with which words; what the digest covers; when a key is needed."""

from __future__ import annotations

import pickle

import pytest

from deid_assets.core.errors import ConfigError, PolicyError
from deid_assets.core.phi import Phi
from deid_assets.policies import BUILTIN, check_key, descriptions, load_policy, needs_key


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
        ('name = "mine"\n[actions]\nNAME = "surogate"', "actions.NAME.action: Input should be"),
        ('name = "mine"\ndefault = "keep"', "default.action: Input should be"),
        ('name = "mine"\ndefault = "age_90"', "default: age_90 serves AGE only and cannot be the default"),
        ('name = "mine"\n[actions]\nNAME = "year_only"', "actions.NAME: year_only serves DATE only"),
        (
            'name = "mine"\ndefault = { action = "tag", width = 3 }',
            "default: width is an option of blackout, not of tag",
        ),
        ('name = "mine"\ndefault = { action = "blackout", width = 0 }', "default.width: Input should be greater"),
        ('name = "mine"\nkeep = ["SEX"]\n[actions]\nSEX = "tag"', "SEX both under keep and under actions"),
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
    with pytest.raises(ConfigError, match=r"there is no policy 'tags'; choose one of blackout, .*, tag, or give"):
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


@pytest.mark.parametrize("name", sorted(set(BUILTIN) - {"safe_harbor"}))
def test_only_safe_harbor_keeps_whole_categories(name):
    assert load_policy(name).keep == frozenset()


def test_safe_harbor_keeps_countries_and_sex():
    assert load_policy("safe_harbor").keep == {Phi.COUNTRY, Phi.SEX}


def test_the_digest_follows_the_content_and_not_the_name(policy_file):
    def digest(content: str) -> str:
        return load_policy(policy_file(content)).digest

    same = digest('name = "a"\n[actions]\nNAME = "numbered"\nCITY = "hide"')

    assert digest('name = "b"\ndescription = "x"\n[actions]\nCITY = "hide"\nNAME = "numbered"') == same
    assert digest('name = "a"\n[actions]\nNAME = "numbered"') != same
    assert digest('name = "a"\nkeep = ["SEX"]\n[actions]\nNAME = "numbered"\nCITY = "hide"') != same
    assert digest('name = "a"\ndefault = { action = "blackout", width = 3 }') != digest(
        'name = "a"\ndefault = "blackout"'
    )


def test_the_year_that_limits_birth_dates_is_part_of_the_digest(policy_file):
    content = 'name = "a"\n[actions]\nDATE = {{ action = "year_only", oldest_year = {} }}'

    assert (
        load_policy(policy_file(content.format(1937))).digest != load_policy(policy_file(content.format(1938))).digest
    )


@pytest.mark.parametrize("name", BUILTIN)
def test_a_policy_travels_to_another_process(name):
    policy = load_policy(name)

    assert pickle.loads(pickle.dumps(policy)) == policy


def test_only_surrogates_need_a_key():
    assert [name for name in BUILTIN if needs_key(load_policy(name))] == ["surrogate"]


def test_a_missing_key_is_one_clear_error():
    with pytest.raises(PolicyError, match="policy 'surrogate' writes surrogates, which need a key; set DEID_KEY"):
        check_key(load_policy("surrogate"), None)


def test_a_policy_without_surrogates_runs_without_a_secret(redacted):
    policy = load_policy("tag")

    assert redacted("<NAME>Lee</NAME>", policy, key=check_key(policy, None)) == "[NAME]"


def test_a_short_secret_is_refused():
    with pytest.raises(ConfigError, match="at least 16"):
        check_key(load_policy("surrogate"), b"short")
