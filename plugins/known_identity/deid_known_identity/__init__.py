"""Finds what is already known of a patient in that patient's notes."""

from deid_known_identity.detector import KnownIdentityDetector

__all__ = ["KnownIdentityDetector"]
