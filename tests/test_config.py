import stat
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in ("DEID_CONFIG", "DEID_HOME", "DEID_KEY", "DEID_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def load(tmp_path, text):
    path = tmp_path / "deid.toml"
    path.write_text(text)
    return Settings.load(path)


def test_defaults_need_no_file(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    settings = Settings.load()

    assert settings.line_up == ("rules", "crf")
    assert settings.sql_url == f"sqlite:///{tmp_path / 'home' / 'deid.sqlite'}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("line_upp = ['rules']", "line_upp"),
        ("line_up = ['Rules!']", "line_up"),
        ("[gates]\nquarantined = 2", "gates.quarantined"),
        ("[gates.recall]\nNAMES = 0.9", "gates.recall"),
        ("release_policy = 'research'", "release_policy 'research' is not in policies"),
        ("line_up = [", "not TOML"),
    ],
)
def test_wrong_settings_name_the_file_and_the_key(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, text)

    assert "deid.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml"):
        Settings.load(tmp_path / "absent.toml")


def test_the_secret_is_made_once_readable_by_its_owner_only(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    first = Settings.load().secret()

    assert Settings.load().secret() == first
    assert len(first) == 32
    assert stat.S_IMODE((tmp_path / "home" / "secret.key").stat().st_mode) == 0o600


def test_processes_that_start_together_share_one_secret(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_HOME", str(tmp_path / "home"))
    settings, ready = Settings.load(), Barrier(8)

    def ask(_):
        ready.wait()
        return settings.secret()

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(ask, range(8)))) == 1
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["secret.key"]


def test_a_damaged_secret_is_refused_and_not_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_HOME", str(tmp_path))
    (tmp_path / "secret.key").write_text("5a5a not hex")

    with pytest.raises(ConfigError, match="restore the file") as caught:
        Settings.load().secret()
    assert "5a5a" not in str(caught.value)


def test_the_secret_of_the_environment_wins_and_must_be_hexadecimal(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_HOME", str(tmp_path))
    monkeypatch.setenv("DEID_KEY", "ab" * 32)
    assert Settings.load().secret() == b"\xab" * 32

    monkeypatch.setenv("DEID_KEY", "not hex")
    with pytest.raises(ConfigError, match="openssl"):
        Settings.load().secret()


def test_the_digest_covers_what_it_names_only(tmp_path):
    one, two = load(tmp_path, "resolve = 'union'"), load(tmp_path, "resolve = 'majority'")

    assert one.digest("line_up") == two.digest("line_up")
    assert one.digest("resolve") != two.digest("resolve")
