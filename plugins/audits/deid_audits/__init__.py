"""``deid privacy``: audits run from a shell, put on one page, and the gate of a model."""
