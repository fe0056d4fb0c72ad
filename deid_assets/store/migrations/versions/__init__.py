"""Alembic migrations of the SQL catalogue; ``Database.upgrade`` runs them."""
