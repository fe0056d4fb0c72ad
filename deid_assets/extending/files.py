"""Files and folders that are written whole or not at all."""

from deid_assets.formats.formulas import escape_formula
from deid_assets.system.atomic import atomic_file, atomic_folder, owner_only, replace_folder
from deid_assets.system.digests import digest_of_files, digest_of_package, digest_of_path

__all__ = [
    "atomic_file",
    "atomic_folder",
    "digest_of_files",
    "digest_of_package",
    "digest_of_path",
    "escape_formula",
    "owner_only",
    "replace_folder",
]
