"""Commands of ``deid``."""
