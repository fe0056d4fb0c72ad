"""A tagger on a pretrained multilingual encoder, united with what another detector finds."""

from deid_encoder.detector import EncoderDetector
from deid_encoder.trainer import EncoderTrainer

__all__ = ["EncoderDetector", "EncoderTrainer"]
