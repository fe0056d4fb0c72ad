"""The actions that a policy file may name, and the options of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Replacer
from deid_assets.policies.ages import Age90, ShiftAge
from deid_assets.policies.encrypt import Encrypt
from deid_assets.policies.generalize import by_category
from deid_assets.policies.hashes import Hash
from deid_assets.policies.installed import PluginActions, plugin_action
from deid_assets.policies.safe_harbor import UsState, YearOnly, Zip3
from deid_assets.policies.sentences import DropSentence
from deid_assets.policies.shift import MAX_DAYS, Shift
from deid_assets.policies.tags import Blackout, Hide, MimicTag, Numbered, Placeholder, Tag

_REPLACERS: Mapping[str, type[Any]] = {
    "age_90": Age90,
    "blackout": Blackout,
    "drop_sentence": DropSentence,
    "encrypt": Encrypt,
    "hash": Hash,
    "hide": Hide,
    "mimic_tag": MimicTag,
    "numbered": Numbered,
    "placeholder": Placeholder,
    "shift": Shift,
    "shift_age": ShiftAge,
    "tag": Tag,
    "us_state": UsState,
    "year_only": YearOnly,
    "zip3": Zip3,
}
ONLY_FOR: Mapping[str, Sequence[Phi]] = {
    "age_90": (Phi.AGE,),
    "shift": (Phi.DATE,),
    "shift_age": (Phi.AGE,),
    "us_state": (Phi.REGION,),
    "year_only": (Phi.DATE,),
    "zip3": (Phi.ZIP,),
}
"""Actions of the package that read the value, with the categories that each serves."""
BUILTIN = tuple(sorted([*_REPLACERS, "generalize"]))

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "width": ("blackout",),
    "oldest_year": ("year_only", "generalize", "shift"),
    "hex_digits": ("hash",),
    "age_width": ("generalize",),
    "date": ("generalize",),
    "max_days": ("shift",),
    "max_years": ("shift_age",),
    "min_days": ("shift",),
    "whole_weeks": ("shift",),
    "keep_season": ("shift",),
    "require_patient": ("shift", "hash", "encrypt"),
}


class Action(BaseModel):
    """One replacer and its options; a bare string in the file stands for ``action`` alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: str
    width: int | None = Field(default=None, ge=1, le=1000, description="blackout: number of blocks")
    oldest_year: int | None = Field(
        default=None, ge=1900, le=2200, description="first year written out"
    )
    hex_digits: int | None = Field(default=None, ge=8, le=64, description="hash: its length")
    age_width: int | None = Field(
        default=None, ge=2, le=45, description="generalize: years in an age band"
    )
    date: Literal["year", "month"] | None = Field(
        default=None, description="generalize: what stays of a date"
    )
    max_days: int | None = Field(
        default=None, ge=1, le=MAX_DAYS, description="shift: largest offset"
    )
    max_years: int | None = Field(default=None, ge=1, le=10, description="shift_age: largest step")
    min_days: int | None = Field(
        default=None, ge=1, le=MAX_DAYS, description="shift: smallest offset"
    )
    whole_weeks: bool | None = Field(default=None, strict=True, description="shift: weekdays stay")
    keep_season: bool | None = Field(
        default=None, strict=True, description="shift: by whole years, so seasons stay"
    )
    require_patient: bool | None = Field(
        default=None, strict=True, description="refuse notes without patient id"
    )
    _made: Replacer | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: object, handler: ModelWrapValidatorHandler[Action], info: ValidationInfo
    ) -> Action:
        given = {"action": value} if isinstance(value, str) else value
        name = given.get("action") if isinstance(given, Mapping) else None
        if not isinstance(given, Mapping) or not isinstance(name, str) or name in BUILTIN:
            return handler(given)
        context = info.context or {"folder": Path(), "actions": PluginActions()}
        folder = context["folder"]
        try:
            plugin, action = plugin_action(name, BUILTIN, context["actions"])
            rest = {key: option for key, option in given.items() if key != "action"}
            made = action.from_options(rest, folder=folder, plugin=plugin.code_version)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        found = handler({"action": name})
        found._made = made  # noqa: SLF001 - our own
        return found

    @model_validator(mode="after")
    def _options_fit(self) -> Action:
        for option, actions in _OPTIONS.items():
            if getattr(self, option) is not None and self.action not in actions:
                raise ValueError(
                    f"{option} is an option of {' and '.join(actions)}, not of {self.action}"
                )
        if self.action == "shift":
            self._shift_fits()
        return self

    @property
    def serves(self) -> Sequence[Phi]:
        """Categories that the action serves; empty for any."""
        return (
            ONLY_FOR.get(self.action, ())
            if self._made is None
            else getattr(self._made, "serves", ())
        )

    def _shift_fits(self) -> None:
        if self.max_days is None:
            raise ValueError(
                "shift needs max_days, the largest offset; max_days = 364 moves by up to a year"
            )
        if not Shift(**self._list_given()).offsets():
            unit = "day" if self.whole_weeks is False else "whole week"
            near = ", near a whole year," if self.keep_season else ""
            raise ValueError(
                f"shift has no {unit}{near} from "
                f"min_days = {self.min_days or 1} to max_days = {self.max_days}; widen the range"
            )

    def replacer(self, label: Phi | None = None) -> Replacer:
        """Return what carries the action out for one category, or for those that have nothing of
        their own.
        """
        if self.action == "generalize":
            return Tag() if label is None else self.by_category().get(label, Tag())
        if self._made is not None:
            return self._made
        replacer: Replacer = _REPLACERS[self.action](**self._list_given())
        return replacer

    def by_category(self) -> dict[Phi, Replacer]:
        """Return the replacers of an action that treats categories differently.

        Empty for every other action.
        """
        return by_category(**self._list_given()) if self.action == "generalize" else {}

    def _list_given(self) -> dict[str, Any]:
        return self.model_dump(exclude={"action"}, exclude_none=True)
