"""Every plugin of this repository is held to what ``deid_assets.extending`` names."""

import tomllib


def packages(floor):
    """The import packages of the distributions on one of the two floors."""
    return {path.parent.name for path in floor.glob("*/deid_*/__init__.py")}


def test_every_plugin_is_in_the_import_contract_and_every_module_of_the_package_too(root):
    config = tomllib.loads((root / "plugins" / "imports.toml").read_text())["tool"]["importlinter"]
    surface, no_plugins, no_laboratory, apart = config["contracts"]
    product, laboratory = packages(root / "plugins"), packages(root / "plugins" / "lab")
    found = product | laboratory
    ours = {
        path.stem
        for path in (root / "deid_assets").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert set(surface["source_modules"]) == set(no_plugins["forbidden_modules"]) == found
    assert set(apart["modules"]) == found
    assert set(no_laboratory["source_modules"]) == product | {"deid_assets", "deid_resources"}
    assert set(no_laboratory["forbidden_modules"]) == laboratory
    assert set(config["root_packages"]) == found | {"deid_assets", "deid_resources"}
    assert {name.removeprefix("deid_assets.") for name in surface["forbidden_modules"]} - {
        "deid_resources"
    } == ours - {
        "__init__",
        "extending",
    }
