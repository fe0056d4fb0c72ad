"""What ``make add`` gives pip.

Folders of this checkout, and never the name of a distribution that no registry has.
"""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from deid_assets.own_plugins import BRINGS, command

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(
    path.parent.name
    for path in ROOT.glob("plugins/*/pyproject.toml")
    if path.parent.name != "template"
)
TEXTS = [
    path
    for folder in ("README.md", "deid_assets", "resources", "plugins", "docs")
    for path in ([ROOT / folder] if folder.endswith(".md") else (ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".toml", ".j2"} and "tests" not in path.parts
]
REMEDY = re.compile(r"make add PLUGIN=(?:'([^'…]+)'|\"([^\"…]+)\"|([\w\[\],]+)(?![/\w]))")


@pytest.fixture(scope="module")
def requirements():
    """The module that ``make add`` runs."""
    spec = importlib.util.spec_from_file_location(
        "requirements", ROOT / "plugins" / "requirements.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needed(folder, extras):
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]


@pytest.mark.parametrize(
    "name", [*SHIPPED, "published[add]", "gliner[gliner2]", "networks", "all", "postgresql"]
)
def test_whatever_a_plugin_needs_of_this_project_is_given_as_a_folder(
    requirements, name, tmp_path, capsys
):
    assert requirements.main(["--own", str(tmp_path), name]) == 0

    lines = capsys.readouterr().out.splitlines()
    given = {}
    for line in lines:
        path, extras = re.fullmatch(r"-e '?([^'\[]+)(?:\[([a-z0-9_,]+)\])?'?", line).groups()
        given[Path(path)] = set(extras.split(",")) if extras else set()
    assert given
    for folder, extras in given.items():
        for one in needed(folder, extras):
            if match := re.match(r"(deid-[a-z-]+)(?:\[([a-z]+)\])?", one):
                neighbour, more = match.groups()
                place = ROOT / "plugins" / neighbour.removeprefix("deid-").replace("-", "_")
                assert neighbour == "deid-assets" or place in given, one
                assert not more or more in given[place], one


def test_spacy_comes_with_its_neighbours(requirements, tmp_path):
    names = {folder.name for folder in requirements.closure(["spacy"], own=tmp_path)}
    assert names == {"spacy", "published", "onnx"}


def test_a_plugin_of_ones_own_is_found_by_name_and_by_path(requirements, tmp_path):
    folder = tmp_path / "own plugins" / "badge"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "deid-badge"\ndependencies = ["deid-onnx>=0.1"]\n'
    )

    found = {folder.resolve(), ROOT / "plugins" / "onnx"}
    assert set(requirements.closure(["badge"], own=folder.parent)) == found
    assert set(requirements.closure([str(folder)], own=tmp_path)) == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("spacie", "no plugin 'spacie'; did you mean 'spacy'? There are networks, all, annotation"),
        ("spacy[big]", "spacy has no extra 'big'; it has none."),
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


def test_every_plugin_has_a_remedy_that_make_knows(requirements, tmp_path):
    for group in BRINGS.values():
        for plugin in group.values():
            name = command(plugin).removeprefix("make add PLUGIN=")
            assert ROOT / "plugins" / name in requirements.closure([name], own=tmp_path)


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
        requirements.closure(requirements._named([name], tmp_path), own=tmp_path)


def test_make_gives_pip_what_the_module_lists(tmp_path):
    shown = subprocess.run(
        ["make", "-nB", "add", "PLUGIN=spacy"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert "plugins/requirements.py" in shown
    assert (
        "-m pip install --disable-pip-version-check --constraint constraints.txt --requirement"
        " .venv/added.txt" in shown
    )
    assert "spacy" in shown.split("requirements.py")[1]
