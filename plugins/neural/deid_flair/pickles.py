"""Flair's files read without running code.

They are pickles of a protocol that PyTorch's own safe reader refuses.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import IO, Any

import torch

ALLOWED = frozenset(
    {
        ("builtins", "int"),
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        ("flair.data", "Dictionary"),
        ("torch._utils", "_rebuild_tensor_v2"),
    }
)
"""All that a language model's weights and dictionary are made of.

None of it does more than hold them.
"""


class Unpickler(pickle.Unpickler):
    """An unpickler that builds what is allowed and refuses the rest."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function that the file names.

        Raises:
            UnpicklingError: It is not an allowed one.
        """
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the file calls {module}.{name}")
        return super().find_class(module, name)


class TensorPickle:
    """Stand-in for the module pickle in ``torch.load``."""

    Unpickler = Unpickler

    @staticmethod
    def load(file: IO[bytes], **options: Any) -> Any:
        """Return what a file of PyTorch's older format holds."""
        return Unpickler(file, **options).load()


def load(file: Path, *, trust: bool) -> Any:
    """Return what a file holds, with its tensors in memory.

    Args:
        file: Written by ``torch.save``.
        trust: Let it run whatever code it names.

    Raises:
        UnpicklingError: It names more than weights and a dictionary, and is not trusted.
    """
    module = pickle if trust else TensorPickle
    return torch.load(file, map_location="cpu", weights_only=False, pickle_module=module)
