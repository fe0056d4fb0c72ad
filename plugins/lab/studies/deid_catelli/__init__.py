"""Recipes of the taggers of Catelli (2021), one for each system and row; see docs/catelli.md."""
