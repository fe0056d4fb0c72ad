"""``deid zero-shot`` with all its commands."""

from deid_zero_shot import inspecting, projecting
from deid_zero_shot.commands import app

__all__ = ["app", "inspecting", "projecting"]
