"""``deid gazetteer``: dictionaries compiled from lists, and a vocabulary of raw notes."""
