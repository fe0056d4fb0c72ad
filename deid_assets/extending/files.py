"""Files and folders that are written whole or not at all."""

from deid_assets.system.atomic import atomic_file, atomic_folder, replace_folder

__all__ = ["atomic_file", "atomic_folder", "replace_folder"]
