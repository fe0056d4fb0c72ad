"""Settings of studies that are wrong stop with one line each, before a note is read."""

import pytest

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.core.keys import Key
from deid_assets.runtime.studies import load_studies

KEY = "6b" * 32


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A function that loads settings and the studies that they name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DEID_KEY", "5a" * 32)
    monkeypatch.delenv("DEID_CONFIG", raising=False)
    for name, secret in (("one", KEY), ("same", KEY), ("house", "5a" * 32)):
        (tmp_path / f"{name}.key").write_text(secret)
        (tmp_path / f"{name}.key").chmod(0o600)
    (tmp_path / "empty.txt").write_text("\n")

    def loaded(text):
        path = tmp_path / "deid.toml"
        path.write_text('ensemble = ["rules"]\nrecipes = []\n' + text)
        return load_studies(Settings.load(path))

    return loaded


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[studies.a]\npolicy = "reserch"', r"studies\.a: .*reserch"),
        ('[studies."A b"]\npolicy = "tag"', r"studies\.'A b': no name for a study"),
        ('[studies.a]\npolicy = "tag"\n[studies.a]\npolicy = "tag"', "not TOML"),
        ('[studies.a]\npolicy = "tag"\nconsnt = "x"', "studies.a.consnt"),
        ('[studies.a]\npolicy = "tag"\nconsent = "absent.txt"', "absent.txt cannot be read"),
        ('[studies.a]\npolicy = "tag"\nnotes.patients = "empty.txt"', "empty.txt names nobody"),
        (
            (
                '[studies.a]\npolicy = "tag"\nkey_file = "one.key"\n'
                '[studies.b]\npolicy = "tag"\nkey_file = "one.key"'
            ),
            "study a has the same",
        ),
        (
            (
                '[studies.a]\npolicy = "tag"\nkey_file = "one.key"\n'
                '[studies.b]\npolicy = "tag"\nkey_file = "same.key"'
            ),
            "holds the key of study a",
        ),
        ('[studies.a]\npolicy = "tag"\nkey_file = "house.key"', "the key of the installation"),
        ('[studies.a]\npolicy = "tag"\nnotes.meta.kind = []', "names no value"),
        (
            (
                '[studies.a]\npolicy = "tag"\nnotes.since.day = 2020-02-01\n'
                "notes.until.day = 2020-01-01"
            ),
            "lies before since",
        ),
    ],
)
def test_a_wrong_study_is_one_clear_line(load, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(text)

    assert "\n" not in str(caught.value)


def test_keys_of_studies_differ_from_each_other_and_from_the_installations(load):
    studies = load(
        '[studies.a]\npolicy = "tag"\n[studies.b]\npolicy = "tag"\n'
        '[studies.c]\npolicy = "tag"\nkey_file = "one.key"'
    )

    keys = [Key(bytes.fromhex("5a" * 32)), *(study.key for study in studies.values())]

    assert len({key.derive("x") for key in keys}) == 4


def test_a_changed_list_changes_the_study_and_no_other(load, tmp_path):
    (tmp_path / "consent.txt").write_text("p1\np2\n")
    text = '[studies.a]\npolicy = "tag"\nconsent = "consent.txt"\n[studies.b]\npolicy = "tag"'
    before = load(text)
    (tmp_path / "consent.txt").write_text("p1\n")

    after = load(text)

    assert before["a"].digest != after["a"].digest
    assert before["b"].digest == after["b"].digest
