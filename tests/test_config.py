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

    assert settings.ensemble == ("compact",)
    assert settings.sql_url == f"sqlite:///{tmp_path / 'home' / 'deid.sqlite'}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ensembel = ['rules']", "ensembel"),
        ("ensemble = ['Rules!']", "ensemble"),
        ("[gates]\nquarantined = 2", "gates.quarantined"),
        ("[gates.recall]\nNAMES = 0.9", "gates.recall"),
        ("release_policy = 'research'", "release_policy 'research' is not in policies"),
        ("ensemble = [", "not TOML"),
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
    (tmp_path / "secret.key").chmod(0o600)

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

    assert one.digest("ensemble") == two.digest("ensemble")
    assert one.digest("resolve") != two.digest("resolve")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("ensembl = ['rules']", ["ensembl: there is no such setting; did you mean 'ensemble'?"]),
        ("line_up = ['rules']", ["line_up: is called 'ensemble' now; rename it"]),
        (
            "[gates]\nresidul = 0.1",
            ["gates.residul: there is no such setting; did you mean 'residual'?"],
        ),
        ("resolve = 'unoin'", ["resolve: there is no 'unoin'; did you mean 'union'?"]),
        (
            "profile = 'safe_harbour'",
            ["profile: there is no 'safe_harbour'; did you mean 'safe_harbor'?"],
        ),
        (
            "a = 1\nworkers = 0",
            ["workers: Input should be greater than or equal to 1", "a: there is no such setting"],
        ),
    ],
)
def test_each_fault_is_a_line_with_the_nearest_right_name(tmp_path, text, lines):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)

    told = str(caught.value).splitlines()
    assert len(told) == len(lines)
    assert all(
        line.startswith(f"{tmp_path / 'deid.toml'}: {start}")
        for line, start in zip(told, lines, strict=True)
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("00" * 32, "nothing but zeros"),
        ("5a" * 8, "it has 8 bytes, at least 16"),
        ("xyz", "not hexadecimal"),
    ],
)
def test_a_weak_secret_is_refused_from_either_source_and_not_shown(
    monkeypatch, tmp_path, key, message
):
    monkeypatch.setenv("DEID_HOME", str(tmp_path))
    (tmp_path / "secret.key").write_text(key)
    (tmp_path / "secret.key").chmod(0o600)
    with pytest.raises(ConfigError, match=f"secret.key: {message}") as of_home:
        Settings.load().secret()
    monkeypatch.setenv("DEID_KEY", key)
    with pytest.raises(ConfigError, match=f"DEID_KEY: {message}") as of_environment:
        Settings.load().secret()

    assert key not in str(of_home.value)
    assert key not in str(of_environment.value)


def test_a_secret_that_others_may_read_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("DEID_HOME", str(tmp_path))
    Settings.load().secret()
    (tmp_path / "secret.key").chmod(0o644)

    with pytest.raises(ConfigError, match="others may read or change it; run chmod 600"):
        Settings.load().secret()
