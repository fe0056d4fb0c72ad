"""How many threads multiply matrices."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from deid_assets.system.blas import one_blas_thread


def threads() -> set[int]:
    assert np.ones((2, 2)).shape  # NumPy's BLAS is loaded
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_matrices_are_multiplied_on_one_thread_while_it_lasts():
    before = threads()
    with one_blas_thread():
        assert threads() == {1}
    assert threads() == before


def test_an_error_leaves_the_threads_as_they_were():
    before = threads()
    with pytest.raises(ValueError), one_blas_thread():
        int("")
    assert threads() == before
