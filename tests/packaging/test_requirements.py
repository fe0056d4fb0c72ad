"""What ``make add`` gives pip.

Folders of this checkout, and never the name of a distribution that no registry has.
"""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from deid_assets.own_plugins import BRINGS, command

ROOT = Path(__file__).parents[2]
FOLDERS = {
    tomllib.loads(path.read_text())["project"]["name"]: path.parent
    for path in ROOT.glob("plugins/**/pyproject.toml")
}
NAMED_BEFORE = [
    "annotation",
    "audits",
    "clinical_formats",
    "compact",
    "corpora",
    "corpus_formats",
    "crf",
    "datafog",
    "deduce",
    "document_formats",
    "edit_maps",
    "edsnlp",
    "encoder",
    "evaluation",
    "flair",
    "gazetteers",
    "generative",
    "gliner",
    "hips",
    "known_identity",
    "onnx",
    "openmed",
    "phileas",
    "presidio",
    "privacy",
    "published",
    "reidentification",
    "rules",
    "scrubadub",
    "spacy",
    "stanza",
    "surrogates",
    "synthesis",
    "tagger_analysis",
    "transformers",
    "zero_shot",
]
"""Plugins that were distributions of their own: their names still install them."""
TEXTS = [
    path
    for folder in ("README.md", "deid_assets", "resources", "plugins", "docs")
    for path in ([ROOT / folder] if folder.endswith(".md") else (ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".toml", ".j2"} and "tests" not in path.parts
]
REMEDY = re.compile(r"make add PLUGIN=(?:'([^'…]+)'|\"([^\"…]+)\"|([\w\[\],]+)(?![/\w]))")


def needed(folder, extras):
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]


@pytest.mark.parametrize(
    "name",
    [
        *NAMED_BEFORE,
        *("neural", "peers", "formats", "studies", "causal", "gliner2", "lab", "networks", "all"),
        *("published[add]", "gliner[gliner2]", "audits[models]", "privacy[dp]", "zero_shot[spacy]"),
        *("postgresql", "tested"),
    ],
)
def test_whatever_a_plugin_needs_of_this_project_is_given_as_a_folder(
    requirements, name, tmp_path, capsys
):
    assert requirements.main(["--own", str(tmp_path), name]) == 0

    lines = capsys.readouterr().out.splitlines()
    given = {}
    for line in lines:
        # pip before 23.3 knows an extra by the spelling of the built metadata: hyphens.
        path, extras = re.fullmatch(r"-e '?([^'\[]+)(?:\[([a-z0-9,-]+)\])?'?", line).groups()
        given[Path(path)] = set(extras.replace("-", "_").split(",")) if extras else set()
    assert given
    for folder, extras in given.items():
        for one in needed(folder, extras):
            if match := re.match(r"(deid-[a-z-]+)(?:\[([a-z0-9_,]+)\])?", one):
                neighbour, more = match.groups()
                place = FOLDERS.get(neighbour)
                assert neighbour == "deid-assets" or place in given, one
                assert not more or set(more.split(",")) <= given[place], one


def test_what_is_installed_is_told_by_the_names_that_the_command_takes(
    requirements, tmp_path, capsys
):
    requirements.main(["--own", str(tmp_path), "zero_shot[spacy]"])

    told = capsys.readouterr().err
    assert "studies[spacy,zero_shot]" in told
    assert requirements.closure(["studies[spacy,zero_shot]"], own=tmp_path)


@pytest.mark.parametrize(
    ("name", "distribution", "extras"),
    [
        ("spacy", "neural", {"spacy", "published", "onnx"}),
        ("hips", "audits", set()),
        ("deduce", "peers", {"deduce"}),
        ("synthesis", "corpora", set()),
        ("published[add]", "neural", {"published", "published_add", "export", "onnx"}),
    ],
)
def test_a_plugin_is_its_distribution_with_what_it_needs(
    requirements, name, distribution, extras, tmp_path
):
    assert requirements.closure([name], own=tmp_path) == {ROOT / "plugins" / distribution: extras}


def test_all_brings_every_entry_point(requirements, tmp_path):
    """Whoever asks for all lacks no extra that any entry point names."""
    chosen = requirements.closure(["all"], own=tmp_path)
    for folder in {path for path in FOLDERS.values() if path.name != "template"}:
        entries = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]
        values = [value for group in entries.values() for value in group.values()]
        assert set(re.findall(r"\[(\w+)\]", " ".join(values))) <= chosen[folder]


def test_every_extra_that_an_entry_point_names_is_there():
    for folder in FOLDERS.values():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        values = [one for group in project["entry-points"].values() for one in group.values()]
        named = set(re.findall(r"\[(\w+)\]", " ".join(values)))
        assert named <= project.get("optional-dependencies", {}).keys(), folder
        packages = {value.partition(":")[0].partition(".")[0] for value in values}
        assert packages <= {path.parent.name for path in folder.glob("deid_*/__init__.py")}, folder


def test_every_package_of_a_distribution_is_in_its_wheel():
    for folder in FOLDERS.values():
        text = tomllib.loads((folder / "pyproject.toml").read_text())
        listed = text["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        assert listed == sorted(path.parent.name for path in folder.glob("deid_*/__init__.py"))


def test_a_plugin_of_ones_own_is_found_by_name_and_by_path(requirements, tmp_path):
    folder = tmp_path / "own plugins" / "badge"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "deid-badge"\ndependencies = ["deid-neural[onnx]>=0.1"]\n'
    )

    found = {folder.resolve(): set(), ROOT / "plugins" / "neural": {"onnx"}}
    assert requirements.closure(["badge"], own=folder.parent) == found
    assert requirements.closure([str(folder)], own=tmp_path) == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "spacie",
            "no plugin 'spacie'; did you mean 'spacy'? There are networks, lab, all, annotation",
        ),
        ("spacy[big]", "spacy has no extra 'big'; it has causal, edsnlp, encoder, "),
    ],
)
def test_a_name_that_is_none_is_one_line(requirements, name, said, tmp_path, capsys):
    assert requirements.main(["--own", str(tmp_path), name]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(said)
    assert told.err.count("\n") == 1


def test_no_name_at_all_says_what_there_is(requirements, tmp_path, capsys):
    assert requirements.main(["--own", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("Name a plugin: make add PLUGIN=spacy. There are ")


@pytest.mark.long
def test_every_plugin_has_a_remedy_that_make_knows(requirements, tmp_path):
    for group in BRINGS.values():
        for plugin in group.values():
            (name,) = shlex.split(command(plugin).removeprefix("make add PLUGIN="))
            package = f"deid_{name.partition('[')[0]}"
            folders = requirements.closure([name], own=tmp_path)
            assert any((folder / package).is_dir() for folder in folders)


def test_no_text_sends_to_a_registry_for_what_it_has_not():
    wanted = re.compile(r"install '?deid-|pip install .*-e plugins/")
    assert [path for path in TEXTS if wanted.search(path.read_text(encoding="utf-8"))] == []


def test_every_text_that_says_make_add_names_what_make_knows(requirements, tmp_path):
    named = {
        name
        for path in TEXTS
        for match in REMEDY.finditer(path.read_text(encoding="utf-8"))
        for name in next(filter(None, match.groups())).split()
    }
    assert len(named) > 20
    of_examples = {"mine", "badge", "lab_format"}
    for name in named - of_examples:
        requirements.closure([name], own=tmp_path)


def test_make_gives_pip_what_the_module_lists(tmp_path):
    shown = subprocess.run(
        ["make", "-nB", "add", "PLUGIN=spacy"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert "plugins/requirements.py" in shown
    assert (
        "-m pip install --disable-pip-version-check --constraint constraints.txt --requirement"
        " .venv/added.txt" in shown
    )
    assert "spacy" in shown.split("requirements.py")[-1]
