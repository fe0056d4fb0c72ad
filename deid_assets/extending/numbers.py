"""Check digits of identifiers."""

from deid_assets.reference import check_digits

__all__ = ["check_digits"]
