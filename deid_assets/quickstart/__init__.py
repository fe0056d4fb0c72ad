"""``python -m deid_assets.quickstart``.

Nothing is imported here: ``__main__`` must be the first, see ``deid_assets.system.interrupts``.
"""
