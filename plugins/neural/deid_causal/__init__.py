"""Causal language models: read, made from nothing and trained on raw notes.

Importing this loads no PyTorch.
"""

from deid_causal.trainer import CausalTrainer

__all__ = ["CausalTrainer"]
