"""The wheels hold their packages with everything that these read, and nothing else.

What is installed from them is tried in ``test_wheel_installed.py``.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deid_assets.core.errors import InputError
from deid_assets.operation.wheels import OWN, files_for, read_wheels
from deid_assets.own_plugins import BRINGS

ELSEWHERE = {
    "deid-assets": "deid_assets/plugin_template/",
    "deid-corpora": "deid_corpora/composed_notes/",
}
"""Folders of wheels that the checkout has elsewhere."""


@pytest.fixture(scope="session")
def folder(root, tmp_path_factory):
    """Wheels that were built from the checkout, as ``make wheels`` does."""
    pytest.importorskip("hatchling", reason="it builds wheels")
    out = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, str(root / "plugins" / "wheels.py"), "--out", str(out)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def wheels(folder):
    return {wheel.name: wheel for wheel in read_wheels(folder)}


def content(wheel):
    with zipfile.ZipFile(wheel.path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def tracked(root, folder):
    """Files of the packages in a folder that are kept in version control."""
    command = ["git", "ls-files", "-z", "--", "deid_*"]
    listed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    found = {name for name in listed.split("\0") if name and (folder / name).is_file()}
    if folder == root:
        found |= {
            path.relative_to(root / "resources").as_posix()
            for path in (root / "resources" / "deid_resources").rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }
    return found


def test_every_distribution_has_a_wheel(requirements, wheels):
    named = {str(one.project["name"]) for one in requirements.list_shipped()}
    assert wheels.keys() == named | {OWN}


def test_each_wheel_holds_all_of_its_packages_and_no_more(requirements, root, wheels):
    """Also data, templates, models and migrations, whatever their names end in."""
    for one in (requirements.Distribution(root), *requirements.list_shipped()):
        name = str(one.project["name"])
        found = content(wheels[name])
        aside = {file for file in found if file.startswith(ELSEWHERE.get(name, "\0"))}
        kept = tracked(root, one.folder)

        assert kept, name
        assert kept <= found, name
        assert bool(aside) == (name in ELSEWHERE)
        strangers = found - aside - kept
        assert not [file for file in strangers if not (one.folder / file).is_file()], name
        assert not [file for file in found if file.endswith((".pyc", ".parquet", ".sqlite"))], name


def test_what_lies_elsewhere_is_whole(root, wheels):
    marked = root / "corpora" / "composed" / "marked"
    notes = {f"deid_corpora/composed_notes/{path.relative_to(marked).as_posix()}"
             for path in marked.rglob("*.txt")}  # fmt: skip
    template = root / "plugins" / "template"
    parts = {"pyproject.toml", "deid_template/__init__.py", "tests/test_template.py"}

    assert len(notes) > 30
    assert notes <= content(wheels["deid-corpora"])
    assert all((template / part).is_file() for part in parts)
    assert {f"deid_assets/plugin_template/{part}" for part in parts} <= content(wheels[OWN])


def test_a_commit_has_one_wheel(requirements, root, tmp_path, monkeypatch):
    """Whenever, and wherever it is built."""
    spec = importlib.util.spec_from_file_location("wheels", root / "plugins" / "wheels.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "requirements", requirements)
    spec.loader.exec_module(module)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", module.commit_time())
    built = []
    for name in ("first", "second"):
        folder = tmp_path / name
        shutil.copytree(root / "plugins" / "known_identity", folder)
        for path in folder.rglob("*.py"):
            os.utime(path)
        (out := tmp_path / f"{name} wheel").mkdir()
        built.append((out / module.build(folder, out)).read_bytes())

    assert int(module.commit_time()) > 1_600_000_000
    assert built[0] == built[1]


def test_the_file_for_pip_is_what_make_run_installs(requirements, root, folder, wheels):
    listed = (folder / "quickstart.txt").read_text().splitlines()
    chosen = requirements.closure(["quickstart"], own=root)

    assert all(line.startswith("./deid_") for line in listed)
    assert len(listed) == len(chosen)
    found = files_for(["quickstart"], [*wheels.values()])
    assert {f"{folder}/{line[2:]}" for line in listed} == {*found}


def test_a_plugin_is_the_same_files_as_make_add_gives_folders(requirements, tmp_path, wheels):
    plugins = {plugin for group in BRINGS.values() for plugin in group.values()}
    for plugin in sorted(plugins | {"s3", "postgresql", "lab", "published[add]", "peers"}):
        folders = requirements.closure([plugin], own=tmp_path)
        wanted = {
            canonicalize_name(distribution.project["name"]): others(
                one
                for one in map(Requirement, distribution.requirements(extras))
                if one.marker is None or one.marker.evaluate()
            )
            for distribution, extras in (
                (requirements.Distribution(place), extras) for place, extras in folders.items()
            )
        }
        given = {}
        for file in files_for([plugin], [*wheels.values()]):
            path, _, extras = file.rstrip("]").partition("[")
            (wheel,) = (one for one in wheels.values() if str(one.path) == path)
            given[wheel.name] = others(wheel.needs(filter(None, extras.split(","))))

        # pip is given this package too: plugins need it
        assert given | {OWN: set()} == wanted | {OWN: set()}, plugin


def others(requirements):
    """Names of packages that are not of this project."""
    names = {canonicalize_name(one.name) for one in requirements}
    return {name for name in names if not name.startswith("deid-")}


def test_a_name_that_is_none_lists_those_that_there_are(wheels):
    with pytest.raises(InputError, match="no plugin 'spacie'; did you mean 'spacy'"):
        files_for(["spacie"], [*wheels.values()])
    with pytest.raises(InputError, match="spacy has no extra 'big'; it has causal, "):
        files_for(["spacy[big]"], [*wheels.values()])


def test_a_folder_that_lacks_a_wheel_says_so(tmp_path, wheels):
    with pytest.raises(InputError, match="no wheel of deid-assets is there"):
        read_wheels(tmp_path)
    for name in (OWN, "deid-compact"):
        (tmp_path / wheels[name].path.name).write_bytes(wheels[name].path.read_bytes())
    with pytest.raises(InputError, match="no wheel of deid-rules is there, which deid-compact"):
        files_for(["compact"], read_wheels(tmp_path))
    (tmp_path / wheels[OWN].path.name).write_bytes(b"PK")
    with pytest.raises(InputError, match="not a wheel; build it again by `make wheels`"):
        read_wheels(tmp_path)


def test_make_wheels_does_the_same(root):
    shown = subprocess.run(
        ["make", "--no-print-directory", "-nB", "wheels"],  # make test runs this test within make
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert ".venv-wheels/bin/python plugins/wheels.py --out dist" in shown
    assert shlex.split(shown.splitlines()[-1])[0] == ".venv-wheels/bin/python"
