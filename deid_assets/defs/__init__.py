"""The Dagster layer.

Assets, checks, partitions, jobs, sensors and schedules over the core and its adapters.
"""
