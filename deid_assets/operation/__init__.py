"""Setting an installation up and looking whether it is safe to run, without Dagster."""
