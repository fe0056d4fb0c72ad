"""Runs GLiNER models, whose labels are prompts, as their library does."""

from deid_gliner.detector import GlinerDetector

__all__ = ["GlinerDetector"]
