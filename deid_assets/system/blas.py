"""Products of matrices on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply the matrices of this process on one thread while the context lasts.

    The threads of BLAS wait for each other in busy loops. For matrices of a note's size that takes
    more time than the products: training a CRF took ten times the processor time where two
    processes shared two cores. Notes are shared out among processes instead.
    """
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        yield
