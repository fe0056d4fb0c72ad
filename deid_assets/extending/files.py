"""Files and folders that are written whole or not at all."""

from deid_assets.formats.formulas import escaped as escaped_formula
from deid_assets.system.atomic import atomic_file, atomic_folder, replace_folder

__all__ = ["atomic_file", "atomic_folder", "escaped_formula", "replace_folder"]
