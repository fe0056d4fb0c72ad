"""What tables of settings have in common: no key changes, and none is unknown."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Frozen(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
