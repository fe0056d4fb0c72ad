"""Alembic's entry point: migrates over the connection that ``Database`` hands in."""

from alembic import context

from deid_assets.store.tables import PREFIX, catalogue

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=catalogue.metadata,
    # Dagster's own tables, and its ``alembic_version``, may live in the same database.
    version_table=f"{PREFIX}alembic_version",
    include_name=lambda name, kind, _: kind != "table" or (name or "").startswith(PREFIX),
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
