"""An installation that the tests of a module begin with, made once."""

import shutil

import pytest

from deid_assets.intake.states import batch_ids


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Where a copy of it is kept."""
    return tmp_path_factory.mktemp("start") / "home"


@pytest.fixture
def begin(installation, start):
    """A function that makes one batch of notes by the assets named, all where none is, or puts
    what the first test of the module made in place.
    """

    def make_or_copy(records, *assets):
        if not start.exists():
            batch = installation.receive(records)
            assert installation.failures(installation.run(batch, *assets)) == {}
            shutil.copytree(installation.home, start)
        shutil.rmtree(installation.home, ignore_errors=True)
        shutil.copytree(start, installation.home)
        (installation.batch,) = batch_ids(installation.settings())
        return installation

    return make_or_copy
