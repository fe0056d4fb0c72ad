"""Bodies of the assets, without Dagster: a batch and the installation in, tables, verdicts and counts out."""
