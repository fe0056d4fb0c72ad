"""Locale packs: complete, found by language, brought by plugins, and refused in one line where
there is none.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from deid_assets.core.errors import ConfigError, PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy
from deid_assets.core.span import Span
from deid_assets.policies import load_policy
from deid_assets.policies.drawing import fold
from deid_assets.policies.needs import require_packs
from deid_surrogates.locales import check_languages, languages, locale_of, read_locale
from deid_surrogates.locales.cities import cities_like, find_city
from deid_surrogates.postcodes import state_of
from deid_surrogates.surrogate import Surrogate

KEY = Key(b"a key for tests, 24 bytes")
EIGHT = ("de", "en", "es", "fi", "fr", "it", "nl", "sv")
PACK = """
lang = "da"
[names]
female = "Anne Bodil Caroline Ditte Else"
male = "Anders Bent Carl Daniel Erik"
last = "Andersen Berg Christensen Dahl Eriksen"
[streets]
kinds = "gade vej"
names = ["Lang", "Kort"]
templates = ["{name} gade"]
[hospitals]
kinds = "sygehus"
templates = ["{city} Sygehus"]
[organizations]
templates = ["{name} A/S"]
[places]
countries = ["DK"]
"""


def draw(text: str, label: Phi, lang: str, *, replacer: Surrogate | None = None) -> str:
    context = Context(Note("n", text, patient_id="p", lang=lang), KEY)
    return (replacer or Surrogate())(text, Span(0, len(text), label), context)


@pytest.mark.parametrize("lang", EIGHT)
def test_a_pack_has_what_surrogates_need(lang):
    locale = locale_of(lang)
    sizes = [len(pool.names) for pool in (locale.female, locale.male, locale.last)]

    assert min(sizes) >= 150
    assert len(locale.neutral.names) >= 8
    assert len(locale.initials.names) >= 8
    assert not {fold(name) for name in locale.last.names} & {
        fold(name) for name in locale.female.names
    }
    assert locale.jobs
    assert locale.relatives
    assert locale.places.regions


@pytest.mark.parametrize("lang", EIGHT)
def test_every_name_of_a_pack_can_be_put_in_every_form(lang):
    locale = locale_of(lang)

    for pool in (locale.female, locale.male, locale.neutral, locale.last):
        assert all(map(locale.inflection.can_join, pool.names))


@pytest.mark.parametrize(
    ("lang", "name", "country"),
    [
        ("de", "München", "DE"),
        ("nl", "Den Haag", "NL"),
        ("it", "Roma", "IT"),
        ("sv", "Göteborg", "SE"),
        ("en", "Paris", "FR"),
    ],
)
def test_a_city_becomes_one_of_its_country_and_about_its_size(lang, name, country):
    locale = locale_of(lang)
    city = find_city(locale, name)

    assert city is not None
    assert city.country == country
    others = [find_city(locale, other) for other in cities_like(locale, city)]
    assert name not in cities_like(locale, city)
    assert (
        sum(other is not None and other.country == country for other in others) >= len(others) - 2
    )


@pytest.mark.parametrize(
    ("lang", "town", "between", "area"),
    [("it", "Udine", " (", "UD"), ("it", "Udine", " ", "UD"), ("en", "Boston", ", ", "MA")],
)
def test_a_state_or_province_follows_the_city_before_it(lang, town, between, area):
    start = len(town + between)
    for patient in "abc":
        context = Context(Note("n", f"{town}{between}{area})", patient_id=patient, lang=lang), KEY)
        city = Surrogate()(town, Span(0, len(town), Phi.CITY), context)

        assert Surrogate()(area, Span(start, start + 2, Phi.REGION), context) == state_of(
            locale_of(lang), city
        )


@pytest.mark.parametrize("lang", ["hu", "ja", "xx"])
def test_a_language_without_a_pack_stops_with_one_line(lang):
    with pytest.raises(
        PolicyError, match=f"note 'n': surrogates: there is no locale pack for language '{lang}'; "
    ) as raised:
        draw("Anders", Phi.NAME, lang)

    assert "\n" not in str(raised.value)
    assert "Anders" not in str(raised.value)


def test_a_language_without_a_pack_is_tagged_and_counted_by_option():
    context = Context(Note("n", "Anders", patient_id="p", lang="hu"), KEY)

    assert Surrogate(other_languages="tag")("Anders", Span(0, 6, Phi.NAME), context) == "[NAME]"
    assert context.fallbacks == {Phi.NAME: 1}


def test_identifiers_need_no_pack():
    assert draw("123456", Phi.MRN, "hu") != "123456"


def test_languages_are_checked_before_any_note_is_read():
    check_languages(["en", None, "fi"])

    with pytest.raises(PolicyError, match="language 'hu'"):
        check_languages(["en", "hu"])


def test_only_a_policy_with_surrogates_needs_packs():
    require_packs(load_policy("tag"), ["hu"])
    require_packs(Policy("mine", Surrogate(other_languages="tag")), ["hu"])

    for name in ("surrogate", "research", "i2b2_style"):
        with pytest.raises(PolicyError, match="language 'hu'"):
            require_packs(load_policy(name), ["en", "hu"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('lang = "da"', 'lang = "Danish"', "pack.toml: lang: "),
        ('countries = ["DK"]', "countries = []", "pack.toml: places.countries: "),
        ("[names]", '[names]\nfemales = "Anne"', "pack.toml: names.females: Extra inputs"),
        ("[names]", "[names", "pack.toml: not TOML: "),
    ],
)
def test_a_wrong_pack_is_refused_with_its_file_and_key(tmp_path, old, new, message):
    path = tmp_path / "pack.toml"
    path.write_text(PACK.replace(old, new, 1), "utf-8")

    with pytest.raises(ConfigError, match=message):
        read_locale(path)


def install(folder, *, name: str = "deid-danish", entry: str = "da = deid_danish:locale") -> None:
    """Write a small distribution with a locale pack, as an installer would leave it."""
    (folder / "deid_danish.py").write_text(
        textwrap.dedent("""
            from pathlib import Path
            from deid_surrogates.locales import read_locale

            def locale():
                return read_locale(Path(__file__).with_name("danish.toml"))
            """)
    )
    (folder / "danish.toml").write_text(PACK, "utf-8")
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[deid_assets.replacers]\n{entry}\n")


def run(folder, code: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(folder)!r})\n{textwrap.dedent(code)}"
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


DRAW = """
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies import load_policy
from deid_surrogates.locales import languages
from deid_surrogates.surrogate import Surrogate
from deid_assets.policies.needs import require_packs

context = Context(Note("n", "Anders Dahl", patient_id="p", lang="da"), Key(bytes(16)))
assert "da" in languages() and "deid_danish" not in sys.modules
assert Surrogate().packs == ("da=deid-danish 1.0",)
replaced = Surrogate()("Anders Dahl", Span(0, 11, Phi.NAME), context)
print(replaced, load_policy("surrogate").digest, sep="|")
"""


def test_a_plugin_adds_a_language_and_shows_in_the_policy_digest(tmp_path):
    install(tmp_path)
    done = run(tmp_path, DRAW)

    assert done.returncode == 0, done.stderr
    name, _, digest = done.stdout.strip().partition("|")
    first, last = name.split()
    assert first in {"Bent", "Carl", "Daniel", "Erik"}
    assert last in {"Andersen", "Berg", "Christensen", "Eriksen"}
    assert digest != load_policy("surrogate").digest


def test_two_plugins_for_one_language_are_refused(tmp_path):
    install(tmp_path)
    install(tmp_path, name="other-danish")

    done = run(tmp_path, "from deid_surrogates.locales import locale_of\nlocale_of('da')")

    assert (
        "locale pack 'da': named by both deid-danish 1.0 and other-danish 1.0; uninstall one"
        in done.stderr
    )


def test_a_plugin_that_does_not_load_is_named(tmp_path):
    install(tmp_path, entry="da = deid_danish:nothing")

    done = run(tmp_path, "from deid_surrogates.locales import locale_of\nlocale_of('da')")

    assert "locale pack 'da' does not load: AttributeError" in done.stderr


@pytest.mark.parametrize(
    "raised",
    ["ValueError", "GeneratorExit", "asyncio.CancelledError", "type(TEXT, (BaseException,), {})"],
)
def test_of_what_a_plugin_raises_the_class_alone_is_said(tmp_path, raised):
    install(tmp_path)
    code = f"import asyncio\nTEXT = 'XCANARYX'\ndef locale():\n    raise {raised}(TEXT)\n"
    (tmp_path / "deid_danish.py").write_text(code)

    done = run(tmp_path, "from deid_surrogates.locales import locale_of\nlocale_of('da')")

    assert "PluginError: locale pack 'da' does not load: " in done.stderr
    assert "CANARY" not in done.stderr


def test_finding_languages_reads_no_list():
    done = run(
        "",
        "from deid_surrogates.locales import languages\nlanguages()\nprint('faker' in sys.modules)",
    )

    assert done.stdout == "False\n", done.stderr
    assert set(EIGHT) < set(languages())
