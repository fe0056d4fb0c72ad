"""Policies as TOML files: read, checked and turned into replacers.

::

    name = "mine"
    description = "Tags, but blocks for names; sex stays."
    default = "tag"                                   # every category not named below
    keep = ["SEX"]                                    # left as it is; has to be written out

    [actions]
    NAME = { action = "blackout", width = 8 }
    AGE = "age_90"
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from deid_assets.core.errors import ConfigError, did_you_mean
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, Replacer
from deid_assets.policies.actions import Action
from deid_assets.policies.installed import PluginActions
from deid_assets.policies.shift import Shift

BUILTIN = (
    "blackout",
    "drop_sentence",
    "gdpr_strict",
    "hash",
    "i2b2_style",
    "keep_nothing",
    "limited_data_set",
    "mimic_style",
    "numbered",
    "placeholder",
    "research",
    "safe_harbor",
    "surrogate",
    "swedish",
    "tag",
)
"""Names of the policies that come with the package."""

REVISION = 6
"""Raised whenever a replacer's output changes, so that the digest changes with it."""


class PolicyFile(BaseModel):
    """The content of a policy file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    description: str = ""
    default: Action = Action(action="tag")
    actions: Mapping[Phi, Action] = Field(default_factory=dict)
    keep: frozenset[Phi] = frozenset()

    @field_validator("default")
    @classmethod
    def _default_serves_all(cls, action: Action) -> Action:
        if served := action.serves:
            raise ValueError(
                f"{action.action} serves {', '.join(served)} only and cannot be the default"
            )
        return action

    @model_validator(mode="after")
    def _actions_fit(self) -> PolicyFile:
        for label, action in self.actions.items():
            served = action.serves
            if served and label not in served:
                only = f"{action.action} serves {', '.join(served)} only"
                raise ValueError(f"actions.{label}: {only}; choose surrogate or tag")
        if both := sorted(self.keep & self.actions.keys()):
            raise ValueError(f"{', '.join(both)} both under keep and under actions; choose one")
        return self

    def policy(self) -> Policy:
        """Return the policy that ``redact`` carries out."""
        of_default = {
            label: made
            for label, made in self.default.by_category().items()
            if label not in self.keep
        }
        actions = of_default | {
            label: action.replacer(label) for label, action in self.actions.items()
        }
        default = self.default.replacer()
        digest = _digest(default, actions, self.keep)
        return Policy(self.name, default, actions, self.keep, digest)


def load_policy(name_or_path: str | Path) -> Policy:
    """Return a policy that comes with the package, by name, or one from a TOML file.

    Raises:
        ConfigError: There is no such policy, or the file is wrong; the message names the file and
            the key.
    """
    return _load(name_or_path).policy()


def descriptions() -> dict[str, str]:
    """Return the policies that come with the package, each with its description."""
    return {name: str(tomllib.loads(_builtin(name))["description"]) for name in BUILTIN}


def _builtin(name: str) -> str:
    return (resources.files("deid_assets.policies") / "builtin" / f"{name}.toml").read_text("utf-8")


def _load(name_or_path: str | Path) -> PolicyFile:
    if name_or_path in BUILTIN:
        return _parse(_builtin(str(name_or_path)), f"policy {name_or_path}")
    path = Path(name_or_path)
    try:
        return _parse(path.read_text("utf-8"), str(path), folder=path.parent)
    except OSError:
        raise ConfigError(
            f"there is no policy {str(name_or_path)!r}{did_you_mean(str(name_or_path), BUILTIN)};"
            f" choose one of {', '.join(BUILTIN)}, or give a TOML file"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None


def _parse(source: str, where: str, *, folder: Path | None = None) -> PolicyFile:
    try:
        context = {"folder": folder or Path(), "actions": PluginActions()}
        return PolicyFile.model_validate(tomllib.loads(source), context=context)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"] if part != "[key]") or "file"
        raise ConfigError(f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}") from None


def _digest(default: Replacer, actions: Mapping[Phi, Replacer], keep: frozenset[Phi]) -> str:
    content = {
        "revision": REVISION,
        "default": _describe(default),
        "actions": {label: _describe(replacer) for label, replacer in sorted(actions.items())},
        "keep": sorted(keep),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _describe(replacer: Replacer) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if is_dataclass(replacer) and not isinstance(replacer, type):
        values = {
            one.name: getattr(replacer, one.name)
            for one in fields(replacer)
            if one.metadata.get("digest", True)
        }
        options = {
            name: _describe(value) if is_dataclass(value) else value
            for name, value in values.items()
        }
    # Moved dates come from names of months, and surrogates from lists, which change with their
    # packages' versions.
    packages: Sequence[str] = getattr(
        replacer, "packages", ("babel",) if isinstance(replacer, Shift) else ()
    )
    return {
        "action": type(replacer).__name__,
        **options,
        **{name: _version(name) for name in packages},
    }


@cache
def _version(package: str) -> str:
    """Version of an installed package; reading its metadata takes milliseconds."""
    return metadata.version(package)
