"""Products of matrices on one thread."""

from deid_assets.system.blas import one_blas_thread

__all__ = ["one_blas_thread"]
