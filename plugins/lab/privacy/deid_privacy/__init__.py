"""Attacks that show what a language model of clinical notes still tells of its training text."""
