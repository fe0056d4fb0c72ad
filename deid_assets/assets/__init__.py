"""Bodies of the assets, without Dagster.

A batch and the installation in, tables, verdicts and counts out.
"""
