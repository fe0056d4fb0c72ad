"""A feed from an object store: files of any format under an address that fsspec knows.

A file whose version did not change is not fetched again. Names and messages of the store stand in
no error: both may name a patient.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from deid_assets.config.feeds import ObjectsOptions
from deid_assets.core.errors import ConfigError, DeidError, InputError, class_name
from deid_assets.feeds.source import Found, Unit
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.catalogue import FORMATS
from deid_assets.formats.options import ReadOptions
from deid_assets.formats.registry import FormatError, parse_notes
from deid_assets.formats.source import Selection
from deid_assets.own_plugins import command, remedy

_VERSIONS = ("ETag", "etag", "md5", "md5Hash", "generation", "version_id", "content_md5")
"""What stores say of the content of an object, any of which will do."""
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")


class ObjectsFeed:
    """Files under an address.

    Args:
        options: As the settings have them.
        reading: How files are read.
        folder: Restricted folder in which files are read.

    Raises:
        ConfigError: What opens such stores is not installed, or a secret's variable is not set.
    """

    is_whole = True

    def __init__(self, options: ObjectsOptions, *, reading: ReadOptions, folder: Path) -> None:
        self._options, self._reading, self._folder = options, reading, folder
        self._store, self._root = _open(options)
        self._paths: dict[str, list[str]] = {}

    def units(self) -> Iterator[Unit]:
        """Yield the files, sorted by name; those that differ in their suffix alone are one unit.

        Such as ``7.txt`` and ``7.ann``.

        Raises:
            InputError: The store failed, or there is no such folder.
        """
        with _failing():
            self._store.invalidate_cache()
            found: dict[str, dict[str, Any]] = self._store.find(self._root, detail=True)
            if not found and not self._store.exists(self._root):
                raise InputError(
                    "the store has nothing at that address; check it, and the rights to list it"
                )
        rule = Selection((), self._reading.ignore).rule
        pointers = {suffix for known in FORMATS.values() for suffix in known.pointers}
        named = {
            self._relative(path): (path, info)
            for path, info in found.items()
            if PurePosixPath(path).suffix.lower() not in pointers
        }
        kept = sorted((_stem(name), name) for name in named if name and not rule(name))
        for stem, names in groupby(kept, key=lambda pair: pair[0]):
            of_unit = [named[name] for _, name in names]
            self._paths[stem] = [path for path, _ in of_unit]
            yield Unit(stem, _version([info for _, info in of_unit]))

    def read(self, unit: Unit, since: str) -> Iterator[Found]:
        """Fetch a unit and yield its notes and faults; the files are removed then.

        Raises:
            InputError: The store failed.
        """
        del since
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self._folder, prefix="unit-") as name:
            for path in self._paths[unit.name]:
                target = Path(name, *_safe(self._relative(path)))
                target.parent.mkdir(parents=True, exist_ok=True)
                with _failing():
                    self._store.get_file(path, str(target))
            yield from self._parse(Path(name))

    def ids(self, unit: Unit) -> Iterator[str]:
        """Yield nothing: a unit is read whole."""
        del unit
        yield from ()

    def described(self) -> Mapping[str, str]:
        """Return the address, and how changes are known."""
        return {
            "address": self._options.url,
            "changes are known by": "the version that the store gives each file",
            "rows marked as deleted": "none",
        }

    def _parse(self, folder: Path) -> Iterator[ParsedNote | Fault]:
        chosen = self._options.format or None
        try:
            for entry in parse_notes(folder, format=chosen, options=self._reading):
                yield self._set_language(entry)
        except FormatError as error:
            files = (path for path in sorted(folder.rglob("*")) if path.is_file())
            for file in files:
                name = file.relative_to(folder).as_posix()
                yield Fault.at(name, "unknown-format", error.reason)

    def _set_language(self, entry: ParsedNote | Fault) -> ParsedNote | Fault:
        if isinstance(entry, Fault) or entry.lang or not self._options.lang:
            return entry
        return replace(entry, lang=self._options.lang)

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._root).lstrip("/") or PurePosixPath(path).name


def _open(options: ObjectsOptions) -> tuple[Any, str]:
    """Return the store and the path in it."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise ConfigError(f"object stores need fsspec; {remedy('s3')}") from None
    secrets = {}
    for key, variable in options.storage_env.items():
        secrets[key] = os.environ.get(variable, "")
        if not secrets[key]:
            raise ConfigError(f"the environment variable {variable} is not set; storage.{key}")
    try:
        store, root = url_to_fs(options.url, **options.storage, **secrets)
    except ImportError:
        raise ConfigError(
            f"what opens such an address is not installed; `{command('s3')}` brings s3://,"
            " `pip install gcsfs` gs://, `pip install adlfs` abfs://"
        ) from None
    except Exception as error:  # noqa: BLE001 - of any library, whose message may quote a secret
        raise ConfigError(
            f"the store cannot be opened ({class_name(error)}); check url and storage"
        ) from None
    return store, str(root).rstrip("/")


@contextmanager
def _failing() -> Iterator[None]:
    """Say of what a store raises its kind alone.

    Raises:
        InputError: It raised something.
    """
    try:
        yield
    except DeidError:
        raise
    except Exception as error:  # noqa: BLE001 - of any library
        raise InputError(
            f"the store failed ({class_name(error)}); check the address, the network and the rights"
        ) from None


def _stem(name: str) -> str:
    path = PurePosixPath(name)
    suffixes = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
    return name.removesuffix(suffixes) or name


def _version(infos: list[dict[str, Any]]) -> str:
    """Return what changes with the content of some files; empty where the store tells nothing."""
    told = []
    for info in infos:
        found = [info[key] for key in _VERSIONS if info.get(key)]
        times = [info[key] for key in _TIMES if info.get(key)]
        if not found and not times:
            return ""
        told.append(f"{info.get('size')} {(found or times)[0]}")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _safe(name: str) -> list[str]:
    """Return the steps of a path, none of which leads out of a folder."""
    return [step for step in PurePosixPath(name).parts if step not in ("..", ".", "/")]
