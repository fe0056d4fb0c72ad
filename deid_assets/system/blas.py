"""Products of matrices on one thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply the matrices of this process on one thread while the context lasts.

    The threads of BLAS wait for each other in busy loops. For matrices of a note's size that takes
    more time than the products: training a CRF took ten times the processor time where two
    processes shared two cores. Notes are shared out among processes instead.
    """
    with _controller(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Return what controls the libraries that are loaded.

    To look for them takes as long as a short note, so it is done again only where more modules were
    imported, which may have brought another library.
    """
    del modules
    return ThreadpoolController()
