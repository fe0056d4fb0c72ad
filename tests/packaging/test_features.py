"""The pages that list plugins leave none of the product out."""

import re
import tomllib

import pytest


def detectors(root):
    """Names of the product's detectors, the template's left out."""
    return sorted(
        name
        for path in root.glob("plugins/*/pyproject.toml")
        if path.parent.name != "template"
        for name in tomllib.loads(path.read_text())["project"]
        .get("entry-points", {})
        .get("deid_assets.detectors", {})
    )


def test_features_name_every_detector_of_the_product(root):
    page = (root / "docs" / "features.md").read_text(encoding="utf-8").casefold()
    named = {"batch_crf": "crf", "gliner2": "gliner"}
    names = detectors(root)
    assert len(names) > 15
    assert [one for one in names if not re.search(rf"\b{named.get(one, one)}\b", page)] == []


@pytest.mark.parametrize("name", ["neural", "peers"])
def test_the_page_of_a_distribution_names_each_of_its_detectors(root, name):
    folder = root / "plugins" / name
    page = (folder / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for detector in project["entry-points"]["deid_assets.detectors"]:
        assert f"`{detector}`" in page


def test_the_laboratory_is_named_where_people_begin(root):
    for path in ("docs/README.md", "docs/features.md"):
        assert "laboratory.md" in (root / path).read_text(encoding="utf-8")
    assert "docs/laboratory.md" in (root / "README.md").read_text(encoding="utf-8")
