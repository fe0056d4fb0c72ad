"""Rules and dictionaries as a detector: one folder of declarative files per language."""

from deid_rules.detector import RulesDetector

__all__ = ["RulesDetector"]
