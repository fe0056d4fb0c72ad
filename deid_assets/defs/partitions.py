"""The one partition dimension: batches of notes, under opaque ids."""

import hashlib
from collections.abc import Iterable

import dagster as dg

batches = dg.DynamicPartitionsDefinition(name="batches")
"""Shared by every partitioned asset, so that a backfill over several of them has one root."""


def batch_id(digests: Iterable[str]) -> str:
    """Return the opaque id of a batch from the SHA-256 digests of its files; the order does not matter."""
    return "b-" + hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()[:16]
