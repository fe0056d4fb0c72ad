"""Folders of languages: the product's, those that plugins bring, and those that are wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_assets import languages, plugins
from deid_assets.core.errors import ConfigError, PluginError

CACHES = (
    languages.languages,
    languages.language,
    languages._folders,
    languages._plugins,
    languages._main_codes,
    languages._declare,
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which distributions are installed for one test."""
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    for cached in CACHES:
        cached.cache_clear()


def bring(site: Path, name: str, declaration: str, code: str = "et") -> Path:
    """Install a distribution that brings a language; return the language's folder."""
    folder, info = site / name / "languages" / code, site / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    info.mkdir()
    (site / name / "__init__.py").touch()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{languages.GROUP}]\n{name} = {name}\n")
    (folder / languages.DECLARATION).write_text(declaration)
    return folder


def test_every_folder_is_a_language_or_stands_for_all_or_for_none() -> None:
    root = Path(languages.__file__).parent
    folders = {path.name for path in root.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {languages.ANY, languages.OTHER, *languages.languages()}


def test_other_codes_are_read_by_the_folder_that_names_them() -> None:
    assert languages.other_codes() == {"nn": "nb", "no": "nb"}
    assert languages.language("nn") is languages.language("nb")
    assert languages.folder("no") == languages.folder("nb")


@pytest.mark.parametrize("code", ["xx", "../en", "", None])
def test_what_is_no_language_has_no_folder(code: str | None) -> None:
    assert languages.find(code) is None
    assert languages.folder(code or "") is None


def test_a_plugin_brings_a_language_without_being_imported(site: Path) -> None:
    folder = bring(site, "deid_et_one", 'name = "Estonian"\ncodes = "vro"')
    (site / "deid_et_one/__init__.py").write_text("raise RuntimeError")
    assert "et" in languages.languages()
    assert languages.folder("vro") == folder
    assert languages.list_brought() == ("et=deid_et_one 1.0",)


def test_a_plugin_takes_the_place_of_a_folder(site: Path) -> None:
    folder = bring(site, "deid_sv", 'name = "Swedish of the north"', code="sv")
    assert languages.language("sv").folder == folder
    assert languages.languages("surrogates.toml").count("sv") == 0


def test_two_plugins_with_one_language_are_refused(site: Path) -> None:
    for name in ("deid_et_one", "deid_et_two"):
        bring(site, name, 'name = "Estonian"')
    with pytest.raises(PluginError, match=r"'et' is brought by two .* deid_et_two 1\.0; uninstall"):
        languages.languages()


def test_a_plugin_without_its_package_is_named(site: Path) -> None:
    bring(site, "deid_et_one", 'name = "Estonian"')
    (site / "deid_et_one").rename(site / "gone")
    with pytest.raises(PluginError, match=r"deid_et_one 1\.0 has no package"):
        languages.languages()


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ('phones = "EE"', 'name is missing; write name = "Danish"'),
        ('name = "Estonian"\nphone = "EE"', "unknown keys phone; known are name, codes"),
        ('name = "Estonian"\nphones = ["EE"]', "phones: write words between quotes"),
        ('name = "Estonian"\ntelling = "ja l\'eau"', "telling: l'eau: write words of letters"),
        ('name = "Estonian"\n[sexes]\nn = "woman"', "sexes: write a letter = female or male"),
        ("name = Estonian", "et/language.toml: .*; correct the file"),
    ],
)
def test_a_wrong_declaration_is_refused_by_its_key(
    site: Path, declaration: str, message: str
) -> None:
    bring(site, "deid_et_one", declaration)
    with pytest.raises(ConfigError, match=message):
        languages.language("et")


def test_a_word_more_in_a_language_changes_the_version_of_what_reads_them(site: Path) -> None:
    pytest.importorskip("deid_rules")
    folder = bring(site, "deid_et_one", 'name = "Estonian"')
    before = plugins.available()
    (folder / "words").mkdir()
    (folder / "words" / "stops.txt").write_text("isa\n")
    after = plugins.available()
    changed = {name for name in before if before[name].code_version != after[name].code_version}
    assert "rules" in changed
    assert all(after[name].uses_languages or after[name].used_digest for name in changed)


ROOT = Path(__file__).parents[1]
LISTS_OF_OTHERS = {
    "deid_assets/languages/detection.py": "all codes of ISO 639-1",
    "plugins/lab/privacy/deid_privacy/generated.py": "stemmers of Snowball",
    "plugins/peers/deid_openmed/__init__.py": "languages of OpenMed",
    "plugins/peers/deid_scrubadub/__init__.py": "locales of Scrubadub",
}
"""Files that list languages of something else."""
FEWEST = 4
"""Codes from which a collection is a list of languages."""


def test_no_code_lists_the_languages() -> None:
    sources = [*ROOT.glob("deid_assets/**/*.py"), *ROOT.glob("plugins/**/deid_*/**/*.py")]
    listing = {
        path.relative_to(ROOT).as_posix()
        for path in {*sources, *ROOT.glob("benchmarks/*.py")}
        if "tests" not in path.parts and any(map(_lists_languages, ast.walk(_tree(path))))
    }
    assert listing == LISTS_OF_OTHERS.keys()


def _tree(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def _lists_languages(node: ast.AST) -> bool:
    """Whether a collection, the keys of a table or a text of words holds codes of languages."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split()
        return all(len(word) == 2 for word in words) and _are_languages(words)
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return _are_languages([one.value for one in parts if isinstance(one, ast.Constant)])


def _are_languages(values: list[object]) -> bool:
    return len({value for value in values if value in languages.languages()}) >= FEWEST
