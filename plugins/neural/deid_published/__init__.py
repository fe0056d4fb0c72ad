"""Runs token classifiers that others published, as their authors ran them, with ONNX Runtime."""

from deid_published.detector import PublishedDetector

__all__ = ["PublishedDetector"]
