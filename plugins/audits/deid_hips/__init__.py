"""Hiding in plain sight.

Can an attacker tell what redaction missed from what was put in its place?
"""

from deid_hips.audit import Hips

__all__ = ["Hips"]
