"""Erasure of one patient from all that an installation keeps, with a signed certificate."""
