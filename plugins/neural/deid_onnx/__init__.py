"""Runs exported taggers with ONNX Runtime, without PyTorch."""

from deid_onnx.detector import OnnxDetector

__all__ = ["OnnxDetector"]
