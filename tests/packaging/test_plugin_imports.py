"""Every plugin of this repository is held to what ``deid_assets.extending`` names."""

import tomllib


def test_every_plugin_is_in_the_import_contract_and_every_module_of_the_package_too(root):
    config = tomllib.loads((root / "plugins" / "imports.toml").read_text())["tool"]["importlinter"]
    surface, no_plugins = config["contracts"]
    found = {path.name for path in root.glob("plugins/*/deid_*") if (path / "__init__.py").exists()}
    ours = {
        path.stem
        for path in (root / "deid_assets").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert set(surface["source_modules"]) == set(no_plugins["forbidden_modules"]) == found
    assert set(config["root_packages"]) == found | {"deid_assets", "deid_resources"}
    assert {name.removeprefix("deid_assets.") for name in surface["forbidden_modules"]} - {
        "deid_resources"
    } == ours - {
        "__init__",
        "extending",
    }
