"""The one partition dimension: batches of notes, under opaque ids."""

from collections.abc import Iterable

import dagster as dg

from deid_assets.core.keys import Key

batches = dg.DynamicPartitionsDefinition(name="batches")
"""Shared by every partitioned asset, so that a backfill over several of them has one root."""


def batch_id(digests: Iterable[str], *, key: Key) -> str:
    """Return the opaque id of a batch from the SHA-256 digests of its files; the order does not matter.

    The id stands in releases. It is keyed, so that whoever holds one and guesses at the files cannot tell.
    """
    return "b-" + key.derive("batch", *sorted(digests)).hex()[:16]
