"""NumPy's inner loops are found in whichever NumPy is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dataflow.kernels.jit.ufunc_loops import inner_loop, typed_loop

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="NumPy's structures are known for CPython alone"
)


@pytest.mark.parametrize("char", ["f", "d"])
@pytest.mark.parametrize(
    "name",
    [
        *("add", "subtract", "multiply", "true_divide", "maximum", "minimum", "power"),
        *("exp", "log", "tanh", "sqrt", "negative", "absolute"),
    ],
)
def test_a_loop_gives_the_bits_of_its_ufunc(name: str, char: str) -> None:
    assert inner_loop(name, char) is not None


def test_types_that_a_ufunc_has_no_loop_for() -> None:
    number = np.dtype(np.float32).num
    assert typed_loop(np.add, (number, number, np.dtype(np.int8).num)) is None
