"""The Dagster layer: assets, checks, partitions, jobs, sensors and schedules over the core and its adapters."""
