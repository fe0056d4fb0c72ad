"""What a table that a plugin makes of its own detectors consists of.

``docs/zero-shot.md`` has one.
"""

from deid_assets.evaluation.tables import DetectorTable, Picture, Score

__all__ = ["DetectorTable", "Picture", "Score"]
