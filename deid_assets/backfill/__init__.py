"""``python -m deid_assets.backfill``.

Nothing is imported here: ``__main__`` must be the first, see ``deid_assets.system.interrupts``.
"""
