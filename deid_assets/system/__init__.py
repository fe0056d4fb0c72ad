"""Helpers for the operating system: digests of files, and interrupts."""
