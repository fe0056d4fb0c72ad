"""Dagster resources: configuration and life cycle of what the assets use."""
