"""Detectors measured.

``deid evaluate`` and ``deid bench``, their pages, and the same in the graph.
"""
