"""The one partition dimension: batches of notes, under opaque ids."""

import dagster as dg

batches = dg.DynamicPartitionsDefinition(name="batches")
"""Shared by every partitioned asset, so that a backfill over several of them has one root."""
