"""Flair without its voice and its network: it logs text, and it fetches what it does not find."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import warnings
from collections.abc import Iterator

_VOICES = ("flair", "gensim", "transformers")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep back what Flair and what it stands on log and warn of: it may quote notes."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    voices = [logging.getLogger(name) for name in _VOICES]
    were = [voice.level for voice in voices]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import flair  # noqa: F401, PLC0415 - its first import sets its loggers up, so that it comes before ours

            for voice in voices:
                voice.setLevel(logging.CRITICAL + 1)
            yield
    finally:
        for voice, level in zip(voices, were, strict=True):
            voice.setLevel(level)


def use_threads(number: int) -> None:
    """Set the number of threads of PyTorch; 0 for the cores given to this process."""
    import torch  # noqa: PLC0415 - heavy

    torch.set_num_threads(number or cores())


def use_device(place: str) -> None:
    """Set the one device that Flair has for everything, as PyTorch names it."""
    import flair  # noqa: PLC0415 - heavy
    import torch  # noqa: PLC0415 - heavy

    flair.device = torch.device(place)


def cores() -> int:
    """Return the cores that this process may use, or ``OMP_NUM_THREADS`` where it is set."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def seed_all(*parts: int) -> None:
    """Seed PyTorch and Python by numbers that name a place in the run.

    So a resumed run draws the same.
    """
    import torch  # noqa: PLC0415 - heavy

    value = random.Random("/".join(map(str, parts))).getrandbits(63)  # noqa: S311 - no secret
    random.seed(value)
    torch.manual_seed(value)
