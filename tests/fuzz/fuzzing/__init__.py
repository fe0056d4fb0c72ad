"""Damaged files for every reader: how they are made, read and watched."""
