"""An encrypted store of what redaction took out, apart from everything else, for those who may put
it back.

Nothing is imported here: ``deid_assets.vault.store`` loads SQLAlchemy, ``deid_assets.vault.keys``
cryptography.
"""
