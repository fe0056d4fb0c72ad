"""The wheel holds the two packages and everything they read, and nothing else."""

import subprocess
import sys
import zipfile

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def names(root, tmp_path_factory):
    """Paths in a wheel that was built from the checkout."""
    pytest.importorskip("build")
    pytest.importorskip(
        "hatchling", reason="builds without isolation need the build backend installed"
    )
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(root),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_top_level_names_are_the_two_packages(names):
    top = {name.partition("/")[0] for name in names}

    assert {name for name in top if not name.endswith(".dist-info")} == {
        "deid_assets",
        "deid_resources",
    }


@pytest.mark.parametrize(
    "pattern",
    [
        "deid_assets/py.typed",
        "deid_resources/py.typed",
        "deid_assets/reports/templates/*.j2",
        "deid_assets/reports/templates/*.css",
        "deid_assets/store/migrations/versions/*.py",
        "deid_assets/policies/builtin/*.toml",
        "deid_assets/core/*.toml",
        "deid_assets/languages/**/*.toml",
        "deid_assets/languages/**/*.txt",
    ],
)
def test_every_file_the_packages_read_is_in_the_wheel(root, names, pattern):
    source = root / "resources" if pattern.startswith("deid_resources") else root
    files = {path.relative_to(source).as_posix() for path in source.glob(pattern)}

    assert files
    assert files <= set(names)


def test_no_test_and_no_corpus_is_in_the_wheel(names):
    assert not [
        name
        for name in names
        if "test" in name.rsplit("/", 1)[-1].lower() and not name.endswith("testing.py")
    ]
    assert not [name for name in names if name.endswith((".parquet", ".jsonl", ".pyc", ".sqlite"))]
