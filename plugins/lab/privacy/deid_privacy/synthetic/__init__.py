"""Taggers of generated notes, as published: from a split to a page (Vakili et al. 2025)."""
